// Tables behind pictures open for printing; and zoom and pan of the timeline. Every box has its times in data-b and data-e; only x and width are
// set here, so that without scripts the picture of one iteration remains.
"use strict";
(() => {
  const closed = () => [...document.querySelectorAll("details:not([open])")];
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = closed();
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });
})();
(() => {
  const detail = document.getElementById("detail");
  const overview = document.getElementById("overview");
  if (!detail || !overview) return;
  const left = +detail.dataset.left, right = +detail.dataset.right, runEnd = +overview.dataset.end;
  const svg = (name, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const key in attributes) node.setAttribute(key, attributes[key]);
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const boxes = [...detail.querySelectorAll("g.event")].map((group) => ({
    group, b: +group.dataset.b, e: +group.dataset.e,
    rect: group.querySelector("rect"), label: group.querySelector("text"),
  }));
  const iterations = [...overview.querySelectorAll("g.iteration")];
  const spans = boxes.filter((box) => box.group.classList.contains("iteration"))
    .sort((a, b) => a.b - b.b);
  // Nothing is drawn before and after: the page of a long run enlarges a part of it.
  const first = +detail.dataset.from, last = +detail.dataset.to;
  const home = [+detail.dataset.begin, +detail.dataset.end];
  let [begin, end] = home;

  function step(span, wanted) {
    const rough = span / wanted, power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((factor) => power * factor >= rough * 0.999);
  }
  function caption(time, size) {
    const [factor, unit] = size < 0.1 ? [1e3, "ms"] : [1, "s"];
    const decimals = Math.max(0, -Math.floor(Math.log10(size * factor) + 1e-9));
    return `${(time * factor).toFixed(decimals)} ${unit}`;
  }
  function drawAxis(x) {
    const axis = detail.querySelector("g.axis"), size = step(end - begin, 10);
    const top = +detail.dataset.top, bottom = +detail.dataset.bottom;
    axis.replaceChildren();
    for (let i = Math.ceil(begin / size - 1e-9); i * size <= end; i++) {
      const at = x(i * size);
      axis.append(svg("line", { class: "grid", x1: at, x2: at, y1: top, y2: bottom }));
      axis.append(svg("text", { class: "tick", x: at, y: top - 8, "text-anchor": "middle" },
        caption(i * size, size)));
    }
  }
  function drawBox(box, x) {
    const hidden = box.e < begin || box.b > end;
    box.group.style.display = hidden ? "none" : "";
    if (hidden) return;
    const from = x(box.b), width = Math.max(x(box.e) - from, 0.8);
    box.rect.setAttribute("x", from);
    box.rect.setAttribute("width", width);
    if (!box.label) return;
    const shown = Math.max(from, left), room = Math.min(from + width, right) - shown - 8;
    const fits = (text) => text.length * 6.9 <= room;
    box.label.setAttribute("x", shown + 4);
    box.label.textContent =
      [box.label.dataset.long, box.label.dataset.short].find(fits) || "";
  }
  function draw() {
    const x = (time) => left + ((time - begin) / (end - begin)) * (right - left);
    boxes.forEach((box) => drawBox(box, x));
    drawAxis(x);
    const over = (time) => left + (Math.min(Math.max(time, 0), runEnd) / runEnd) * (right - left);
    const brush = document.getElementById("brush");
    brush.setAttribute("x", over(begin));
    brush.setAttribute("width", Math.max(over(end) - over(begin), 3));
    // As many decimals as tell the ends apart: iterations last from microseconds to hours.
    const decimals = Math.min(9, Math.max(3, Math.ceil(2.5 - Math.log10(end - begin))));
    const length = (end - begin) * 1e3;
    document.getElementById("window").textContent = `${begin.toFixed(decimals)} s to ` +
      `${end.toFixed(decimals)} s (${length < 1 ? length.toPrecision(3) : length.toFixed(1)} ms)`;
  }
  let pending = false;
  function show(from, to) {
    const span = Math.min(Math.max(to - from, 1e-6), (last - first) * 1.05);
    const slack = span * 0.05;
    begin = Math.min(Math.max(from, first - slack), last + slack - span);
    end = begin + span;
    if (!pending) {
      pending = true;
      requestAnimationFrame(() => { pending = false; draw(); });
    }
  }
  function zoom(factor, around = (begin + end) / 2) {
    show(around - (around - begin) * factor, around + (end - around) * factor);
  }
  function iteration(direction) {
    const middle = (begin + end) / 2;
    const rank = spans.filter((box) => box.rect.getAttribute("y") === spans[0].rect.getAttribute("y"));
    let at = rank.findIndex((box) => middle < box.e);
    if (at < 0) at = rank.length - 1;
    const to = rank[Math.min(Math.max(at + direction, 0), rank.length - 1)];
    if (to) show(to.b - 0.03 * (to.e - to.b), to.e + 0.03 * (to.e - to.b));
  }
  // Client pixels to seconds: the drawing is scaled to the page's width.
  function timeAt(element, clientX, from, to) {
    const frame = element.getBoundingClientRect();
    const unit = ((clientX - frame.left) / frame.width) * element.viewBox.baseVal.width;
    return from + ((unit - left) / (right - left)) * (to - from);
  }

  detail.addEventListener("wheel", (event) => {
    event.preventDefault();
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (sideways) {
      const by = ((event.deltaX || event.deltaY) / 1000) * (end - begin);
      show(begin + by, end + by);
    } else {
      zoom(Math.exp(event.deltaY * 0.0015), timeAt(detail, event.clientX, begin, end));
    }
  }, { passive: false });
  let grip = null;
  detail.addEventListener("pointerdown", (event) => {
    grip = { at: timeAt(detail, event.clientX, begin, end), begin, end };
    detail.setPointerCapture(event.pointerId);
    detail.classList.add("dragging");
  });
  detail.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const by = grip.at - timeAt(detail, event.clientX, grip.begin, grip.end);
    show(grip.begin + by, grip.end + by);
  });
  for (const name of ["pointerup", "pointercancel"])
    detail.addEventListener(name, () => { grip = null; detail.classList.remove("dragging"); });
  let brushing = false;
  const center = (event) => {
    const at = timeAt(overview, event.clientX, 0, runEnd), half = (end - begin) / 2;
    show(at - half, at + half);
  };
  overview.addEventListener("pointerdown", (event) => {
    brushing = true;
    overview.setPointerCapture(event.pointerId);
    center(event);
  });
  overview.addEventListener("pointermove", (event) => { if (brushing) center(event); });
  overview.addEventListener("pointerup", () => { brushing = false; });
  detail.addEventListener("pointerover", (event) => {
    const job = event.target.parentNode?.dataset?.job;
    for (const lit of detail.querySelectorAll(".lit")) lit.classList.remove("lit");
    detail.querySelector(".boxes").classList.toggle("focus", Boolean(job));
    if (!job) return;
    for (const box of boxes)
      if (box.group.dataset.job === job) box.group.classList.add("lit");
  });
  const actions = {
    in: () => zoom(0.6), out: () => zoom(1 / 0.6), all: () => show(first, last),
    home: () => show(...home), previous: () => iteration(-1), next: () => iteration(1),
  };
  for (const button of document.querySelectorAll("[data-action]"))
    button.addEventListener("click", actions[button.dataset.action]);
  const move = (share) => show(begin + share * (end - begin), end + share * (end - begin));
  const keys = {
    ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15), ArrowUp: actions.in,
    ArrowDown: actions.out, "+": actions.in, "=": actions.in, "-": actions.out,
    PageUp: actions.previous, PageDown: actions.next, Home: actions.home, End: actions.all,
  };
  document.getElementById("stage")?.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();  // the page would scroll
    keys[event.key]();
  });
  draw();
})();
