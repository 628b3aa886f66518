// A file for each dump, of plain parallel HDF5, as AMReX's writer of HDF5 plotfiles lays it out:
// rank 0 makes it alone with all that describes it; then all ranks open it and write, for each
// level, the boxes sorted by rank, where their values begin, and the values: box after box, in a
// box quantity after quantity, axis 0 running fastest. Nothing here knows of Caesura.

#include <hdf5.h>

#include <stdexcept>

#include "sink.hpp"

namespace blast {

namespace {

constexpr int k_axes = 3;
const char* const k_names[k_quantities] = {"density", "pressure"};

hid_t expect(hid_t id, const char* doing) {
    if (id < 0) throw std::runtime_error(std::string("plotfile: HDF5 refused: ") + doing);
    return id;
}

/// Closes what HDF5 has given.
class Handle {
  public:
    Handle(hid_t id, herr_t (*close)(hid_t), const char* doing)
        : id_(expect(id, doing)), close_(close) {}
    ~Handle() { close_(id_); }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    operator hid_t() const { return id_; }

  private:
    hid_t id_;
    herr_t (*close_)(hid_t);
};

void put_text(hid_t at, const std::string& name, const std::string& text) {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "a type");
    H5Tset_size(type, text.size() + 1);
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "a dataspace");
    const Handle made(H5Acreate2(at, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                      "making an attribute");
    expect(H5Awrite(made, type, text.c_str()), "writing an attribute");
}

template <class T>
void put_numbers(hid_t at, const char* name, hid_t type, const std::vector<T>& values) {
    const hsize_t n = values.size();
    const Handle space(H5Screate_simple(1, &n, nullptr), H5Sclose, "a dataspace");
    const Handle made(H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                      "making an attribute");
    expect(H5Awrite(made, type, values.data()), "writing an attribute");
}
void put(hid_t at, const char* name, const std::vector<int>& values) {
    put_numbers(at, name, H5T_NATIVE_INT, values);
}
void put(hid_t at, const char* name, const std::vector<double>& values) {
    put_numbers(at, name, H5T_NATIVE_DOUBLE, values);
}

struct Corners {
    int low[k_axes], high[k_axes];  ///< the last cells are inside
};

Corners corners_of(const Box& box) {
    Corners corners{};
    for (int a = 0; a < k_axes; ++a) {
        corners.low[a] = box.lo[static_cast<std::size_t>(a)];
        corners.high[a] = box.hi[static_cast<std::size_t>(a)] - 1;
    }
    return corners;
}

hid_t corners_type() {
    const char* const names[] = {"lo_i", "lo_j", "lo_k", "hi_i", "hi_j", "hi_k"};
    const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Corners));
    for (std::size_t i = 0; i < 2 * k_axes; ++i)
        H5Tinsert(type, names[i], i * sizeof(int), H5T_NATIVE_INT);
    return type;
}

hid_t centering_type() {
    const char* const names[] = {"i", "j", "k"};
    const hid_t type = H5Tcreate(H5T_COMPOUND, k_axes * sizeof(int));
    for (std::size_t i = 0; i < k_axes; ++i)
        H5Tinsert(type, names[i], i * sizeof(int), H5T_NATIVE_INT);
    return type;
}

std::string level_name(int number) { return "level_" + std::to_string(number); }

/// Boxes in the order in which they lie in the file: by rank.
struct Order {
    std::vector<std::size_t> boxes;      ///< their numbers in the level
    std::vector<std::int64_t> begin{0};  ///< of their values, and the end
    std::int64_t own_begin = 0, own_end = 0;
};

Order order_of(const Layout& layout, int rank, int ranks) {
    Order order;
    for (int r = 0; r < ranks; ++r) {
        if (r == rank) order.own_begin = order.begin.back();
        for (std::size_t b = 0; b < layout.boxes.size(); ++b) {
            if (layout.owners[b] != r) continue;
            order.boxes.push_back(b);
            order.begin.push_back(order.begin.back() + k_quantities * layout.boxes[b].cells());
        }
        if (r == rank) order.own_end = order.begin.back();
    }
    return order;
}

/// Axis 0 runs fastest.
void append_turned(const Box& box, const std::vector<float>& values, std::vector<float>& out) {
    const int nx = box.extent(0), ny = box.extent(1), nz = box.extent(2);
    for (int k = 0; k < nz; ++k)
        for (int j = 0; j < ny; ++j)
            for (int i = 0; i < nx; ++i)
                out.push_back(values[(static_cast<std::size_t>(i) * static_cast<std::size_t>(ny) +
                                      static_cast<std::size_t>(j)) *
                                         static_cast<std::size_t>(nz) +
                                     static_cast<std::size_t>(k)]);
}

class Plotfile final : public Sink {
  public:
    Plotfile(const Options& options, MPI_Comm comm) : comm_(comm), stem_(options.output) {
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &ranks_);
        if (stem_.size() > 3 && stem_.substr(stem_.size() - 3) == ".h5")
            stem_.resize(stem_.size() - 3);
    }
    void begin_step(int number) override { step_ = number; }
    void dump(const Hierarchy& hierarchy) override {
        std::string number = std::to_string(step_);
        number.insert(0, number.size() < 5 ? 5 - number.size() : 0, '0');
        const std::string path = stem_ + number + ".h5";
        if (rank_ == 0) describe(path, hierarchy);
        MPI_Barrier(comm_);
        const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "an access list");
        H5Pset_fapl_mpio(access, comm_, MPI_INFO_NULL);
        const Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access), H5Fclose, path.c_str());
        for (int l = 0; l < k_levels; ++l) write_level(file, l, hierarchy.level(l));
    }
    void end_step() override {}
    void close() override {}
    double stored_bytes() const override { return 0.0; }

  private:
    void describe(const std::string& path, const Hierarchy& hierarchy) const {
        const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                          H5Fclose, path.c_str());
        put_text(file, "version_name", "HyperCLaw-V1.1");
        put_text(file, "plotfile_type", "VanillaHDF5");
        put(file, "num_components", std::vector<int>{k_quantities});
        for (int c = 0; c < k_quantities; ++c)
            put_text(file, "component_" + std::to_string(c), k_names[c]);
        put(file, "dim", std::vector<int>{k_axes});
        put(file, "time", std::vector<double>{hierarchy.time()});
        put(file, "finest_level", std::vector<int>{k_levels - 1});
        put(file, "coordinate_system", std::vector<int>{0});
        put(file, "num_levels", std::vector<int>{k_levels});
        const Handle global(
            H5Gcreate2(file, "Chombo_global", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose,
            "making a group");
        put(global, "SpaceDim", std::vector<int>{k_axes});
        for (int l = 0; l < k_levels; ++l) describe_level(file, l, hierarchy);
    }

    void describe_level(hid_t file, int number, const Hierarchy& hierarchy) const {
        const Handle group(
            H5Gcreate2(file, level_name(number).c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
            H5Gclose, "making a group");
        const double h = hierarchy.spacing(number);
        put(group, "ref_ratio", std::vector<int>{number == k_levels - 1 ? 1 : k_ratio});
        put(group, "Vec_dx", std::vector<double>(k_axes, h));
        put(group, "dx", std::vector<double>{h});
        put(group, "prob_lo", std::vector<double>(k_axes, 0.0));
        put(group, "prob_hi", std::vector<double>(k_axes, 1.0));
        const Handle type(corners_type(), H5Tclose, "a type");
        const Handle scalar(H5Screate(H5S_SCALAR), H5Sclose, "a dataspace");
        const Handle domain(
            H5Acreate2(group, "prob_domain", type, scalar, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
            "making an attribute");
        const Corners corners = corners_of(hierarchy.domain(number));
        expect(H5Awrite(domain, type, &corners), "writing an attribute");
        put(group, "domain_type", std::vector<int>(k_axes, 0));
        put(group, "steps", std::vector<int>{step_});
        put(group, "ngrid",
            std::vector<int>{static_cast<int>(hierarchy.level(number).layout.boxes.size())});
        put(group, "time", std::vector<double>{hierarchy.time()});
        put(group, "ngrow", std::vector<int>{0});
    }

    /// All ranks make it, rank 0 writes it.
    void write_by_rank_0(hid_t group, const char* name, hid_t type, hsize_t n,
                         const void* values) const {
        const Handle space(H5Screate_simple(1, &n, nullptr), H5Sclose, "a dataspace");
        const Handle made(
            H5Dcreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose,
            name);
        if (rank_ == 0) expect(H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), name);
    }

    void write_level(hid_t file, int number, const Level& level) const {
        const Handle group(H5Gopen2(file, level_name(number).c_str(), H5P_DEFAULT), H5Gclose,
                           "opening a group");
        const Order order = order_of(level.layout, rank_, ranks_);
        std::vector<Corners> corners;
        for (const std::size_t b : order.boxes)
            corners.push_back(corners_of(level.layout.boxes[b]));
        const std::vector<int> centering(k_axes * corners.size(), 0);
        const Handle boxes(corners_type(), H5Tclose, "a type");
        const Handle centers(centering_type(), H5Tclose, "a type");
        write_by_rank_0(group, "boxes", boxes, corners.size(), corners.data());
        write_by_rank_0(group, "data:offsets=0", H5T_NATIVE_LLONG, order.begin.size(),
                        order.begin.data());
        write_by_rank_0(group, "boxcenter", centers, corners.size(), centering.data());
        write_values(group, order, level);
    }

    void write_values(hid_t group, const Order& order, const Level& level) const {
        std::vector<float> values;
        for (const std::size_t b : order.boxes)
            for (int q = 0; q < k_quantities && level.layout.owners[b] == rank_; ++q)
                append_turned(level.layout.boxes[b],
                              values_of(level.patches[b], level.layout.boxes[b], q), values);
        const auto all = static_cast<hsize_t>(order.begin.back());
        const auto begin = static_cast<hsize_t>(order.own_begin);
        const auto count = static_cast<hsize_t>(order.own_end - order.own_begin);
        const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "a creation list");
        H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
        const Handle space(H5Screate_simple(1, &all, nullptr), H5Sclose, "a dataspace");
        const Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose, "a dataspace");
        const Handle made(H5Dcreate2(group, "data:datatype=0", H5T_NATIVE_FLOAT, space, H5P_DEFAULT,
                                     creation, H5P_DEFAULT),
                          H5Dclose, "making data:datatype=0");
        if (count == 0)
            H5Sselect_none(space);
        else
            H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, nullptr, &count, nullptr);
        const Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "a transfer list");
        H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
        expect(H5Dwrite(made, H5T_NATIVE_FLOAT, memory, space, transfer, values.data()),
               "writing data:datatype=0");
    }

    MPI_Comm comm_;
    std::string stem_;
    int rank_ = 0, ranks_ = 1, step_ = 0;
};

}  // namespace

std::unique_ptr<Sink> make_sink(const Options& options, const Hierarchy&, MPI_Comm comm) {
    if (!(options.codec == Options{}.codec) || options.bound != Options{}.bound)
        throw std::invalid_argument("--codec and --bound are of the program that calls Caesura");
    return std::make_unique<Plotfile>(options, comm);
}

std::string sink_text() {
    return "Writes plotfiles in AMReX's layout by plain parallel HDF5: FILE less '.h5', the step "
           "in\n"
           "five digits, '.h5'.\n";
}

}  // namespace blast
