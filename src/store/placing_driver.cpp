#include "store/placing_driver.hpp"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <new>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

namespace caesura::store {

Status RawBatch::write(base::File& file) {
    constexpr std::size_t k_most_buffers = 512;  // of one gathered write
    const Overlay::Map& pieces = bytes_.pieces();
    std::vector<std::span<const std::byte>> buffers;
    for (auto it = pieces.begin(); it != pieces.end();) {
        const std::uint64_t begin = it->first;
        std::uint64_t end = begin;
        buffers.clear();
        for (; it != pieces.end() && it->first == end && buffers.size() < k_most_buffers; ++it) {
            buffers.emplace_back(it->second);
            end += it->second.size();
        }
        if (Status status = file.write_at(begin, buffers); !status.ok()) return status;
    }
    mark_written();
    return {};
}

void LiveLayers::forget_written() {
    std::erase_if(taken, [](const auto& batch) { return batch->written(); });
}

void LiveLayers::read(std::uint64_t address, std::span<std::byte> bytes) const {
    fill.read(address, bytes);
    for (const auto& batch : taken) batch->bytes().read(address, bytes);
    raw.read(address, bytes);
    frozen.read(address, bytes);
}

Status PlacingState::ask_size() {
    const auto size = file->size();
    if (size.ok()) file_bytes = *size;
    return size.status();
}

Status PlacingState::read_file(std::uint64_t address, std::span<std::byte> bytes) {
    const std::uint64_t in_file =
        address < file_bytes ? std::min<std::uint64_t>(bytes.size(), file_bytes - address) : 0;
    if (in_file < bytes.size()) std::memset(bytes.data() + in_file, 0, bytes.size() - in_file);
    return in_file > 0 ? file->read_at(address, bytes.first(in_file)) : Status{};
}

Status PlacingState::read(std::uint64_t address, std::span<std::byte> bytes) {
    // What the overlay has need not be read from the file (it may not be there yet).
    if (overlay.covers(address, bytes.size())) {
        overlay.read(address, bytes);
        return {};
    }
    // Before the file is read: a lane may write a batch at any time, and what the file does not
    // show yet must come from the batch.
    if (live) live->forget_written();
    if (live && address + bytes.size() > file_bytes)  // it may have grown since
        if (Status status = ask_size(); !status.ok()) return status;
    Status status = read_file(address, bytes);
    // A run that ends meanwhile cuts off what it has not used.
    while (status.code() == StatusCode::insufficient_data) {
        const std::uint64_t before = file_bytes;
        if (Status asked = ask_size(); !asked.ok()) return asked;
        if (file_bytes >= before) break;
        status = read_file(address, bytes);
    }
    if (!status.ok()) return status;
    if (live) live->read(address, bytes);
    overlay.read(address, bytes);
    return {};
}

void PlacingState::allocate_at_once(bool on) {
    for (unsigned long* const flags : features)
        *flags = on ? *flags | H5FD_FEAT_ALLOCATE_EARLY
                    : *flags & ~static_cast<unsigned long>(H5FD_FEAT_ALLOCATE_EARLY);
}

namespace {

constexpr std::uint64_t k_sector_bytes = 512;

/// What the library sees of an open file; its own part must come first.
struct OpenFile {
    H5FD_t base;
    PlacingState* state;
};

struct AccessInfo {
    PlacingState* state;
};

PlacingState& state_of(const H5FD_t* file) {
    return *reinterpret_cast<const OpenFile*>(file)->state;
}

herr_t fail(PlacingState& state, StatusCode code, std::string message) {
    if (state.error.ok()) state.error = {code, std::move(message)};
    return -1;
}

// Callbacks are called from C: no exception may leave them, and memory is all that can throw.
template <class Body>
auto guarded(PlacingState& state, Body body, decltype(body()) on_error) -> decltype(body()) {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        fail(state, StatusCode::no_space, "out of memory while building metadata");
        return on_error;
    }
}

/// Of a file that stays open, raw data that is not being placed.
void write_raw(LiveLayers& live, std::uint64_t address, std::span<const std::byte> bytes) {
    if (live.raw_is == LiveLayers::Raw::data || address < live.new_from)
        return live.raw.write(address, bytes);
    // New space reads as zeros anyway: a hole in the file, or beyond its end.
    const bool zeros = !bytes.empty() && bytes[0] == std::byte{0} &&
                       std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
    if (!zeros || address < live.virgin_begin) live.fill.write(address, bytes);
}

extern "C" {

H5FD_t* caesura_fd_open(const char*, unsigned, hid_t fapl, haddr_t) {
    const auto* info = static_cast<const AccessInfo*>(H5Pget_driver_info(fapl));
    if (info == nullptr || info->state == nullptr) return nullptr;
    auto* file = new (std::nothrow) OpenFile{};
    if (file == nullptr) return nullptr;
    PlacingState& state = *info->state;
    file->state = &state;
    const bool kept = guarded(
        state,
        [&] {
            state.features.push_back(&file->base.feature_flags);
            return true;
        },
        false);
    if (kept) return &file->base;
    delete file;
    return nullptr;
}

herr_t caesura_fd_close(H5FD_t* file) {
    std::erase(state_of(file).features, &file->feature_flags);
    delete reinterpret_cast<OpenFile*>(file);
    return 0;
}

/// Two openings of one state are one file to the library, which then holds the second to the rules
/// that it has for files that are open.
int caesura_fd_compare(const H5FD_t* a, const H5FD_t* b) {
    const std::less<const PlacingState*> before;
    if (before(&state_of(a), &state_of(b))) return -1;
    return before(&state_of(b), &state_of(a)) ? 1 : 0;
}

herr_t caesura_fd_query(const H5FD_t*, unsigned long* flags) {
    // No AGGREGATE_* flag: the library would carve chunks and metadata out of blocks of its own
    // without asking us where. No DATA_SIEVE: a sieve writes bytes around those that were given,
    // which may be another rank's. No ACCUMULATE_METADATA: what the library collects may hold raw
    // data between metadata, as they were when it read them, and goes over what was written since.
    if (flags != nullptr) *flags = H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

haddr_t caesura_fd_alloc(H5FD_t* file, H5FD_mem_t type, hid_t, hsize_t size) {
    PlacingState& state = state_of(file);
    if (type == H5FD_MEM_SUPER && state.eoa == 0) {
        state.eoa = size;
        return 0;
    }
    if (type == H5FD_MEM_DRAW && state.armed) {
        if (size != state.armed->bytes || state.allocated) {
            fail(
                state, StatusCode::internal,
                fmt::format("HDF5 asked for {} bytes for a chunk of {}", size, state.armed->bytes));
            return HADDR_UNDEF;
        }
        state.allocated = true;
        return state.armed->address;
    }
    std::uint64_t address = std::max(state.eoa, state.floor);
    // A disk writes a sector wholly or not at all, and a group that later dumps are added to is
    // changed by one write (continuations.hpp). An application's file may have many headers, and
    // has its groups early.
    const bool crosses = address / k_sector_bytes != (address + size - 1) / k_sector_bytes;
    if (type == H5FD_MEM_OHDR && (state.creating || !state.live) && crosses &&
        size <= k_sector_bytes)
        address = (address / k_sector_bytes + 1) * k_sector_bytes;
    state.eoa = address + size;
    if (state.live) state.live->allocated_end = state.eoa;
    return address;
}

herr_t caesura_fd_free(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t address, hsize_t size) {
    PlacingState& state = state_of(file);
    if (state.live) return 0;
    if (address >= state.floor && address + size == state.eoa) state.eoa = address;
    return 0;
}

haddr_t caesura_fd_get_eoa(const H5FD_t* file, H5FD_mem_t) { return state_of(file).eoa; }

herr_t caesura_fd_set_eoa(H5FD_t* file, H5FD_mem_t, haddr_t address) {
    PlacingState& state = state_of(file);
    state.eoa = address;
    if (state.live) state.live->allocated_end = std::max(state.live->allocated_end, state.eoa);
    return 0;
}

haddr_t caesura_fd_get_eof(const H5FD_t* file, H5FD_mem_t) {
    const PlacingState& state = state_of(file);
    // An end of 0 makes the library write a new superblock although raw data are there already.
    return std::max(state.creating ? 0 : state.file_bytes, state.overlay.end());
}

herr_t caesura_fd_read(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, size_t size,
                       void* buffer) {
    PlacingState& state = state_of(file);
    if (type == H5FD_MEM_DRAW && state.watching) {
        if (state.seen) return fail(state, StatusCode::internal, "a chunk was read in two pieces");
        state.seen = Placement{address, size};
        return 0;
    }
    const Status status = state.read(address, {static_cast<std::byte*>(buffer), size});
    return status.ok() ? 0 : fail(state, status.code(), status.message());
}

herr_t caesura_fd_write(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, size_t size,
                        const void* buffer) {
    PlacingState& state = state_of(file);
    if (type == H5FD_MEM_DRAW && state.armed) {
        if (state.live && !state.allocated && size == state.armed->bytes) {
            state.live->kept = address;
            return 0;
        }
        if (address != state.armed->address || size != state.armed->bytes || state.dropped)
            return fail(state, StatusCode::internal,
                        fmt::format("HDF5 wrote {} bytes at {} while the chunk of {} bytes at {} "
                                    "was being placed",
                                    size, address, state.armed->bytes, state.armed->address));
        state.dropped = true;
        return 0;
    }
    return guarded(
        state,
        [&] {
            const std::span bytes(static_cast<const std::byte*>(buffer), size);
            if (type == H5FD_MEM_DRAW && state.live &&
                state.live->raw_is != LiveLayers::Raw::metadata)
                write_raw(*state.live, address, bytes);
            else
                state.overlay.write(address, bytes);
            return 0;
        },
        -1);
}

herr_t caesura_fd_flush(H5FD_t* file, hid_t, hbool_t) {
    if (LiveLayers* live = state_of(file).live.get()) ++live->flushes;
    return 0;
}

// The file is never cut or grown by the library: regions may lie beyond what it knows.
herr_t caesura_fd_truncate(H5FD_t*, hid_t, hbool_t) { return 0; }

}  // extern "C"

H5FD_class_t make_class() {
    H5FD_class_t c{};
#if H5_VERSION_GE(1, 13, 0)
    c.version = H5FD_CLASS_VERSION;
    c.value = static_cast<H5FD_class_value_t>(513);  // > 511: free for anyone, not a plugin
#endif
    c.name = "caesura_placing";
    c.maxaddr = (haddr_t{1} << 63) - 1;
    c.fc_degree = H5F_CLOSE_STRONG;
    c.fapl_size = sizeof(AccessInfo);
    c.open = caesura_fd_open;
    c.close = caesura_fd_close;
    c.cmp = caesura_fd_compare;
    c.query = caesura_fd_query;
    c.alloc = caesura_fd_alloc;
    c.free = caesura_fd_free;
    c.get_eoa = caesura_fd_get_eoa;
    c.set_eoa = caesura_fd_set_eoa;
    c.get_eof = caesura_fd_get_eof;
    c.read = caesura_fd_read;
    c.write = caesura_fd_write;
    c.flush = caesura_fd_flush;
    c.truncate = caesura_fd_truncate;
    // Two free lists, raw and metadata; the global heap is metadata, so that the raw one (freed
    // chunks) is never handed out.
    const H5FD_mem_t map[H5FD_MEM_NTYPES] = {H5FD_MEM_SUPER, H5FD_MEM_SUPER, H5FD_MEM_SUPER,
                                             H5FD_MEM_DRAW,  H5FD_MEM_SUPER, H5FD_MEM_SUPER,
                                             H5FD_MEM_SUPER};
    std::copy(std::begin(map), std::end(map), std::begin(c.fl_map));
    return c;
}

/// Registered once; again if the application called H5close meanwhile.
hid_t driver_id() {
    static const H5FD_class_t driver = make_class();
    static hid_t id = -1;
    if (id < 0 || H5Iget_type(id) != H5I_VFL) id = H5FDregister(&driver);
    return id;
}

}  // namespace

Status set_placing_driver(hid_t fapl, PlacingState& state) {
    const hid_t driver = driver_id();
    const AccessInfo info{&state};
    bool ok = driver >= 0 && H5Pset_driver(fapl, driver, &info) >= 0;
#if H5_VERSION_GE(1, 12, 0)
    // HDF5_VOL_CONNECTOR may name our own connector: metadata always goes the native way.
    ok = ok && H5Pset_vol(fapl, H5VL_NATIVE, nullptr) >= 0;
#endif
    return ok ? Status{} : hdf5_error(StatusCode::internal, "setting the placing driver");
}

Result<Handle> placing_access(PlacingState& state) {
    Handle fapl(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (!fapl.ok()) return hdf5_error(StatusCode::internal, "preparing the placing driver");
    if (Status status = set_placing_driver(fapl.get(), state); !status.ok()) return status;
    if (H5Pset_fclose_degree(fapl.get(), H5F_CLOSE_STRONG) < 0 ||
        H5Pset_libver_bounds(fapl.get(), H5F_LIBVER_V110, H5F_LIBVER_V110) < 0)
        return hdf5_error(StatusCode::internal, "preparing the placing driver");
    return fapl;
}

}  // namespace caesura::store
