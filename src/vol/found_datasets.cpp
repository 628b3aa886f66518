#include "vol/found_datasets.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/all_ranks.hpp"
#include "base/wire.hpp"
#include "hdf5/filter/filter.hpp"
#include "hdf5/plugin/hdf5_class.hpp"
#include "vol/filtered.hpp"
#include "vol/found_quantities.hpp"
#include "vol/members.hpp"
#include "vol/object.hpp"
#include "vol/report.hpp"

namespace caesura::vol {
namespace {

using store::Handle;
using Extents = std::array<hsize_t, H5S_MAX_RANK>;

Status unfit(std::string reason) { return {StatusCode::unsupported, std::move(reason)}; }

/// The settings in a pipeline that is our filter and nothing else.
Result<hdf5::Settings> settings_in(hid_t creation, std::vector<unsigned>& words) {
    if (H5Pget_nfilters(creation) != 1) return unfit("its filters are not Caesura's alone");
    words.resize(k_most_parameters);
    std::size_t n = words.size();
    unsigned flags = 0, config = 0;
    const H5Z_filter_t id =
        H5Pget_filter2(creation, 0, &flags, &n, words.data(), 0, nullptr, &config);
    if (id != static_cast<H5Z_filter_t>(hdf5::k_filter_id) || n > words.size())
        return unfit("its filter is not Caesura's");
    words.resize(n);
    auto settings = hdf5::parse_cd_values(words);
    if (settings.ok() && !settings->complete()) return unfit("its filter's parameters are unknown");
    return settings;
}

const char* codec_of(Mode mode) {
    switch (mode) {
        case Mode::fast:
            return "caesura:fast";
        case Mode::strong:
            return "caesura:strong";
        case Mode::planes:
            return "caesura:planes";
        case Mode::regions:
            return "caesura:regions";
        case Mode::automatic:
            break;
    }
    return "caesura";
}

/// Has it any block?
bool has_blocks(void* dataset) {
    hsize_t bytes = 0;
    H5VL_dataset_get_args_t args{};
    args.op_type = H5VL_DATASET_GET_STORAGE_SIZE;
    args.args.get_storage_size.storage_size = &bytes;
    return H5VLdataset_get(dataset, native_connector(), &args, H5P_DATASET_XFER_DEFAULT, nullptr) <
               0 ||
           bytes > 0;
}

}  // namespace

Handle ask_dataset(void* dataset, H5VL_dataset_get_t what) {
    H5VL_dataset_get_args_t args{};
    args.op_type = what;
    if (H5VLdataset_get(dataset, native_connector(), &args, H5P_DATASET_XFER_DEFAULT, nullptr) < 0)
        return {};
    if (what == H5VL_DATASET_GET_DCPL) return {args.args.get_dcpl.dcpl_id, H5Pclose};
    if (what == H5VL_DATASET_GET_TYPE) return {args.args.get_type.type_id, H5Tclose};
    return {args.args.get_space.space_id, H5Sclose};
}

Status read_shape(hid_t space, hid_t creation, std::size_t axes_left, BlockIo::Dataset& found,
                  bool& extendable) {
    Extents now{}, most{}, chunk{};
    found.rank = H5Sget_simple_extent_dims(space, now.data(), most.data());
    if (found.rank < 1 || H5Pget_chunk(creation, found.rank, chunk.data()) != found.rank)
        return unfit("it is not chunked");
    const auto n = static_cast<std::size_t>(found.rank);
    found.extents.assign(now.begin(), now.begin() + found.rank);
    auto axes = writer::fold_axes(
        found.extents, {reinterpret_cast<const std::uint64_t*>(most.data()), n}, axes_left);
    if (!axes.ok()) return axes.status();
    found.axes = std::move(*axes);
    found.dims = joined_extents(found, now);
    found.chunk = joined_extents(found, chunk);
    const Extents again = native_extent(found, found.chunk);
    if (joined_chunk(found, found.chunk) != found.chunk ||
        !std::equal(chunk.begin(), chunk.begin() + found.rank, again.begin()))
        return unfit("its chunks are none of the axes that blocks have");
    extendable = !std::equal(now.begin(), now.begin() + found.rank, most.begin());
    return {};
}

void set_element(BlockIo::Dataset& dataset, Element element) {
    if (element.has_axis()) {
        dataset.dims = with_axis(dataset.dims, element.numbers());
        dataset.chunk = with_axis(dataset.chunk, element.numbers());
    }
    dataset.element = std::move(element);
}

Status keep_type(BlockIo::Dataset& dataset, hid_t type) {
    dataset.type = Handle(H5Tcopy(type), H5Tclose);  // a named one would keep the file open
    std::size_t bytes = 0;
    bool ok = dataset.type.ok() && H5Tencode(dataset.type.get(), nullptr, &bytes) >= 0;
    dataset.type_bytes.resize(bytes);
    ok = ok && H5Tencode(dataset.type.get(), dataset.type_bytes.data(), &bytes) >= 0;
    return ok ? Status{} : store::hdf5_error(StatusCode::internal, dataset.path + ": its type");
}

Status register_filter() {
    if (H5Zregister(&hdf5::hdf5_class()) >= 0) return {};
    return store::hdf5_error(StatusCode::internal, "registering Caesura's filter");
}

Status read_fill(hid_t creation, hid_t type, writer::DatasetDefinition& definition) {
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    std::vector<std::byte> value(H5Tget_size(type));  // of a compound type the same of all numbers
    if (H5Pfill_value_defined(creation, &defined) >= 0 && defined != H5D_FILL_VALUE_UNDEFINED &&
        H5Pget_fill_value(creation, type, value.data()) < 0)
        return store::hdf5_error(StatusCode::internal, "fill value");
    std::copy_n(value.begin(), std::min(value.size(), definition.fill.size()),
                definition.fill.begin());
    definition.fill_is_set = defined == H5D_FILL_VALUE_USER_DEFINED;
    return {};
}

Result<BlockIo::DatasetPtr> describe_stored(void* under, std::string path, bool shared) {
    const Handle creation = ask_dataset(under, H5VL_DATASET_GET_DCPL);
    if (!creation.ok()) return store::hdf5_error(StatusCode::internal, path + ": creation list");
    std::vector<unsigned> words;
    auto settings = settings_in(creation.get(), words);
    if (!settings.ok())
        return shared ? describe_filtered(under, std::move(path)) : settings.status();
    const Handle type = ask_dataset(under, H5VL_DATASET_GET_TYPE);
    const Handle space = ask_dataset(under, H5VL_DATASET_GET_SPACE);
    if (!type.ok() || !space.ok())
        return store::hdf5_error(StatusCode::internal, path + ": type and dataspace");
    auto found = std::make_shared<BlockIo::Dataset>();
    found->path = std::move(path);
    auto element = element_of(type.get());
    if (!element) return unfit("its values are neither numbers of this machine nor compounds");
    if (element->is_exact() && settings->bound.kind != ErrorBound::Kind::lossless)
        return unfit("its filter's parameters have a bound, which its values have not");
    if (element->has_axis() && !fills_alike(creation.get(), type.get(), *element))
        return unfit("the fill values of its members differ");
    if (Status status = keep_type(*found, type.get()); !status.ok()) return status;
    writer::DatasetDefinition definition;
    if (Status status = read_shape(space.get(), creation.get(), most_axes(*element), *found,
                                   definition.extendable);
        !status.ok())
        return status;
    set_element(*found, std::move(*element));
    // Whatever else the parameters say, our Writer would not do.
    const auto wanted = hdf5::to_cd_values(hdf5::settings_of(
        found->dtype(), found->chunk, settings->bound, settings->mode, settings->tables));
    if (!wanted.ok() || *wanted != words)
        return unfit("its filter's parameters are not those that Caesura's writer sets");
    definition.codec.name = codec_of(settings->mode);
    definition.bound = settings->bound;
    found->lossy = settings->bound.kind != ErrorBound::Kind::lossless;
    definition.tables = settings->tables;
    if (Status status = read_fill(creation.get(), found->type.get(), definition); !status.ok())
        return status.with_context(found->path);
    found->definition = std::move(definition);
    found->said = said_bounds({under, H5I_DATASET});
    found->lossy = found->lossy || found->said;
    found->stored = has_blocks(under);
    found->definition->composition = found->composition = composition_said_by(*found);
    found->settled = found->dims;
    found->has_masks = true;
    return found;
}

// ------------------------------------------------------------------ from one rank to all of them

void BlockIo::keep(const DatasetPtr& found) { by_token_[key_of_token(found->token)] = found; }

/// A found dataset by its token; null if it has been deleted.
Result<BlockIo::DatasetPtr> BlockIo::find_again(const std::string& key, const std::string& path) {
    if (const auto found = by_token_.find(key); found != by_token_.end()) {
        if (!place_.tree.open(*found->second).ok()) return DatasetPtr();
        return found->second;
    }
    H5O_token_t token{};
    key.copy(reinterpret_cast<char*>(&token), sizeof token);
    auto native = NativeDataset::open(place_.tree.through(), token);
    if (!native.ok()) return DatasetPtr();
    auto found = describe_stored(native->under(), path, place_.communicator->size() > 1);
    if (!found.ok()) return found.status();
    (*found)->token = token;
    (*found)->native = std::move(*native);
    keep(*found);
    return found;
}

Status BlockIo::unite(const NativeObject& through) {
    place_.tree.go_through(through);
    base::Packer packer;
    for (const auto& [key, dataset] : by_token_)
        if (dataset->definition && !dataset->pieces.empty()) {
            packer.put(key);
            packer.put(dataset->path);
        }
    auto all = place_.communicator->allgatherv(packer.bytes());
    if (!all.ok()) return all.status();
    std::map<std::string, std::string> paths;  // by token: in one order everywhere
    for (const Communicator::Bytes& part : *all)
        for (base::Unpacker unpacker(part); unpacker.more();) {
            std::string key = unpacker.get_string();
            paths.emplace(std::move(key), unpacker.get_string());
        }
    if (paths.empty()) return {};
    if (Status status = start(); !status.ok()) return status;
    return define_found(paths);
}

// What no rank can tell alone: rank 0 reads the boxes.
Status BlockIo::find_composition(Dataset& found) {
    if (found.filtered) return {};
    if (found.composition == nullptr) {
        H5VL_loc_params_t location{};
        location.type = H5VL_OBJECT_BY_SELF;
        location.obj_type = H5I_DATASET;
        if (Status status = place_.tree.open(found); !status.ok()) return status;
        const Asked asked{
            {found.native.under(), H5I_DATASET}, &location, *place_.config, *place_.communicator};
        DatasetFacts facts;
        facts.path = found.path;
        facts.element = found.element;
        facts.rank = found.rank;
        facts.count = found.dims.count();
        const auto dims = native_extent(found, found.dims);
        const auto quantities =
            quantities_of(asked, found.path.c_str(), facts,
                          std::span(dims).first(static_cast<std::size_t>(found.rank)));
        // A rule that does not fit is an error where a dataset is made.
        if (!quantities.ok() && quantities.status().code() != StatusCode::invalid_argument)
            return quantities.status();
        if (quantities.ok()) found.composition = composition_of(found, *place_.config, *quantities);
        found.definition->composition = found.composition;
        // What its bound is for, nothing in the file says.
        found.definition->for_fields = found.for_fields =
            settings_of(*place_.config, found.path).bound_for_all &&
            found.definition->bound.kind != ErrorBound::Kind::lossless;
        if (quantities.ok()) find_map(found, *place_.config, *quantities);
    }
    found.definition->loosest = loosest_so_far(found);
    note_rules(found, *place_.config);
    return {};
}

Status BlockIo::define_found(const std::map<std::string, std::string>& paths) {
    Status first;
    std::vector<DatasetPtr> found;
    std::vector<std::uint8_t> mine;
    for (const auto& [key, path] : paths) {
        auto one = find_again(key, path);
        if (!one.ok() && first.ok()) first = one.status().with_context(path);
        found.push_back(one.ok() ? *one : nullptr);
        mine.push_back(found.back() != nullptr ? 1 : 0);
    }
    const std::size_t n = mine.size();
    const auto all =
        base::lists_from_all(*place_.communicator, std::span<const std::uint8_t>(mine));
    if (!all.ok()) return all.status();
    auto path = paths.begin();
    for (std::size_t i = 0; i < n; ++i, ++path) {
        bool everywhere = true;
        for (std::size_t at = i; at < all->size(); at += n) everywhere &= (*all)[at] != 0;
        if (!everywhere) {  // deleted since, and its values with it
            if (found[i] != nullptr) found[i]->forget_pieces();
            continue;
        }
        Dataset& dataset = *found[i];
        dataset.path = path->second;
        Status status = find_composition(dataset);
        if (status.ok()) status = define(dataset, *dataset.definition);
        if (status.ok()) {
            dataset.definition.reset();
            dataset.said.reset();
            note_field(found[i]);
            report_dataset(
                place_.config, place_.ledger.file().path(), dataset.path, true,
                fmt::format("{} of {}, as it was made", dataset.filtered ? "chunks" : "blocks",
                            to_string(dataset.elements(dataset.chunk))));
            status = put_waiting(dataset);
        }
        if (first.ok()) first = std::move(status);
    }
    for (Copy& copy : copies_)
        if (copy.dump == k_not_put) copy.dump = writer_->next_dump();
    return first;
}

}  // namespace caesura::vol
