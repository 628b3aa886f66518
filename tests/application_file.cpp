#include "application_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "base/thread_communicator.hpp"
#include "stock_reader.hpp"
#include "store/committer.hpp"

namespace caesura::testing {
namespace {

using store::Handle;

using Extents = std::array<hsize_t, k_max_rank>;

Extents extents_of(const Shape& shape) {
    Extents out{};
    std::copy_n(shape.data(), shape.rank(), out.begin());
    return out;
}

void require(bool ok, const std::string& what) {
    if (!ok) throw std::runtime_error(store::hdf5_error(StatusCode::internal, what).message());
}
hid_t type_of(DType dtype) { return dtype == float32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE; }

}  // namespace

void require(const Status& status) {
    if (!status.ok()) throw std::runtime_error(status.message());
}

void run_application(
    int size,
    const std::function<void(std::unique_ptr<Communicator>, std::unique_ptr<Communicator>)>& body) {
    auto of_file = base::make_thread_communicators(size);
    base::run_ranks(size, [&](std::unique_ptr<Communicator> of_writer) {
        const int rank = of_writer->rank();
        try {
            body(std::move(of_file[static_cast<std::size_t>(rank)]), std::move(of_writer));
        } catch (const std::exception& error) {
            ADD_FAILURE() << "rank " << rank << ": " << error.what();
        }
    });
}

std::mutex& hdf5_lock() {
    static std::mutex lock;
    return lock;
}

ApplicationFile::ApplicationFile(base::FileSystem& files, const std::string& path,
                                 Communicator& comm, bool create)
    : rank_(comm.rank()) {
    (void)filter_available(0);  // our plugin's directory is on HDF5's path from here on
    const store::RunId run{std::byte{7}};
    const auto open_file = [&](bool creating) {
        auto opened = creating ? store::SharedFile::create(files, path, run)
                               : store::SharedFile::open(files, path, run);
        require(opened.status());
        shared_ = std::make_unique<store::SharedFile>(std::move(*opened));
    };
    if (rank_ == 0) open_file(create);
    require(comm.barrier());
    if (rank_ != 0) open_file(false);
    auto image = store::LiveImage::make(*shared_);
    require(image.status());
    image_ = std::move(*image);
    const std::scoped_lock lock(hdf5_lock());
    const Handle fcpl(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    require(store::LiveImage::prepare_creation(fcpl.get()));
    const Handle fapl(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    require(image_->set_driver(fapl.get()));
    file_ =
        Handle(image_->creating() ? H5Fcreate(path.c_str(), H5F_ACC_TRUNC, fcpl.get(), fapl.get())
                                  : H5Fopen(path.c_str(), H5F_ACC_RDWR, fapl.get()),
               H5Fclose);
    require(file_.ok(), path);
}

ApplicationFile::~ApplicationFile() { close(); }

void ApplicationFile::close() {
    const std::scoped_lock lock(hdf5_lock());
    datasets_.clear();
    file_.reset();
    ledger_.reset();
    image_.reset();
    shared_.reset();
}

void ApplicationFile::create_dataset(const writer::DatasetDefinition& dataset,
                                     const Shape& most_dims, std::span<const FilterSpec> pipeline) {
    const std::scoped_lock lock(hdf5_lock());
    const Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(links.get(), 1);
    const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(creation.get(), dataset.chunk.rank(), extents_of(dataset.chunk).data());
    H5Pset_fill_value(creation.get(), type_of(dataset.dtype), dataset.fill.data());
    H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_INCR);
    for (const FilterSpec& filter : pipeline)
        H5Pset_filter(creation.get(), static_cast<H5Z_filter_t>(filter.id),
                      filter.optional ? H5Z_FLAG_OPTIONAL : H5Z_FLAG_MANDATORY,
                      filter.cd_values.size(), filter.cd_values.data());
    const Handle space(H5Screate_simple(dataset.dims.rank(), extents_of(dataset.dims).data(),
                                        extents_of(most_dims).data()),
                       H5Sclose);
    Handle made(H5Dcreate2(file_.get(), dataset.path.c_str(), type_of(dataset.dtype), space.get(),
                           links.get(), creation.get(), H5P_DEFAULT),
                H5Dclose);
    require(made.ok(), dataset.path);
    datasets_[dataset.path] = std::move(made);
    changed_ = true;
}

void ApplicationFile::resize(const std::string& dataset, const Shape& dims) {
    const std::scoped_lock lock(hdf5_lock());
    require(H5Dset_extent(open(dataset), extents_of(dims).data()) >= 0, dataset);
    changed_ = true;
}

void ApplicationFile::attribute(const std::string& name, double value) {
    const std::scoped_lock lock(hdf5_lock());
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle attribute(H5Acreate2(file_.get(), name.c_str(), H5T_NATIVE_DOUBLE, space.get(),
                                      H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
    require(H5Awrite(attribute.get(), H5T_NATIVE_DOUBLE, &value) >= 0, name);
    changed_ = true;
}

hid_t ApplicationFile::open(const std::string& dataset) {
    Handle& handle = datasets_[dataset];
    if (!handle.ok())
        handle = Handle(H5Dopen2(file_.get(), dataset.c_str(), H5P_DEFAULT), H5Dclose);
    require(handle.ok(), dataset);
    return handle.get();
}

Result<bool> ApplicationFile::read(const std::string& dataset, const Box& part,
                                   std::span<std::byte> values) {
    const std::scoped_lock lock(hdf5_lock());
    const hid_t id = open(dataset);
    unsigned mask = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t bytes = 0;
    if (H5Dget_chunk_info_by_coord(id, extents_of(part.offset).data(), &mask, &address, &bytes) < 0)
        return store::hdf5_error(StatusCode::internal, dataset);
    if (address == HADDR_UNDEF) return false;
    const Handle type(H5Dget_type(id), H5Tclose), in_file(H5Dget_space(id), H5Sclose);
    H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, extents_of(part.offset).data(), nullptr,
                        extents_of(part.extent).data(), nullptr);
    const Handle in_memory(
        H5Screate_simple(part.extent.rank(), extents_of(part.extent).data(), nullptr), H5Sclose);
    if (H5Dread(id, type.get(), in_memory.get(), in_file.get(), H5P_DEFAULT, values.data()) < 0)
        return store::hdf5_error(StatusCode::internal, "reading " + dataset);
    return true;
}

Status ApplicationFile::place(const store::DatasetSpec& dataset, const store::ChunkRecord& record) {
    const Extents offset = extents_of(store::chunk_begin(dataset, record.chunk));
    const Status status =
        image_->place(record.address, record.bytes, [&](const void* buffer, std::size_t bytes) {
            return H5Dwrite_chunk(open(dataset.path), H5P_DEFAULT, record.filter_mask,
                                  offset.data(), bytes, buffer);
        });
    // HDF5 1.10 remembers a filter mask that it never set for the only chunk of a dataset, and may
    // read the chunk without its filters until the dataset is opened again; 1.14 does not.
    datasets_.erase(dataset.path);
    return status;
}

writer::TargetFile ApplicationFile::target(Communicator& comm, writer::Tree* tree) {
    writer::Tree& used = tree ? *tree : *this;
    ledger_ = std::make_unique<ledger::Ledger>(ledger::Ledger::Subject{*shared_, used, comm, false},
                                               image_->next_dump(), image_->end());
    return {*ledger_, used};
}

ledger::Tree::Built ApplicationFile::build(const Dumps& dumps, std::uint64_t file_end, bool trim) {
    const std::scoped_lock lock(hdf5_lock());
    ++builds_;
    std::vector<std::uint64_t> numbers;
    std::vector<store::ChunkRecord> sorted(dumps.records.begin(), dumps.records.end());
    std::sort(sorted.begin(), sorted.end(), store::record_order);
    for (const store::DumpManifest& dump : dumps.manifests) {
        numbers.push_back(dump.dump);
        for (const store::ChunkRecord& record : sorted)
            if (record.dump == dump.dump)
                if (Status s = place(dump.datasets[record.dataset], record); !s.ok()) return s;
    }
    if (H5Fflush(file_.get(), H5F_SCOPE_GLOBAL) < 0)
        return store::hdf5_error(StatusCode::internal, "H5Fflush");
    auto image = image_->commit(numbers, file_end, trim);
    if (!image.ok()) return image.status();
    changed_ = false;
    if (rank_ != 0) return std::optional<store::CommitImage>();
    return std::optional<store::CommitImage>(std::move(*image));
}

}  // namespace caesura::testing
