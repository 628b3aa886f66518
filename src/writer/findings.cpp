// What analyses have found in a dump's blocks on their way: from the ranks to the datasets'
// attributes.
#include "writer/flights.hpp"

namespace caesura::writer {
namespace {

/// Of an attribute: an object's header in HDF5 holds less than 64 KiB.
constexpr std::size_t k_most_text_bytes = 32768;

}  // namespace

void Flights::send_findings(const Range& dumps, base::Packer& packer) {
    base::Packer mine;
    const auto begin = findings_.lower_bound(dumps.begin), end = findings_.lower_bound(dumps.end);
    for (auto of_dump = begin; of_dump != end; ++of_dump)
        for (const Finding& finding : of_dump->second) {
            mine.put(of_dump->first);
            mine.put(finding.dataset);
            mine.put(finding.values);
            mine.put_bytes(finding.state);
        }
    findings_.erase(begin, end);
    packer.put_bytes(mine.bytes());
}

void Flights::take_findings(base::Unpacker& unpacker) {
    base::Unpacker theirs(unpacker.get_bytes());
    while (theirs.more()) {
        const auto dump = theirs.get<std::uint64_t>();
        Finding finding;
        finding.dataset = theirs.get<std::uint32_t>();
        finding.values = theirs.get<std::uint64_t>();
        const auto state = theirs.get_bytes();
        finding.state.assign(state.begin(), state.end());
        if (theirs.good()) findings_of_all_[dump].push_back(std::move(finding));
    }
}

void Flights::keep_findings(ledger::Ledger& ledger) {
    const Transport* const transport = session_.experience->transport.get();
    for (auto& [dump, findings] : std::exchange(findings_of_all_, {})) {
        store::DumpManifest* const manifest = ledger.gathered_manifest(dump);
        if (manifest == nullptr || transport == nullptr) continue;
        for (std::uint32_t i = 0; i < manifest->datasets.size(); ++i) {
            std::vector<Finding> of_dataset;
            for (Finding& finding : findings)
                if (finding.dataset == i) of_dataset.push_back(std::move(finding));
            if (of_dataset.empty()) continue;
            store::DatasetSpec& dataset = manifest->datasets[i];
            std::string text = transport->conclude(of_dataset, dataset.shape.count());
            if (!text.empty() && text.size() <= k_most_text_bytes)
                dataset.attributes.push_back({"caesura_analyses", std::move(text)});
            else if (!text.empty())
                session_.say("results of analyses of " + dataset.path +
                             " are too long for an attribute; the service has them");
        }
    }
}

}  // namespace caesura::writer
