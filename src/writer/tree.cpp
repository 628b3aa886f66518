#include "writer/tree.hpp"

#include "store/manifest.hpp"

namespace caesura::writer {
namespace {

const char* kind_name(ErrorBound::Kind kind) {
    switch (kind) {
        case ErrorBound::Kind::absolute:
            return "absolute";
        case ErrorBound::Kind::relative:
            return "relative";
        case ErrorBound::Kind::pointwise_relative:
            return "pointwise_relative";
        case ErrorBound::Kind::psnr:
            return "psnr";
        case ErrorBound::Kind::lossless:
            break;
    }
    return "lossless";
}

}  // namespace

void Tree::describe(store::DumpManifest& manifest, std::span<const DumpedField> fields,
                    const DumpTime&) const {
    manifest.tree = store::TreeOwner::application;  // which says all else
    for (const DumpedField& dumped : fields) {
        const FieldState& field = dumped.field;
        manifest.datasets.push_back({field.name,
                                     field.dtype,
                                     field.shape,
                                     field.dataset->chunk,
                                     field.dataset->pipeline,
                                     {}});
    }
}

void OpenPmdTree::describe(store::DumpManifest& manifest, std::span<const DumpedField> fields,
                           const DumpTime& time) const {
    manifest.root = root_attributes(options_);
    manifest.groups = {iteration_group(manifest.iteration, time)};
    for (const DumpedField& dumped : fields) {
        const FieldState& field = dumped.field;
        std::vector<store::Attribute> extra = {
            {"caesura_codec", field.codec.name},
            {"caesura_bound", dumped.bound.value},
            {"caesura_bound_kind", std::string(kind_name(field.bound.kind))},
            {"caesura_bound_requested", field.bound.value},
        };
        add_field(manifest, field.name, field.dtype, field.shape, field.layout->chunk,
                  dumped.pipeline, field.options, std::move(extra));
    }
}

}  // namespace caesura::writer
