// Of a dataset that becomes blocks: does what came after it was made say that it holds coordinates?
// And what the values themselves have shown, for the report.
#include <fmt/format.h>

#include "vol/block_io.hpp"
#include "vol/bound_attributes.hpp"
#include "vol/coordinates.hpp"
#include "vol/errors.hpp"
#include "vol/report.hpp"

namespace caesura::vol {

std::string BlockIo::coordinates_because(Dataset& dataset) {
    if (!can_set_attributes() || !place_.tree.open(dataset).ok()) return {};
    const store::QuietErrors quiet;
    const KeepErrors keep;
    return coordinate_by_attributes({dataset.native.under(), H5I_DATASET}, dataset.path,
                                    *place_.named);
}

// Attributes are asked when blocks are handed over, as most of them are set after H5Dcreate. What
// one rank finds holds for all: the Writer tells them.
void BlockIo::look_for_coordinates() {
    const std::uint64_t dump = writer_->next_dump();
    for (const DatasetPtr& dataset : by_field_) {
        if (dataset == nullptr || !dataset->for_fields || dataset->pieces.empty() ||
            dataset->pieces.back().dump != dump)
            continue;
        if (dataset->exact_because.empty()) dataset->exact_because = coordinates_because(*dataset);
        if (!dataset->exact_because.empty()) writer_->keep_exact(dataset->field);
    }
}

void BlockIo::report_exact(Dataset& dataset) {
    const writer::KeptExact kept = writer_->kept_exact(dataset.field);
    if (kept == writer::KeptExact::no) return;
    dataset.is_said_exact = true;
    std::string why = "its values rise, or fall, from each to the next";
    if (kept == writer::KeptExact::told)
        why = dataset.exact_because.empty() ? coordinates_because(dataset) : dataset.exact_because;
    report_kept_exact(place_.config, place_.ledger.file().path(), dataset.path,
                      "it looks like coordinates: " + why);
}

void BlockIo::report_fields() {
    for (const DatasetPtr& dataset : by_field_) {
        if (dataset == nullptr) continue;
        if (dataset->for_fields && !dataset->is_said_exact) report_exact(*dataset);
        const std::string& stretched = writer_->stretched(dataset->field);
        if (stretched.empty() || dataset->is_said_stretched) continue;
        dataset->is_said_stretched = true;
        report_stretched(place_.config, place_.ledger.file().path(), dataset->path, stretched);
    }
}

}  // namespace caesura::vol
