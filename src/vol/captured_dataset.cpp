#include "vol/captured_dataset.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <functional>
#include <numeric>

#include "hdf5/pipeline_codec.hpp"
#include "vol/block_calls.hpp"
#include "vol/chunk_calls.hpp"
#include "vol/filtered.hpp"
#include "vol/found_datasets.hpp"
#include "vol/quantities.hpp"
#include "vol/report.hpp"

namespace caesura::vol {
namespace {

using store::Handle;

/// The absolute path of what an application makes at an object.
std::string path_at(const Object& at, const H5VL_loc_params_t* location, const char* name) {
    if (name == nullptr) return {};
    if (name[0] == '/') return name;
    std::size_t bytes = 0;
    H5VL_object_get_args_t args{};
    args.op_type = H5VL_OBJECT_GET_NAME;
    args.args.get_name.name_len = &bytes;
    const auto ask = [&] {
        return H5VLobject_get(at.under, location, at.connector, &args, H5P_DATASET_XFER_DEFAULT,
                              nullptr) >= 0;
    };
    if (!ask()) return name;
    std::string path(bytes + 1, '\0');
    args.args.get_name.buf = path.data();
    args.args.get_name.buf_size = path.size();
    if (!ask()) return name;
    path.resize(bytes);
    return path + (path.ends_with('/') ? "" : "/") + name;
}

/// A virtual dataset whose sources lie in other files: the library would open them on this image.
bool reads_other_files(hid_t creation) {
    if (H5Pget_layout(creation) != H5D_VIRTUAL) return false;
    std::size_t count = 0;
    if (H5Pget_virtual_count(creation, &count) < 0) return true;
    for (std::size_t i = 0; i < count; ++i) {
        std::array<char, 2> name{};
        const ssize_t length = H5Pget_virtual_filename(creation, i, name.data(), name.size());
        if (length != 1 || name[0] != '.') return true;
    }
    return false;
}

void note_restrictions(CapturedDataset& dataset, hid_t creation, bool shared) {
    dataset.is_virtual = H5Pget_layout(creation) == H5D_VIRTUAL;
    dataset.has_other_sources = reads_other_files(creation);
    if (!dataset.has_other_sources) return;
    dataset.why_not_written =
        "it is virtual, and other files' data are not reached while the file is written";
    if (shared) dataset.why_not_read = dataset.why_not_written;
}

constexpr unsigned k_default_most = 8, k_default_least = 6, k_most = 64, k_least = 32;

/// Is it a list that keep_attributes_in_header() has changed?
bool keeps_ours_in_header(hid_t creation) {
    unsigned most = 0, least = 0;
    return H5Pget_attr_phase_change(creation, &most, &least) >= 0 && most == k_most &&
           least == k_least;
}

/// The image's object headers are of version 2, where more than 8 attributes of a dataset get a
/// heap and a tree of their own; in headers of version 1, HDF5's default, they stay in the header
/// however many they are. That is smaller, and several times as quick to make and to commit.
bool keep_attributes_in_header(hid_t creation) {
    unsigned most = 0, least = 0;
    if (H5Pget_attr_phase_change(creation, &most, &least) < 0) return false;
    if (most != k_default_most || least != k_default_least) return true;  // somebody's wish
    return H5Pset_attr_phase_change(creation, k_most, k_least) >= 0;
}

/// A list that lives longer than the handle.
Handle borrowed(hid_t list) {
    return {list, [](hid_t) { return herr_t{0}; }};
}

/// The library's own default lists live as long as the library.
Handle keep(hid_t creation) {
    if (creation == H5P_DATASET_CREATE_DEFAULT) return borrowed(creation);
    return {H5Pcopy(creation), H5Pclose};
}

/// One more identifier's worth of a list that others use too.
Handle share(const Handle& list) {
    if (!list.ok() || H5Iinc_ref(list.get()) < 0) return {};
    return {list.get(), H5Pclose};
}

/// As parallel HDF5 does: allocated at once, by all ranks alike, whoever writes later.
bool allocate_at_once(hid_t creation) {
    return H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY) >= 0;
}

/// What becomes of a dataset that is to be made.
struct Fate {
    Status block;                ///< ok: it becomes blocks of the configuration's codec
    Status kept;                 ///< may the lanes run the application's filters?
    bool keeps_filters = false;  ///< they do
};

/// The application's filters are its wish, which the configuration may overrule: by a bound, or
/// another codec than the default.
bool overrules_filters(const Config& config, const DatasetFacts& facts) {
    const Settings settings = settings_of(config, facts.path);
    return settings.codec != Config{}.codec ||
           (settings.bound.kind != ErrorBound::Kind::lossless && !facts.is_exact());
}

Fate fate_of(CapturedFile& file, const DatasetFacts& facts, hid_t type, hid_t creation) {
    Fate fate{qualifies(*file.config(), facts), {}};
    if (facts.filters == 0 || (fate.block.ok() && overrules_filters(*file.config(), facts)))
        return fate;
    fate.kept = keeps_filters(facts, type, creation);
    if (file.shared()) {
        fate.keeps_filters = fate.kept.ok();
        if (fate.keeps_filters) fate.block = {StatusCode::unsupported, "it has filters of its own"};
        return fate;
    }
    // One rank's HDF5 runs all that the lanes cannot, and what changes values, which the
    // application reads as the filter has left them.
    fate.keeps_filters = fate.block.ok() && fate.kept.ok() && filters_are_lossless(creation);
    fate.block = {StatusCode::unsupported, "it has filters of its own"};
    return fate;
}

}  // namespace

DefaultsOfImage::DefaultsOfImage(bool on)
    : on_(on && keep_attributes_in_header(H5P_DATASET_CREATE_DEFAULT) &&
          keeps_ours_in_header(H5P_DATASET_CREATE_DEFAULT)) {}

DefaultsOfImage::~DefaultsOfImage() {
    if (!on_) return;
    const KeepErrors keep;
    H5Pset_attr_phase_change(H5P_DATASET_CREATE_DEFAULT, k_default_most, k_default_least);
}

Handle image_access(CapturedFile& file, hid_t access, CapturedDataset& dataset) {
    OpenDataset& open = *dataset.open;
    if (H5Pget_chunk_cache(access, &open.cache_slots, &open.cache_bytes, &open.cache_preemption) <
        0)
        return {};
    const bool default_list = access == H5P_DATASET_ACCESS_DEFAULT;
    if (default_list && file.default_access.ok()) return share(file.default_access);
    Handle copy(H5Pcopy(access), H5Pclose);
    // Without filters, a chunk in a cache would be written whole, with bytes of other ranks. One
    // process has its cache; the file's access list has lost it, so that it is set here.
    const std::size_t bytes = file.shared() ? 0 : open.cache_bytes;
    if (!copy.ok() ||
        H5Pset_chunk_cache(copy.get(), open.cache_slots, bytes, open.cache_preemption) < 0)
        return {};
    if (!default_list) return copy;
    file.default_access = std::move(copy);
    return share(file.default_access);
}

namespace {

/// Of a dataset to be made. What has no chunks needs no cache.
Handle access_of(const Object& at, hid_t access, bool has_chunks, CapturedDataset& dataset) {
    return has_chunks ? image_access(*at.file, access, dataset) : borrowed(access);
}

}  // namespace

bool has_filter(hid_t creation, H5Z_filter_t wanted) {
    for (int i = 0; i < H5Pget_nfilters(creation); ++i) {
        std::size_t n_values = 0;
        if (H5Pget_filter2(creation, static_cast<unsigned>(i), nullptr, &n_values, nullptr, 0,
                           nullptr, nullptr) == wanted)
            return true;
    }
    return false;
}

/// In a file of one process. Of blocks: H5Dset_extent leaves a chunk that it cuts in HDF5's cache,
/// to be stored when the dataset is closed, over what a commit has put there since. Of chunks with
/// Fletcher's checksum: H5Ocopy of such chunks in the cache writes beyond a buffer, as the filter
/// says that it needs a smaller one than the chunk (HDF5 1.14.5). Of chunks that may get a filter
/// mask: what HDF5 remembers of one is not forgotten while others are in the cache (see
/// forget_last_mask()).
Handle without_cache(const CapturedDataset& dataset, Handle access) {
    Handle copy(H5Pcopy(access.get()), H5Pclose);
    const OpenDataset& open = *dataset.open;
    if (H5Pset_chunk_cache(copy.get(), open.cache_slots, 0, open.cache_preemption) < 0) return {};
    return copy;
}

namespace {

/// Deflate leaves out large chunks that it cannot shrink.
bool may_leave_out_deflate(hid_t creation, std::size_t value_bytes) {
    std::array<hsize_t, H5S_MAX_RANK> chunk{};
    const int rank = H5Pget_chunk(creation, H5S_MAX_RANK, chunk.data());
    return std::accumulate(chunk.begin(), chunk.begin() + std::max(rank, 0), hsize_t{value_bytes},
                           std::multiplies<>()) > hdf5::k_always_deflated_bytes;
}

/// Of a dataset to be made; see without_cache().
bool is_hurt_by_cache(const Fate& fate, const DatasetFacts& facts, hid_t creation) {
    return fate.block.ok() || has_filter(creation, H5Z_FILTER_FLETCHER32) ||
           (fate.keeps_filters && may_leave_out_deflate(creation, facts.value_bytes));
}

}  // namespace

Result<PreparedDataset> prepare_dataset(const Object& at, const H5VL_loc_params_t* location,
                                        const char* name, hid_t type, hid_t space, hid_t creation,
                                        hid_t access) {
    CapturedFile& file = *at.file;
    PreparedDataset prepared;
    prepared.dataset = std::make_shared<CapturedDataset>();
    CapturedDataset& dataset = *prepared.dataset;
    dataset.open->creation = keep(creation);
    dataset.open->since_made = true;
    const DatasetFacts facts = facts_of(path_at(at, location, name), type, space, creation);
    const Fate fate = fate_of(file, facts, type, creation);
    const Status& block = fate.block;
    const bool plain = facts.layout == H5D_CONTIGUOUS || facts.layout == H5D_CHUNKED;
    const bool shares_list = !block.ok() && creation == H5P_DATASET_CREATE_DEFAULT;
    prepared.has_defaults = shares_list;
    prepared.creation = shares_list ? borrowed(creation) : Handle(H5Pcopy(creation), H5Pclose);
    prepared.access = access_of(at, access, block.ok() || facts.layout == H5D_CHUNKED, dataset);
    if (!file.shared() && is_hurt_by_cache(fate, facts, creation))
        prepared.access = without_cache(dataset, std::move(prepared.access));
    if (!prepared.creation.ok() ||
        (!shares_list && !keep_attributes_in_header(prepared.creation.get())))
        return store::hdf5_error(StatusCode::internal, "the creation list of a dataset");
    if (block.ok()) {
        std::vector<hsize_t> dims(static_cast<std::size_t>(facts.rank));
        H5Sget_simple_extent_dims(space, dims.data(), nullptr);
        auto quantities =
            quantities_of({{at.under, at.kind}, location, *file.config(), file.communicator()},
                          name, facts, dims);
        if (!quantities.ok()) return quantities.status().with_context(file.name());
        if (Status status = prepare_blocks(file, facts, *quantities, type, space, prepared);
            !status.ok())
            return status;
        const BlockIo::Dataset& made = *prepared.dataset->block;
        report_dataset(file.config(), file.name(), facts.path, true,
                       fmt::format("blocks of {}{}{}", to_string(made.elements(made.chunk)),
                                   facts.is_exact() ? ", without loss" : "",
                                   prepared.by_part ? ", the bound for each part of its complex "
                                                      "numbers"
                                                    : ""));
        if (prepared.by_part) note_by_part(file.config(), facts.path);
        if (!prepared.why_exact.empty())
            report_kept_exact(file.config(), file.name(), facts.path, prepared.why_exact);
        return prepared;
    }
    if (fate.keeps_filters) {
        if (Status status = prepare_filtered(file, facts, type, space, prepared); !status.ok())
            return status.with_context(file.name());
        const BlockIo::Dataset& made = *prepared.dataset->block;
        report_dataset(file.config(), file.name(), facts.path, true,
                       fmt::format("chunks of {} with the application's filters: {}",
                                   to_string(made.elements(made.chunk)), block.message()));
        return prepared;
    }
    const bool drops_filters = file.shared() && facts.filters > 0;
    bool ok = dataset.creation().ok() && prepared.creation.ok() && prepared.access.ok();
    // Nobody but HDF5 runs them, which would need each chunk whole on one process.
    if (drops_filters) ok = ok && H5Premove_filter(prepared.creation.get(), H5Z_FILTER_ALL) >= 0;
    if (!file.alone() && !shares_list && plain && !facts.external &&
        (drops_filters || facts.filters == 0))
        ok = ok && allocate_at_once(prepared.creation.get());
    if (!ok) return store::hdf5_error(StatusCode::internal, "lists of the dataset " + facts.path);
    note_restrictions(dataset, creation, file.shared());
    dataset.open->drops_filters = drops_filters;
    report_dataset(file.config(), file.name(), facts.path, false,
                   fmt::format("stored as it is: {}{}{}", block.message(),
                               drops_filters ? "; without the application's filters: " : "",
                               drops_filters ? fate.kept.message() : ""));
    return prepared;
}

Status note_open(const Object& made) {
    const CapturedDataset& dataset = *made.dataset;
    const auto token = dataset.block != nullptr ? Result<H5O_token_t>(dataset.block->token)
                                                : token_of({made.under, H5I_DATASET});
    if (!token.ok()) return token.status();
    auto& open = made.file->open_datasets;
    open[key_of_token(*token)] = dataset.open;
    auto& dropped = made.file->with_dropped_filters;
    dropped.erase(key_of_token(*token));
    if (dataset.open->drops_filters)
        dropped.emplace(key_of_token(*token), keep(dataset.creation().get()));
    // A file may have many that were open once.
    if (std::has_single_bit(open.size()))
        std::erase_if(open, [](const auto& one) { return one.second.expired(); });
    return {};
}

void inspect_dataset(Object& opened) {
    CapturedDataset& dataset = *opened.dataset;
    if (const auto token = token_of({opened.under, H5I_DATASET}); token.ok()) {
        auto& known = opened.file->open_datasets[key_of_token(*token)];
        const auto& dropped = opened.file->with_dropped_filters;
        if (auto open = known.lock()) {
            dataset.open = std::move(open);
        } else {
            known = dataset.open;
            if (const auto given = dropped.find(key_of_token(*token)); given != dropped.end()) {
                dataset.open->creation = keep(given->second.get());
                dataset.open->drops_filters = true;
            }
        }
    }
    if (lies_in_one_piece(opened.under)) return;
    const Status blocks = find_blocks(opened);
    if (dataset.block != nullptr) return;
    H5VL_dataset_get_args_t args{};
    args.op_type = H5VL_DATASET_GET_DCPL;
    if (H5VLdataset_get(opened.under, opened.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
        0)
        return;
    const Handle creation(args.args.get_dcpl.dcpl_id, H5Pclose);
    note_restrictions(dataset, creation.get(), opened.file->shared());
    const H5D_layout_t layout = H5Pget_layout(creation.get());
    if (!opened.file->shared() || (layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED)) return;
    if (H5Pget_nfilters(creation.get()) > 0) {
        dataset.why_not_written =
            "it has filters, and several processes have the file open; " + blocks.message();
        return;
    }
    H5D_space_status_t status = H5D_SPACE_STATUS_ALLOCATED;
    args.op_type = H5VL_DATASET_GET_SPACE_STATUS;
    args.args.get_space_status.status = &status;
    H5VLdataset_get(opened.under, opened.connector, &args, H5P_DATASET_XFER_DEFAULT, nullptr);
    H5D_alloc_time_t time = H5D_ALLOC_TIME_DEFAULT;  // early, and not allocated: of no elements yet
    H5Pget_alloc_time(creation.get(), &time);
    if (status != H5D_SPACE_STATUS_ALLOCATED && time != H5D_ALLOC_TIME_EARLY &&
        H5Pget_external_count(creation.get()) == 0)
        dataset.why_not_written =
            "its space was not allocated when it was made (H5D_ALLOC_TIME_EARLY does that), and "
            "several processes have the file open";
}

void inspect_without_list(Object& opened) {
    opened.dataset = std::make_shared<CapturedDataset>();
    inspect_dataset(opened);
}

namespace {

/// Some filters set parameters of their own when HDF5 makes a dataset.
hid_t as_hdf5_keeps(const Object& on, hid_t given) {
    if (H5Pget_nfilters(given) > 0 && on.dataset->block != nullptr &&
        on.dataset->block->asked != nullptr)
        return creation_list_of_twin(*on.dataset->block);
    return H5Pcopy(given);
}

/// Parallel HDF5 allocates at once what has no filters. It tells so once the dataset is opened
/// again, and before that if it had to change what was given of the fill value.
/// @param list  the one that is told, so far.
bool tells_early(const Object& on, hid_t list) {
    const hid_t given = on.dataset->creation().get();
    if (H5Pget_nfilters(given) > 0 || H5Pget_driver(on.file->access()) != H5FD_MPIO) return false;
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    H5D_fill_time_t before = H5D_FILL_TIME_ERROR, after = H5D_FILL_TIME_ERROR;
    H5Pfill_value_defined(given, &defined);
    H5Pget_fill_time(given, &before);
    H5Pget_fill_time(list, &after);
    return !on.dataset->open->since_made || defined == H5D_FILL_VALUE_USER_DEFINED ||
           before != after;
}

}  // namespace

hid_t asked_creation(const Object& on) {
    const CapturedDataset& dataset = *on.dataset;
    const bool has_given = dataset.creation().ok();
    const hid_t given = dataset.creation().get();
    const bool is_replaced = dataset.block != nullptr && !dataset.block->filtered;
    const bool as_given = has_given && (is_replaced || dataset.open->drops_filters);
    const hid_t list = as_given ? as_hdf5_keeps(on, given)
                                : ask_dataset(on.under, H5VL_DATASET_GET_DCPL).release();
    if (list < 0) return list;
    unsigned most = k_default_most, least = k_default_least;
    if (has_given && !keeps_ours_in_header(given)) H5Pget_attr_phase_change(given, &most, &least);
    if (has_given || keeps_ours_in_header(list)) H5Pset_attr_phase_change(list, most, least);
    H5D_alloc_time_t time = H5D_ALLOC_TIME_DEFAULT;
    if (has_given && tells_early(on, list))
        H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY);
    else if (has_given && !as_given && H5Pget_alloc_time(given, &time) >= 0)
        H5Pset_alloc_time(list, time);
    return list;
}

herr_t tell_chunk_cache(const Object& on, hid_t access) {
    // Only chunked datasets have a chunk cache.
    if (!is_chunked(on))
        return H5Pset_chunk_cache(access, H5D_CHUNK_CACHE_NSLOTS_DEFAULT,
                                  H5D_CHUNK_CACHE_NBYTES_DEFAULT, H5D_CHUNK_CACHE_W0_DEFAULT);
    const OpenDataset& open = *on.dataset->open;
    return H5Pset_chunk_cache(access, open.cache_slots, open.cache_bytes, open.cache_preemption);
}

bool is_chunked(const Object& on) {
    const store::Handle list(asked_creation(on), H5Pclose);
    return list.ok() && H5Pget_layout(list.get()) == H5D_CHUNKED;
}

Status may_read(const Object& dataset) {
    if (dataset.dataset == nullptr || dataset.dataset->why_not_read.empty()) return {};
    return {StatusCode::unsupported,
            fmt::format("{}: the dataset cannot be read: {}", dataset.file->name(),
                        dataset.dataset->why_not_read)};
}

Status may_write(const Object& dataset, hid_t memory_type) {
    if (dataset.file == nullptr) return {};
    std::string why = dataset.dataset == nullptr ? "" : dataset.dataset->why_not_written;
    if (why.empty() && dataset.file->shared() && has_heap_values(memory_type))
        why =
            "values of variable length and region references cannot be written in parallel, as "
            "in parallel HDF5 itself";
    if (why.empty()) return {};
    return {StatusCode::unsupported,
            fmt::format("{}: the dataset cannot be written: {}", dataset.file->name(), why)};
}

ImageTransfer image_transfer(CapturedFile* file, hid_t list) {
    H5FD_mpio_xfer_t mode = H5FD_MPIO_INDEPENDENT;
    if (file == nullptr || list == H5P_DATASET_XFER_DEFAULT || H5Pget_dxpl_mpio(list, &mode) < 0 ||
        mode == H5FD_MPIO_INDEPENDENT)
        return {list, false};
    Handle copy(H5Pcopy(list), H5Pclose);
    H5Pset_dxpl_mpio(copy.get(), H5FD_MPIO_INDEPENDENT);
    const hid_t used = copy.get();
    file->keep_transfer(std::move(copy));
    return {used, true};
}

}  // namespace caesura::vol
