#include "lambda/file_codec.hpp"

#include <fmt/format.h>

#include "lambda/builtin.hpp"

namespace caesura::lambda {

Result<FileCodec> file_codec(const Registry& functions, std::string_view chain) {
    const auto calls = parse_chain(chain);
    if (!calls.ok()) return calls.status();
    for (const Call& call : *calls)
        if (const auto bound = functions.bind(call); !bound.ok()) return bound.status();
    const auto first = functions.bind(calls->front());
    const auto unfit = [&](std::string_view why) {
        return Status(StatusCode::unsupported,
                      fmt::format("'{}' fits no file, {}; a field has caesura(...) or zstd(...)",
                                  chain, why));
    };
    for (const Call& call : *calls)
        if (functions.find(call.function)->is_keyed)
            return unfit("which no HDF5 program could read without the key");
    if (calls->size() > 1) return unfit("whose chunks have one stage");
    const std::string& name = first->function->name;
    if (name == "zstd")
        return FileCodec{{"zstd", {static_cast<unsigned>(first->arguments.whole("level"))}}, {}};
    if (name != "caesura") return unfit("which has no filter for it");
    if (first->variant->name != "plain")
        return unfit("whose frames have the codec's own coder alone");
    const auto bound = bound_of(first->arguments);
    if (!bound.ok()) return bound.status().with_context(first->text);
    const std::string& mode = first->arguments.text("mode");
    return FileCodec{{mode == "auto" ? "caesura" : "caesura:" + mode}, *bound};
}

}  // namespace caesura::lambda
