// A session's objects: most is its desk's; a dump's are described before its blocks come.
#include <fmt/format.h>

#include "base/invalid.hpp"
#include "transit/service/session.hpp"

namespace caesura::transit {

ErrandHost Session::errand_host() {
    return {id_,
            workshop_.press,
            lane_,
            [this] { return std::min(permit_.weight, hello_.weight); },
            [this] { return is_alive(); },
            [this] { return std::static_pointer_cast<void>(shared_from_this()); }};
}

Status Session::describe(const DescribeDump& message) {
    ServedDump* const dump = dump_of(message.dump);
    if (dump == nullptr)
        return base::invalid(fmt::format("dump {} is not under way", message.dump));
    const BeginDump& order = dump->order();
    if (message.objects.size() != order.codecs.size() || dump->has_blocks())
        return base::invalid(fmt::format("dump {}: {} datasets described, with {} codecs{}",
                                         message.dump, message.objects.size(), order.codecs.size(),
                                         dump->has_blocks() ? ", after its blocks" : ""));
    std::vector<DumpedDataset> datasets;
    for (std::uint32_t i = 0; i < message.objects.size(); ++i) {
        const DumpedObject& object = message.objects[i];
        const DatasetCodec& codec = order.codecs[i];
        if (object.dtype != codec.dtype || object.shape.rank() != codec.chunk.rank())
            return base::invalid(fmt::format("{}: {} of {}, and its codec's chunks {} of {}",
                                             object.path, to_string(object.shape),
                                             to_string(object.dtype), to_string(codec.chunk),
                                             to_string(codec.dtype)));
        DumpedDataset dataset;
        dataset.spec.path = object.path;
        dataset.spec.dtype = object.dtype;
        dataset.spec.shape = object.shape;
        dataset.spec.chunk = codec.chunk;
        const auto pipeline = dump->codec(i)->pipeline();
        dataset.spec.pipeline.assign(pipeline.begin(), pipeline.end());
        dataset.bound = codec.bound;
        datasets.push_back(std::move(dataset));
    }
    const OpenedFile& file = files_.at(order.file);
    const ObjectTools& tools = desk_.tools();
    const auto ids =
        tools.store.describe(desk_.asker(), file.path, file.shared->run(), message.time, datasets);
    if (!ids.ok()) return ids.status();
    std::vector<DumpNotes::Dataset> noted;
    for (std::size_t i = 0; i < datasets.size(); ++i)
        noted.push_back({(*ids)[i], datasets[i].spec.path, datasets[i].spec.dtype,
                         datasets[i].spec.shape, datasets[i].bound});
    auto notes = DumpNotes::make(tools.store, tools.functions, std::move(noted), message.time,
                                 message.calls, tools.on_dump);
    if (!notes.ok()) return notes.status();
    dump->take_notes(std::move(*notes));
    return {};
}

void Session::take(const DescribeDump& message, base::Buffer&) {
    answer(message.request, describe(message));
}

void Session::found(ServedDump&, const FoundInDump& found) { workshop_.replies.send(id_, found); }

void Session::take(const CreateObject& message, base::Buffer&) { desk_.take(message); }
void Session::take(const PutRegion& message, base::Buffer& payload) {
    if (message.payload_bytes > workshop_.limits.block_bytes)
        return refuse(
            {StatusCode::corrupt, fmt::format("a region of {} bytes", message.payload_bytes)});
    const std::uint64_t under_way = outstanding_bytes_ + desk_.putting_bytes();
    if (under_way > 0 && under_way + message.payload_bytes > permit_.credits_bytes)
        return refuse({StatusCode::corrupt,
                       fmt::format("a region of {} bytes beside {}, with credits of {}",
                                   message.payload_bytes, under_way, permit_.credits_bytes)});
    desk_.take(message, std::move(payload));
}
void Session::take(const GetRegion& message, base::Buffer&) { desk_.take(message); }
void Session::take(const DeleteObject& message, base::Buffer&) { desk_.take(message); }
void Session::take(const FindObjects& message, base::Buffer&) { desk_.take(message); }
void Session::take(const RunFunction& message, base::Buffer&) { desk_.take(message); }
void Session::take(const RunPass& message, base::Buffer&) { desk_.take(message); }
void Session::take(const ListFunctions& message, base::Buffer&) { desk_.take(message); }
void Session::take(const PersistObjects& message, base::Buffer&) { desk_.take(message); }

}  // namespace caesura::transit
