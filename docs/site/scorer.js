// What the site's search puts first: guides, then reference. Sources, records and changes come last.
var Scorer = {
  score: ([page, , , , score]) => {
    const places = [
      [/^docs\/guide\//, 12],
      [/^docs\/reference\//, 8],
      [/^(README|examples\/notebooks\/|docs\/how\/)/, 4],
      [/^(docs\/(records|contributing)\/|docs\/README|CHANGELOG|CONTRIBUTING)/, -8],
      [/\.[a-z0-9]+$/, -8], // a source that pages link to
    ];
    const found = places.find(([place]) => place.test(page));
    return score + (found ? found[1] : 0);
  },
  // The rest is as Sphinx has it, but for parts of names in the reference of calls: they are many.
  objNameMatch: 11,
  objPartialMatch: 1,
  objPrio: { 0: 10, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
