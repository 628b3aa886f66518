#include "caesura/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <set>

#include "base/file.hpp"
#include "base/invalid.hpp"
#include "base/wire.hpp"
#include "read/chunk_layout.hpp"
#include "read/reader_impl.hpp"
#include "read/strided.hpp"
#include "store/hdf5_values.hpp"

namespace caesura {
namespace {

using base::invalid;

bool lies_inside(const Box& box, const Shape& shape) {
    bool inside = box.offset.rank() == shape.rank() && box.extent.rank() == shape.rank();
    for (int axis = 0; inside && axis < shape.rank(); ++axis)
        inside =
            box.offset[axis] <= shape[axis] && box.extent[axis] <= shape[axis] - box.offset[axis];
    return inside;
}

Status check_options(const ReaderOptions& options) {
    if (options.threads < 0)
        return invalid(fmt::format("ReaderOptions::threads is {}", options.threads));
    if (options.round_bytes == 0) return invalid("ReaderOptions::round_bytes is 0");
    return {};
}

/// A field and what it is: a dataset that grows is another one afterwards.
std::string seen_as(const FieldInfo& field) {
    return fmt::format("{} {} {} {}", field.path, to_string(field.shape), to_string(field.chunk),
                       field.raw_bytes);
}

std::vector<std::string> seen_in(const read::Listing& listing) {
    std::vector<std::string> seen;
    for (const FieldInfo& field : listing.fields) seen.push_back(seen_as(field));
    return seen;
}

std::vector<std::byte> packed(const std::vector<std::string>& texts) {
    base::Packer packer;
    for (const std::string& text : texts) packer.put(text);
    return packer.bytes();
}

}  // namespace

Status agree_on(Communicator& comm, const Status& mine) {
    base::Packer packer;
    packer.put(mine.code());
    packer.put(mine.message());
    const auto all = comm.allgatherv(packer.bytes());
    if (!all.ok()) return all.status();
    for (std::size_t rank = 0; rank < all->size(); ++rank) {
        base::Unpacker unpacker((*all)[rank]);
        const auto code = unpacker.get<StatusCode>();
        const std::string message = unpacker.get_string();
        if (code != StatusCode::ok) return {code, fmt::format("rank {}: {}", rank, message)};
    }
    return {};
}

Result<Reader::Impl::State> Reader::Impl::open_state() const try {
    State opened;
    const std::lock_guard lock(store::hdf5_readers());
    auto source = read::Source::open(path);
    if (!source.ok()) return source.status();
    opened.source = std::move(*source);
    opened.listing = read::list_fields(*opened.source);
    return opened;
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, path + ": no memory to list it");
}

Status Reader::Impl::agree(Result<State>& opened) {
    if (Status s = agree_on(*comm, opened.ok() ? Status() : opened.status()); !s.ok()) return s;
    const auto mine = packed(seen_in(opened->listing));
    const auto all = comm->allgatherv(mine);
    if (!all.ok()) return all.status();
    for (const auto& theirs : *all) {
        if (theirs == mine) continue;
        std::set<std::string> seen;
        for (base::Unpacker unpacker(theirs); unpacker.more();) seen.insert(unpacker.get_string());
        opened->listing.filter([&](const FieldInfo& one) { return seen.contains(seen_as(one)); });
    }
    return {};
}

Reader::Reader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Reader::~Reader() = default;

Result<std::unique_ptr<Reader>> Reader::open(const std::string& path,
                                             const ReaderOptions& options) try {
    if (Status s = check_options(options); !s.ok()) return s;
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    impl->options = options;
    auto opened = impl->open_state();
    if (!opened.ok()) return opened.status();
    impl->state = std::move(*opened);
    return std::unique_ptr<Reader>(new Reader(std::move(impl)));
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, path + ": no memory to open it");
}

Result<std::unique_ptr<Reader>> Reader::open(const std::string& path,
                                             std::unique_ptr<Communicator> communicator,
                                             const ReaderOptions& options) try {
    if (communicator == nullptr) return invalid("Reader::open: the communicator is null");
    auto impl = std::make_unique<Impl>();
    impl->path = path;
    impl->options = options;
    impl->comm = std::move(communicator);
    Status usable = check_options(options);
    auto opened = usable.ok() ? impl->open_state() : Result<Impl::State>(usable);
    if (Status s = impl->agree(opened); !s.ok()) return s;
    // The rounds of read_all() are the same everywhere.
    base::Packer packer;
    packer.put(options.round_bytes);
    const auto all = impl->comm->allgatherv(packer.bytes());
    if (!all.ok()) return all.status();
    for (const auto& theirs : *all)
        impl->options.round_bytes =
            std::min(impl->options.round_bytes, base::Unpacker(theirs).get<std::uint64_t>());
    impl->state = std::move(*opened);
    return std::unique_ptr<Reader>(new Reader(std::move(impl)));
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, path + ": no memory to open it");
}

Result<bool> Reader::refresh() try {
    auto opened = impl_->open_state();
    if (impl_->comm != nullptr)
        if (Status s = impl_->agree(opened); !s.ok()) return s;
    if (!opened.ok()) return opened.status();
    const bool changed = seen_in(opened->listing) != seen_in(impl_->state.listing);
    impl_->state = std::move(*opened);
    return changed;
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, impl_->path + ": no memory to list it again");
}

const std::string& Reader::path() const { return impl_->path; }
const std::vector<store::Attribute>& Reader::attributes() const {
    return impl_->state.source->info().root;
}
const std::vector<DumpInfo>& Reader::dumps() const { return impl_->state.listing.dumps; }
const std::vector<FieldInfo>& Reader::fields() const { return impl_->state.listing.fields; }
const std::vector<std::string>& Reader::unreadable() const {
    return impl_->state.listing.unreadable;
}

Result<std::size_t> Reader::find(const std::string& name, std::uint64_t iteration) const {
    return impl_->state.listing.find(impl_->path, name, iteration);
}

Result<std::size_t> Reader::find(const std::string& path) const {
    return impl_->state.listing.find(impl_->path, path);
}

Result<Shape> Reader::Impl::check(std::size_t field, const Box& box, std::uint64_t memory_bytes,
                                  const std::optional<Shape>& stride_bytes) const {
    const auto& fields = state.listing.fields;
    if (field >= fields.size())
        return invalid(fmt::format("{}: there is no field {} of {}", path, field, fields.size()));
    const FieldInfo& the = fields[field];
    if (!lies_inside(box, the.shape))
        return invalid(fmt::format("dataset {}: the box at {} is not inside {}", the.path,
                                   to_string(box), to_string(the.shape)));
    const std::size_t value_bytes = the.type.value_bytes();
    const auto bytes = read::array_bytes(box.extent, value_bytes);
    if (!stride_bytes && bytes != memory_bytes)
        return invalid(fmt::format("dataset {}: {} values of {} bytes do not fill {} bytes",
                                   the.path, to_string(box.extent), value_bytes, memory_bytes));
    if (!stride_bytes) return read::dense_strides(box.extent, value_bytes);
    const Status usable = read::check_strides(box.extent, *stride_bytes, value_bytes, memory_bytes);
    if (!usable.ok()) return usable.with_context("dataset " + the.path);
    return *stride_bytes;
}

Status Reader::Impl::read(std::size_t field, const Box& box, const read::StridedArray& target,
                          std::span<std::byte> values, const std::vector<std::uint64_t>* only) const
    try {
    const FieldInfo& the = state.listing.fields[field];
    const read::Way& way = state.listing.ways[field];
    if (way.kind == read::Way::Kind::chunks)
        return state.source->read_strided(way.dataset, box, target, read_options(), only);
    if (box.extent.count() == 0) return {};
    if (way.kind == read::Way::Kind::constant) {
        read::fill_strided(box.extent, target, way.value);
        return {};
    }
    base::File& file = state.source->file();
    const std::size_t value_bytes = the.type.value_bytes();
    if (target.stride_bytes == read::dense_strides(box.extent, value_bytes))
        return store::read_values(file, path, the.path, box,
                                  values.first(box.extent.count() * value_bytes));
    std::vector<std::byte> dense(box.extent.count() * value_bytes);
    if (Status s = store::read_values(file, path, the.path, box, dense); !s.ok()) return s;
    read::copy_strided(box, box, dense.data(), box, target, value_bytes);
    return {};
} catch (const std::bad_alloc&) {
    return {StatusCode::no_space,
            fmt::format("dataset {}: no memory to read a box", state.listing.fields[field].path)};
}

Status Reader::read(std::size_t field, const Box& box, std::span<std::byte> values,
                    const std::optional<Shape>& stride_bytes) const {
    const auto strides = impl_->check(field, box, values.size(), stride_bytes);
    if (!strides.ok()) return strides.status();
    return impl_->read(field, box, {values.data(), *strides}, values, nullptr);
}

}  // namespace caesura
