// Modes sync and filter: what a code does today with parallel HDF5 and collective writes.
//
// Layout as openPMD has it: /data/<iteration>/meshes/<field> and .../particles/<species>/<record>.
// Uncompressed datasets are contiguous; filtered ones are chunked. Independent of Caesura, so that
// it can be what Caesura is judged by. With a file for each dump the library is closed at the end:
// one that finishes files later does it there.

#include <hdf5.h>
#include <mpi.h>

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <utility>

#include "output.hpp"
#include "particle_records.hpp"

namespace cosmology {

namespace {

/// An HDF5 identifier that closes itself.
class Id {
  public:
    Id(hid_t id, herr_t (*closes)(hid_t), const std::string& what) : id_(id), close_(closes) {
        if (id < 0) throw std::runtime_error("HDF5 cannot " + what);
    }
    Id(Id&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
    Id& operator=(Id&&) = delete;
    ~Id() {
        if (id_ >= 0) close_(id_);
    }
    operator hid_t() const { return id_; }
    /// Where the caller must know whether it worked.
    herr_t close() { return close_(std::exchange(id_, -1)); }

  private:
    hid_t id_;
    herr_t (*close_)(hid_t);
};

void expect(herr_t result, const std::string& what) {
    if (result < 0) throw std::runtime_error("HDF5 cannot " + what);
}

void write_attribute(hid_t object, const char* name, hid_t type, std::vector<hsize_t> dims,
                     const void* data) {
    const Id space(dims.empty()
                       ? H5Screate(H5S_SCALAR)
                       : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
                   H5Sclose, "make a dataspace");
    const Id attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                       std::string("make attribute ") + name);
    expect(H5Awrite(attribute, type, data), std::string("write attribute ") + name);
}

void write_attribute(hid_t object, const char* name, const std::string& text) {
    const Id type(H5Tcopy(H5T_C_S1), H5Tclose, "copy a type");
    expect(H5Tset_size(type, text.size()), "set a string's size");
    write_attribute(object, name, type, {}, text.data());
}

void write_attribute(hid_t object, const char* name, double value) {
    write_attribute(object, name, H5T_NATIVE_DOUBLE, {}, &value);
}

/// Makes the groups on the way to an object.
Id link_list() {
    Id list(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "make a property list");
    expect(H5Pset_create_intermediate_group(list, 1), "make groups on the way");
    return list;
}

Id make_group(hid_t parent, const std::string& path) {
    return {H5Gcreate2(parent, path.c_str(), link_list(), H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
            "make group " + path};
}

Id open_group(hid_t parent, const std::string& path) {
    return {H5Gopen2(parent, path.c_str(), H5P_DEFAULT), H5Gclose, "open group " + path};
}

/// What a rank has of a dataset.
struct Part {
    std::vector<hsize_t> shape, offset, extent;
};

/// A filter's number and the client data that ask it for an absolute bound.
struct FilterCall {
    H5Z_filter_t id;
    std::vector<unsigned> cd_values;
};

FilterCall filter_call(const std::string& codec, double bound) {
    const auto bits = std::bit_cast<std::uint64_t>(bound);
    const auto high = static_cast<unsigned>(bits >> 32), low = static_cast<unsigned>(bits);
    if (codec == "sz3") return {32024, {0, high, low, 0, 0, 0, 0, 0, 0}};  // mode 0: absolute
    if (codec == "zfp") return {32013, {3, 0, low, high, 0, 0}};           // mode 3: accuracy
    if (codec == "zstd") return {32015, {3}};                              // level
    throw std::runtime_error("--codec " + codec +
                             " is not known to mode filter; use sz3, zfp or zstd");
}

class Hdf5Output : public Output {
  public:
    Hdf5Output(const Options& options, const Slab& slab, bool filtered)
        : options_(options),
          slab_(slab),
          filtered_(filtered),
          infos_(field_infos(options.cosmology, options.bound_scale)) {}

    void open() override {
        if (filtered_) require_filter();
        if (!options_.file_per_dump) create(options_.output);
    }

    void dump(const Fields& fields, const Particles& particles, std::uint64_t iteration,
              double time_s) override {
        if (options_.file_per_dump) create(options_.file_of(std::to_string(iteration)));
        write_iteration(fields, particles, iteration, time_s);
        if (options_.file_per_dump) close_file();
    }

    void close() override {
        if (!options_.file_per_dump) {
            // A code that wants its dump to be there after a crash must flush; so must a fair
            // baseline.
            expect(H5Fflush(*file_, H5F_SCOPE_GLOBAL), "flush " + options_.output);
            close_file();
            return;
        }
        // Whatever the library still has to do counts as output.
        expect(H5close(), "close itself");
    }

  private:
    void create(const std::string& path) {
        const Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make a property list");
        expect(H5Pset_fapl_mpio(access, slab_.comm(), MPI_INFO_NULL), "use MPI-IO");
        file_ = std::make_unique<Id>(
            H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose,
            "create " + path + ": check that its directory exists and is writable");
        write_attribute(*file_, "openPMD", "1.1.0");
        const unsigned extension = 0;
        write_attribute(*file_, "openPMDextension", H5T_NATIVE_UINT, {}, &extension);
        write_attribute(*file_, "basePath", "/data/%T/");
        write_attribute(*file_, "meshesPath", "meshes/");
        if (options_.write_particles) write_attribute(*file_, "particlesPath", "particles/");
        write_attribute(*file_, "iterationEncoding", "groupBased");
        write_attribute(*file_, "iterationFormat", "/data/%T/");
        write_attribute(*file_, "software", "caesura-cosmology");
        write_attribute(*file_, "cosmology_run", run_text(options_));
        make_group(*file_, "data");
    }

    void close_file() {
        const herr_t closed = file_->close();
        file_.reset();
        expect(closed, "close " + options_.output);
    }

    void write_iteration(const Fields& fields, const Particles& particles, std::uint64_t iteration,
                         double time_s) const {
        const Id group = make_group(*file_, "data/" + std::to_string(iteration));
        write_attribute(group, "time", time_s);
        write_attribute(group, "dt", 1.0);
        write_attribute(group, "timeUnitSI", 1.0);
        const Id meshes = make_group(group, "meshes");
        for (int field = 0; field < k_field_count; ++field)
            write_field(meshes, infos_[static_cast<std::size_t>(field)], fields[field].data());
        if (options_.write_particles) write_particles(group, particles);
    }

    void require_filter() const {
        if (options_.codec == "none") return;
        const FilterCall call = filter_call(options_.codec, 1.0);
        if (H5Zfilter_avail(call.id) <= 0)
            throw std::runtime_error("HDF5 does not find filter " + std::to_string(call.id) + " (" +
                                     options_.codec +
                                     "): set HDF5_PLUGIN_PATH to the directory of its plugin, e.g. "
                                     "that of the Python package hdf5plugin");
    }

    /// Filters in mode filter: the codec's where `bound` says how far it may go, or it knows no
    /// loss; else HDF5's own shuffle and deflate.
    Id creation_list(const std::vector<hsize_t>& chunk, double bound,
                     const std::string& name) const {
        Id list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make a property list");
        expect(H5Pset_fill_time(list, H5D_FILL_TIME_NEVER), "switch off fill values");
        if (!filtered_) return list;
        expect(H5Pset_chunk(list, static_cast<int>(chunk.size()), chunk.data()),
               "set the chunk shape");
        if (options_.codec == "none") return list;
        if (bound > 0.0 || options_.codec == "zstd") {
            const FilterCall call = filter_call(options_.codec, bound);
            expect(H5Pset_filter(list, call.id, H5Z_FLAG_MANDATORY, call.cd_values.size(),
                                 call.cd_values.data()),
                   "set filter " + options_.codec + " for " + name);
        } else {
            expect(H5Pset_shuffle(list), "set filter shuffle for " + name);
            expect(H5Pset_deflate(list, 1), "set filter deflate for " + name);
        }
        return list;
    }

    /// One dataset, of which each rank writes a box. Collective.
    Id write_box(hid_t group, const std::string& name, hid_t file_type, hid_t memory_type,
                 const Part& part, const Id& creation, const void* values) const {
        const auto rank = static_cast<int>(part.shape.size());
        const Id file_space(H5Screate_simple(rank, part.shape.data(), nullptr), H5Sclose,
                            "make a dataspace");
        const Id memory_space(H5Screate_simple(rank, part.extent.data(), nullptr), H5Sclose,
                              "make a dataspace");
        Id dataset(H5Dcreate2(group, name.c_str(), file_type, file_space, link_list(), creation,
                              H5P_DEFAULT),
                   H5Dclose, "create dataset " + name);
        expect(H5Sselect_hyperslab(file_space, H5S_SELECT_SET, part.offset.data(), nullptr,
                                   part.extent.data(), nullptr),
               "select this rank's part of " + name);
        const Id transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "make a property list");
        expect(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE), "write collectively");
        expect(H5Dwrite(dataset, memory_type, memory_space, file_space, transfer, values),
               "write " + name + " on rank " + std::to_string(slab_.rank()));
        return dataset;
    }

    void write_field(hid_t meshes, const FieldInfo& info, const float* values) const {
        const auto n = static_cast<hsize_t>(slab_.n());
        const hsize_t side = static_cast<hsize_t>(std::min(options_.chunk, slab_.n()));
        const std::vector<hsize_t> chunk = {std::min(side, static_cast<hsize_t>(slab_.planes(0))),
                                            side, side};
        const Part part{{n, n, n},
                        {static_cast<hsize_t>(slab_.lo()), 0, 0},
                        {static_cast<hsize_t>(slab_.planes()), n, n}};
        const Id creation = creation_list(chunk, info.bound, info.name);
        describe(
            write_box(meshes, info.name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, part, creation, values),
            info);
    }

    void write_particles(hid_t iteration, const Particles& particles) const {
        const Id species = make_group(iteration, std::string("particles/") + k_species);
        const Share share = share_of(particles, slab_);
        const Part part{{share.total}, {share.begin}, {share.count}};
        // As many values as a field's chunk has, but every rank is to have one.
        const auto side = static_cast<hsize_t>(options_.chunk);
        const auto ranks = static_cast<hsize_t>(slab_.size());
        const std::vector<hsize_t> chunk = {
            std::min(side * side * side, (share.total + ranks - 1) / ranks)};
        const Id of_floats = creation_list(chunk, options_.particle_bound, "particles");
        const auto infos = record_infos(options_);
        for (std::size_t i = 0; i < infos.size(); ++i) {
            const Id made = write_box(species, infos[i].name, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT,
                                      part, of_floats, particles.arrays[i].data());
            write_attribute(made, "unitSI", infos[i].unit_si);
        }
        const Id of_ids = creation_list(chunk, 0.0, "id");
        const Id id = write_box(species, "id", H5T_STD_U64LE, H5T_NATIVE_UINT64, part, of_ids,
                                particles.ids.data());
        write_attribute(id, "unitSI", 1.0);
        describe_record(id, {});
        describe_record(open_group(species, "position"), infos[0].unit_dimension);
        describe_record(open_group(species, "momentum"), infos[3].unit_dimension);
        describe_record(make_constant(species, "mass", particle_mass(options_), share.total), {});
        for (const char* const axis : {"x", "y", "z"})
            make_constant(species, std::string("positionOffset/") + axis, 0.0, share.total);
        describe_record(open_group(species, "positionOffset"), infos[0].unit_dimension);
    }

    /// A component that openPMD knows by its value.
    static Id make_constant(hid_t species, const std::string& name, double value,
                            std::uint64_t count) {
        Id group = make_group(species, name);
        write_attribute(group, "unitSI", 1.0);
        write_attribute(group, "value", value);
        write_attribute(group, "shape", H5T_NATIVE_UINT64, {1}, &count);
        return group;
    }

    static void describe_record(hid_t record, const std::array<double, 7>& unit_dimension) {
        const unsigned not_weighted = 0;
        write_attribute(record, "unitDimension", H5T_NATIVE_DOUBLE, {7}, unit_dimension.data());
        write_attribute(record, "timeOffset", 0.0);
        write_attribute(record, "macroWeighted", H5T_NATIVE_UINT, {}, &not_weighted);
        write_attribute(record, "weightingPower", 0.0);
    }

    void describe(hid_t dataset, const FieldInfo& info) const {
        write_attribute(dataset, "unitSI", info.unit_si);
        write_attribute(dataset, "unitDimension", H5T_NATIVE_DOUBLE, {7},
                        info.unit_dimension.data());
        write_attribute(dataset, "geometry", "cartesian");
        write_attribute(dataset, "dataOrder", "C");
        const char labels[3][2] = {"x", "y", "z"};  // axis 0 is the mini-app's x
        const Id type(H5Tcopy(H5T_C_S1), H5Tclose, "copy a type");
        expect(H5Tset_size(type, 2), "set a string's size");
        write_attribute(dataset, "axisLabels", type, {3}, labels);
        const double cell = options_.box_mpc / options_.grid;
        const double spacing[3] = {cell, cell, cell}, zeros[3] = {0, 0, 0};
        write_attribute(dataset, "gridSpacing", H5T_NATIVE_DOUBLE, {3}, spacing);
        write_attribute(dataset, "gridGlobalOffset", H5T_NATIVE_DOUBLE, {3}, zeros);
        write_attribute(dataset, "gridUnitSI", k_metres_per_mpc);
        write_attribute(dataset, "position", H5T_NATIVE_DOUBLE, {3}, zeros);
        write_attribute(dataset, "timeOffset", 0.0);
    }

    const Options options_;
    const Slab slab_;
    const bool filtered_;
    const std::array<FieldInfo, k_field_count> infos_;
    std::unique_ptr<Id> file_;
};

}  // namespace

std::unique_ptr<Output> make_hdf5_output(const Options& options, const Slab& slab, bool filtered) {
    return std::make_unique<Hdf5Output>(options, slab, filtered);
}

}  // namespace cosmology
