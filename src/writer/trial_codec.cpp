#include "writer/trial_codec.hpp"

#include "writer/composition.hpp"

namespace caesura::writer {

Result<std::string> try_codec(Session& session, const std::string& who, const CodecSpec& codec,
                              DType dtype, int axes, const ErrorBound& bound) {
    // Enough values for each codec: SZ3 leaves fewer than 20 to Zstd.
    const Shape some = Shape::filled(axes, axes == 1 ? 64 : 8);
    const auto trial =
        make_block_codec(codec, dtype, some, needs_range(bound) ? absolute(1) : bound);
    if (!trial.ok()) return trial.status().with_context(who);
    if (const std::string_view what = (*trial)->lacks(); !what.empty())
        session.warn(Warning::plugin, who + ": " + std::string(what));
    return filters_of(**trial);
}

}  // namespace caesura::writer
