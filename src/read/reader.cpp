#include "caesura/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <new>
#include <set>

#include "base/file.hpp"
#include "base/invalid.hpp"
#include "base/wire.hpp"
#include "read/chunk_layout.hpp"
#include "read/reader_impl.hpp"
#include "read/strided.hpp"
#include "store/checksum.hpp"
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

/// Is it one of ours, or empty, that no commit has made an HDF5 file yet?
bool waits_for_first_commit(const std::string& path) {
    const auto file = base::FileSystem::posix().open(path, base::FileSystem::Mode::read);
    if (!file.ok()) return false;
    std::array<std::byte, 8> front{};
    const Status status = (*file)->read_at(0, front);
    if (!status.ok()) return status.code() == StatusCode::insufficient_data;
    return std::all_of(front.begin(), front.end(), [](std::byte b) { return b == std::byte{0}; });
}

/// Is it what it was? A dataset that grows is another one afterwards.
bool is_same(const FieldInfo& a, const FieldInfo& b) {
    return a.path == b.path && a.shape == b.shape && a.chunk == b.chunk &&
           a.raw_bytes == b.raw_bytes;
}

std::string seen_as(const FieldInfo& field) {
    return fmt::format("{} {} {} {}", field.path, to_string(field.shape), to_string(field.chunk),
                       field.raw_bytes);
}

std::vector<std::byte> seen_in(const read::Listing& listing) {
    base::Packer packer;
    for (const FieldInfo& field : listing.fields) packer.put(seen_as(field));
    return packer.bytes();
}

/// What a rank says of itself when it opens a file.
struct Opened {
    std::uint64_t list_bytes = 0, list_checksum = 0;  ///< of seen_in()
    std::uint64_t round_bytes = 0;

    bool lists_as(const Opened& other) const {
        return list_bytes == other.list_bytes && list_checksum == other.list_checksum;
    }
};

/// Fields that not all ranks see are left out. Collective.
Status keep_common(Communicator& comm, const std::string& path, const std::vector<Opened>& all,
                   std::vector<std::byte>& mine, read::Listing& listing) {
    if (std::all_of(all.begin(), all.end(), [&](auto& one) { return one.lists_as(all[0]); }))
        return {};
    const Opened& here = all[static_cast<std::size_t>(comm.rank())];
    Status status;
    for (auto root = all.begin(); root != all.end(); ++root) {
        const auto is_alike = [&](const Opened& one) { return one.lists_as(*root); };
        if (std::any_of(all.begin(), root, is_alike)) continue;  // that list has gone round
        const bool is_mine = root->lists_as(here);
        std::vector<std::byte> theirs;
        const auto within = [&](auto call) {
            return within_memory(path, "no memory to compare what ranks list", call);
        };
        if (status.ok() && !is_mine)
            status = within([&]() -> Status { return theirs.resize(root->list_bytes), Status(); });
        if (Status s = agree_on(comm, status); !s.ok()) return s;
        std::vector<std::byte>& list = is_mine ? mine : theirs;
        if (Status s = comm.broadcast(list, static_cast<int>(root - all.begin())); !s.ok())
            return s;
        if (is_mine) continue;
        status = within([&]() -> Status {
            std::set<std::string> seen;
            for (base::Unpacker unpacker(theirs); unpacker.more();)
                seen.insert(unpacker.get_string());
            listing.filter([&](const FieldInfo& one) { return seen.contains(seen_as(one)); });
            return {};
        });
    }
    return agree_on(comm, status);
}

/// The same on all ranks: what is listed, and the bytes of a round. Collective.
/// @param status  of this rank's opening.
Status agree(Communicator& comm, const std::string& path, Status status, read::Listing& listing,
             std::uint64_t& round_bytes) {
    std::vector<std::byte> list;
    std::vector<Opened> all;
    if (status.ok())
        status = within_memory(path, "no memory to list it", [&]() -> Status {
            list = seen_in(listing);
            all.resize(static_cast<std::size_t>(comm.size()));
            return {};
        });
    if (Status s = agree_on(comm, status); !s.ok()) return s;
    const Opened mine{list.size(), store::checksum(list), round_bytes};
    if (Status s = comm.allgather(std::as_bytes(std::span(&mine, 1)),
                                  std::as_writable_bytes(std::span(all)));
        !s.ok())
        return s;
    for (const Opened& theirs : all) round_bytes = std::min(round_bytes, theirs.round_bytes);
    return keep_common(comm, path, all, list, listing);
}

}  // namespace

Status agree_on(Communicator& comm, const Status& mine) {
    std::vector<StatusCode> codes(static_cast<std::size_t>(comm.size()));
    const StatusCode code = mine.code();
    if (Status s = comm.allgather(std::as_bytes(std::span(&code, 1)),
                                  std::as_writable_bytes(std::span(codes)));
        !s.ok())
        return s;
    const auto first = std::find_if(codes.begin(), codes.end(),
                                    [](StatusCode one) { return one != StatusCode::ok; });
    if (first == codes.end()) return {};
    const int rank = static_cast<int>(first - codes.begin());
    // A rank that has run out of memory has none for a message of any length.
    std::array<char, 4096> text;
    std::uint64_t length = std::min(mine.message().size(), text.size());
    if (rank == comm.rank()) std::memcpy(text.data(), mine.message().data(), length);
    if (Status s = comm.broadcast(std::as_writable_bytes(std::span(&length, 1)), rank); !s.ok())
        return s;
    length = std::min<std::uint64_t>(length, text.size());
    const auto said = std::span(text).first(length);
    if (Status s = comm.broadcast(std::as_writable_bytes(said), rank); !s.ok()) return s;
    return {*first, fmt::format("rank {}: {}", rank, std::string_view(said.data(), said.size()))};
}

Status Reader::Impl::open_state(State& opened) const {
    return within_memory(path, "no memory to list it", [&]() -> Status {
        const std::lock_guard lock(store::hdf5_readers());
        const auto name = base::SeriesName::parse(path);
        // A file may have such a name.
        std::error_code error;
        if (name.ok() && *name && !std::filesystem::exists(path, error))
            return open_series(**name, opened);
        auto source = read::Source::open(path);
        if (!source.ok()) return source.status();
        opened.files.push_back({path, std::move(*source)});
        opened.listing = read::list_fields(*opened.files[0].source);
        return {};
    });
}

// A file that has no commit yet is not there for readers.
Status Reader::Impl::open_series(const base::SeriesName& name, State& opened) const {
    const auto found = name.find();
    if (!found.ok()) return found.status();
    if (found->empty()) return {StatusCode::io, path + ": there is no such file"};
    std::vector<read::ListedFile> listed;
    for (const base::SeriesName::Found& one : *found) {
        auto source = read::Source::open(one.path);
        if (!source.ok()) {
            if (waits_for_first_commit(one.path)) continue;
            return source.status();
        }
        const auto& root = (*source)->info().root;
        const bool has_iterations =
            std::any_of(root.begin(), root.end(),
                        [](const store::Attribute& said) { return said.name == "openPMD"; });
        listed.push_back({one.path, one.number, has_iterations, read::list_fields(**source)});
        opened.files.push_back({one.path, std::move(*source)});
    }
    auto all = read::join(std::move(listed));
    if (!all.ok()) return all.status();
    opened.listing = std::move(*all);
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
    if (Status s = impl->open_state(impl->state); !s.ok()) return s;
    return std::unique_ptr<Reader>(new Reader(std::move(impl)));
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, path + ": no memory to open it");
}

Result<std::unique_ptr<Reader>> Reader::open(const std::string& path,
                                             std::unique_ptr<Communicator> communicator,
                                             const ReaderOptions& options) try {
    if (communicator == nullptr) return invalid("Reader::open: the communicator is null");
    std::unique_ptr<Reader> reader;
    Impl::State opened;
    std::uint64_t round_bytes = options.round_bytes;
    Status status = within_memory(path, "no memory to open it", [&]() -> Status {
        if (Status s = check_options(options); !s.ok()) return s;
        auto impl = std::make_unique<Impl>();
        impl->path = path;
        impl->options = options;
        reader.reset(new Reader(std::move(impl)));
        return reader->impl_->open_state(opened);
    });
    if (Status s = agree(*communicator, path, std::move(status), opened.listing, round_bytes);
        !s.ok())
        return s;
    reader->impl_->options.round_bytes = round_bytes;
    reader->impl_->state = std::move(opened);
    reader->impl_->comm = std::move(communicator);
    return reader;
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, path + ": no memory to open it");
}

Result<bool> Reader::refresh() try {
    if (Status here = impl_->check_process(); !here.ok()) return here;
    Impl::State opened;
    Status status = impl_->open_state(opened);
    if (impl_->comm != nullptr)
        status = agree(*impl_->comm, impl_->path, std::move(status), opened.listing,
                       impl_->options.round_bytes);
    if (!status.ok()) return status;
    const auto& before = impl_->state.listing.fields;
    const auto& now = opened.listing.fields;
    const bool changed = !std::equal(before.begin(), before.end(), now.begin(), now.end(), is_same);
    impl_->state = std::move(opened);
    return changed;
} catch (const std::bad_alloc&) {
    return Status(StatusCode::no_space, impl_->path + ": no memory to list it again");
}

const std::string& Reader::path() const { return impl_->path; }
const std::vector<store::Attribute>& Reader::attributes() const {
    static const auto& none = *new std::vector<store::Attribute>;
    const auto& files = impl_->state.files;
    return files.empty() ? none : files[0].source->info().root;
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
        return state.file_of(field).source->read_strided(way.dataset, box, target, read_options(),
                                                         only);
    if (box.extent.count() == 0) return {};
    if (way.kind == read::Way::Kind::constant) {
        read::fill_strided(box.extent, target, way.value);
        return {};
    }
    const State::File& from = state.file_of(field);
    base::File& file = from.source->file();
    const std::size_t value_bytes = the.type.value_bytes();
    if (target.stride_bytes == read::dense_strides(box.extent, value_bytes))
        return store::read_values(file, from.path, the.path, box,
                                  values.first(box.extent.count() * value_bytes));
    std::vector<std::byte> dense(box.extent.count() * value_bytes);
    if (Status s = store::read_values(file, from.path, the.path, box, dense); !s.ok()) return s;
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
