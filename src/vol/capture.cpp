#include "vol/capture.hpp"

#include <fmt/format.h>

#include "caesura/mpi.hpp"
#include "store/hdf5_handle.hpp"
#include "store/live_image.hpp"
#include "writer/open_writer.hpp"

namespace caesura::vol {
namespace {

/// Who makes the call. HDF5 duplicates the communicator for whoever asks for it: that is the one we
/// keep.
Opener opener_of(hid_t access, std::string_view why) {
    std::string why_native(why);
    MPI_Comm communicator = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    if (H5Pget_driver(access) != H5FD_MPIO)
        return {nullptr, ranks_of(MPI_COMM_SELF), std::move(why_native)};
    if (H5Pget_fapl_mpio(access, &communicator, &info) < 0)
        return {nullptr, {}, "the access list has no communicator"};
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    Ranks ranks = ranks_of(communicator);
    return {std::make_unique<MpiCommunicator>(communicator), std::move(ranks),
            std::move(why_native)};
}

Opener captured_by(hid_t access) {
    H5F_libver_t low = H5F_LIBVER_EARLIEST, high = H5F_LIBVER_LATEST;
    H5Pget_libver_bounds(access, &low, &high);
    if (high < H5F_LIBVER_V110)
        return opener_of(access, "the access list wants a format older than HDF5 1.10's");
    std::size_t page_buffer = 0;
    if (H5Pget_page_buffer_size(access, &page_buffer, nullptr, nullptr) >= 0 && page_buffer > 0)
        return opener_of(access, "the access list wants a page buffer");
    if (is_alone(access)) return {Communicator::self(), ranks_of(MPI_COMM_SELF), {}};
    return opener_of(access, H5Pget_driver(access) == H5FD_MPIO
                                 ? ""
                                 : "a file driver other than MPI-IO and POSIX");
}

constexpr std::string_view k_no_mpi = "not between MPI_Init and MPI_Finalize";
constexpr std::string_view k_not_wanted = "the configuration has capture = false";

Status unfit(std::string_view reason) { return {StatusCode::unsupported, std::string(reason)}; }

}  // namespace

base::FileLocking locking_of(hid_t access) {
    if (H5Pget_driver(access) == H5FD_MPIO) return base::FileLocking::yielding;
    hbool_t locks = 1, ignores_disabled = 1;
    if (H5Pget_file_locking(access, &locks, &ignores_disabled) < 0 || locks == 0)
        return locks == 0 ? base::FileLocking::off : base::FileLocking::best_effort;
    return ignores_disabled != 0 ? base::FileLocking::best_effort : base::FileLocking::on;
}

Opener opener_of_new_file(hid_t access, hid_t creation, bool captures) {
    if (!inside_mpi()) return {nullptr, {}, std::string(k_no_mpi)};
    if (!captures) return opener_of(access, k_not_wanted);
    if (const Status status = store::LiveImage::supports(creation); !status.ok())
        return opener_of(access, status.message());
    return captured_by(access);
}

Opener opener_of_old_file(hid_t access, unsigned flags, bool captures) {
    if (!inside_mpi()) return {nullptr, {}, std::string(k_no_mpi)};
    if (!captures) return opener_of(access, k_not_wanted);
    if (NothingCaptured::now())
        return opener_of(access, "an external link of a file that is not captured leads to it");
    if ((flags & H5F_ACC_RDWR) == 0) return opener_of(access, "opened for reading only");
    if ((flags & H5F_ACC_SWMR_WRITE) != 0) return opener_of(access, "opened for SWMR");
    return captured_by(access);
}

Opener opener_of_no_file(hid_t access) {
    if (!inside_mpi()) return {nullptr, {}, std::string(k_no_mpi)};
    return opener_of(access, "it is not opened");
}

namespace {

constexpr std::string_view k_corners =
    "the corners of boxes, which must be there when the data beside them are made";

/// Does the type? ok, or the reason.
Status type_qualifies(const Settings& settings, const DatasetFacts& facts) {
    if (facts.type_class == H5T_COMPOUND) {
        if (facts.corners) return unfit(k_corners);
        if (!facts.element)
            return unfit(
                fmt::format("a compound type with values of variable length or references, or of "
                            "more than {} numbers",
                            k_most_members));
        if (!facts.fills_alike) return unfit("a compound type whose members' fill values differ");
        if (!is_ours(settings))
            return unfit("a compound type, whose members codec caesura alone keeps apart");
        return {};
    }
    if (facts.element) return {};
    if (facts.type_class == H5T_ENUM) return unfit("an enumeration that is not h5py's bool");
    if (facts.type_class != H5T_FLOAT && facts.type_class != H5T_INTEGER)
        return unfit("neither of floating point nor of integers");
    if (facts.type_class == H5T_INTEGER)
        return unfit(
            fmt::format("integers of {} bytes that are none of this machine", facts.value_bytes));
    return unfit(fmt::format(
        "floating point of {} bytes that is none of float16, bfloat16, float32 and float64 of this "
        "machine",
        facts.value_bytes));
}

}  // namespace

Status qualifies(const Config& config, const DatasetFacts& facts) {
    if (!config.capture) return unfit(k_not_wanted);
    const Settings settings = settings_of(config, facts.path);
    if (!settings.capture) return unfit("the configuration says so");
    if (Status status = type_qualifies(settings, facts); !status.ok()) return status;
    if (facts.layout != H5D_CONTIGUOUS && facts.layout != H5D_CHUNKED)
        return unfit("neither contiguous nor chunked");
    if (facts.layout == H5D_CONTIGUOUS && facts.extendible)
        return unfit("contiguous, and may be extended, which HDF5 refuses");
    if (facts.external) return unfit("its data lie in other files");
    if (facts.rank < 1) return unfit("a single value, or none");
    if (!facts.folds)
        return unfit(
            fmt::format("{} axes, of which more than {} would be left where those that cannot grow "
                        "join the ones before them",
                        facts.rank, most_axes(*facts.element)));
    const std::uint64_t bytes = std::max(facts.count, facts.foreseen_count) * facts.value_bytes;
    if (bytes < config.threshold_bytes)
        return unfit(fmt::format("{} bytes{}; smaller than threshold_bytes = {}", bytes,
                                 facts.foreseen_count > facts.count ? " foreseen" : "",
                                 config.threshold_bytes));
    return {};
}

DatasetFacts facts_of(std::string path, hid_t type, hid_t space, hid_t creation) {
    DatasetFacts facts;
    facts.path = std::move(path);
    facts.type_class = H5Tget_class(type);
    facts.value_bytes = H5Tget_size(type);
    facts.element = element_of(type);
    facts.corners = axes_of_boxes(type) > 0;
    facts.fills_alike = !facts.has_axis() || fills_alike(creation, type, *facts.element);
    facts.rank = std::max(0, H5Sget_simple_extent_ndims(space));
    std::vector<hsize_t> now(static_cast<std::size_t>(facts.rank)), most(now.size());
    if (facts.rank > 0) H5Sget_simple_extent_dims(space, now.data(), most.data());
    facts.extendible = now != most;
    if (facts.rank >= 1 && facts.rank <= k_max_rank)
        facts.most_dims = Shape(std::vector<std::uint64_t>(most.begin(), most.end()));
    const auto as_numbers = [](const std::vector<hsize_t>& extents) {
        return std::span(reinterpret_cast<const std::uint64_t*>(extents.data()), extents.size());
    };
    if (facts.element)
        facts.folds =
            writer::fold_axes(as_numbers(now), as_numbers(most), most_axes(*facts.element)).ok();
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    facts.count = count < 0 ? 0 : static_cast<std::uint64_t>(count);
    facts.layout = H5Pget_layout(creation);
    facts.filters = std::max(0, H5Pget_nfilters(creation));
    facts.external = H5Pget_external_count(creation) > 0;
    std::vector<hsize_t> chunk(now.size(), 1);
    if (facts.layout == H5D_CHUNKED && facts.rank > 0)
        H5Pget_chunk(creation, facts.rank, chunk.data());
    facts.foreseen_count = 1;
    for (std::size_t i = 0; i < now.size(); ++i)
        facts.foreseen_count *= most[i] > now[i] ? std::max(now[i], chunk[i]) : now[i];
    return facts;
}

}  // namespace caesura::vol
