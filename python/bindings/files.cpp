// Looking at files: list, check checksums, recover.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "attributes.hpp"
#include "bindings.hpp"
#include "caesura/store.hpp"
#include "hdf5/library.hpp"
#include "store/list_regions.hpp"
#include "store/recover.hpp"

namespace caesura::python {

namespace {

nb::dict to_python(const store::DatasetInfo& dataset) {
    nb::dict out;
    out["path"] = dataset.spec.path;
    out["dtype"] = std::string(to_string(dataset.spec.dtype));
    out["members"] = nb::cast(dataset.members);
    out["shape"] = shape_to_python(dataset.spec.shape);
    out["chunk"] = shape_to_python(dataset.spec.chunk);
    nb::list pipeline;
    for (const auto& filter : dataset.spec.pipeline) pipeline.append(filter_to_python(filter));
    out["pipeline"] = pipeline;
    out["attributes"] = attributes_to_python(dataset.spec.attributes);
    out["iteration"] = dataset.iteration;
    out["raw_bytes"] = dataset.raw_bytes;
    out["stored_bytes"] = dataset.stored_bytes;
    nb::list chunks;
    for (const auto& chunk : dataset.chunks) {
        nb::dict item;
        item["chunk"] = chunk.chunk;
        item["address"] = chunk.address;
        item["bytes"] = chunk.bytes;
        item["filter_mask"] = chunk.filter_mask;
        item["has_checksum"] = chunk.checksum != 0;
        chunks.append(item);
    }
    out["chunks"] = chunks;
    return out;
}

/// A file opened for reading, with its list of datasets: keeps what read_chunk needs.
class OpenFile {
  public:
    /// @param lock  refuse a file that somebody else has for himself, and keep others from it while
    ///              it is read.
    OpenFile(const std::string& path, bool lock) {
        Result<store::FileInfo> info = Status();
        Result<std::shared_ptr<base::File>> file = Status();
        {
            nb::gil_scoped_release release;
            file = store::open_for_reading(path);
            if (file.ok()) info = lock ? store::read_info(path) : store::read_info(**file, path);
        }
        file_ = value_or_raise(std::move(file));
        info_ = value_or_raise(std::move(info));
    }

    nb::dict info() const {
        nb::dict out;
        out["path"] = info_.path;
        out["file_bytes"] = info_.file_bytes;
        out["allocated_bytes"] = info_.allocated_bytes;
        out["metadata_bytes"] = info_.metadata_bytes;
        out["unused_bytes"] = info_.unused_bytes;
        out["needs_recover"] = info_.needs_recover;
        out["root"] = attributes_to_python(info_.root);
        nb::list datasets;
        for (const auto& dataset : info_.datasets) datasets.append(to_python(dataset));
        out["datasets"] = datasets;
        return out;
    }

    nb::bytes read_chunk(std::size_t dataset, std::size_t chunk) const {
        if (dataset >= info_.datasets.size() || chunk >= info_.datasets[dataset].chunks.size())
            raise_if_error({StatusCode::invalid_argument,
                            info_.path + ": there is no chunk " + std::to_string(chunk) +
                                " of dataset " + std::to_string(dataset)});
        Result<std::vector<std::byte>> stored = Status();
        {
            nb::gil_scoped_release release;
            const auto& info = info_.datasets[dataset];
            stored = store::read_chunk(*file_, info, info.chunks[chunk]);
        }
        const auto bytes = value_or_raise(std::move(stored));
        return nb::bytes(bytes.data(), bytes.size());
    }

  private:
    friend nb::list regions_of(const OpenFile& open);
    friend nb::list written_in(const OpenFile& open);
    store::FileInfo info_;
    std::shared_ptr<base::File> file_;
};

nb::list regions_of(const OpenFile& open) {
    Result<std::vector<store::RegionUse>> uses = Status();
    {
        nb::gil_scoped_release release;
        uses = store::list_regions(*open.file_, open.info_.path);
    }
    nb::list out;
    for (const store::RegionUse& use : value_or_raise(std::move(uses))) {
        nb::dict one;
        one["rank"] = use.rank;
        one["dump"] = use.dump;
        one["iteration"] = use.iteration;
        one["committed"] = use.committed;
        one["address"] = use.address;
        one["bytes"] = use.bytes;
        one["blocks"] = use.blocks;
        one["stored_bytes"] = use.stored_bytes;
        out.append(one);
    }
    return out;
}

nb::list written_in(const OpenFile& open) {
    Result<std::vector<store::WrittenBlocks>> written = Status();
    {
        nb::gil_scoped_release release;
        written = store::list_written(*open.file_, open.info_.path);
    }
    nb::list out;
    for (const store::WrittenBlocks& blocks : value_or_raise(std::move(written))) {
        nb::dict one;
        one["path"] = blocks.path;
        one["header"] = blocks.header;
        one["shape"] = shape_to_python(blocks.shape);
        one["chunk"] = shape_to_python(blocks.chunk);
        one["chunks"] = nb::cast(blocks.chunks);
        out.append(one);
    }
    return out;
}

nb::dict recover(const std::string& path, bool dry_run) {
    Result<store::RecoverReport> result = Status();
    {
        nb::gil_scoped_release release;
        result = store::recover(path, dry_run);
    }
    const auto report = value_or_raise(std::move(result));
    nb::dict out;
    out["was_clean"] = report.was_clean;
    out["journal_replayed"] = report.journal_replayed;
    out["journal_dropped"] = report.journal_dropped;
    out["committed_dumps"] = report.committed_dumps;
    out["finished_iterations"] = nb::cast(report.finished_iterations);
    nb::list dropped;
    for (const auto& dump : report.dropped) {
        nb::dict item;
        item["dump"] = dump.dump;
        item["iteration"] = dump.iteration;
        item["blocks_found"] = dump.blocks_found;
        item["blocks_expected"] = dump.blocks_expected;
        item["of_application"] = dump.tree == store::TreeOwner::application;
        nb::list lacking;
        for (const auto& lack : dump.lacking) {
            nb::dict one;
            one["dataset"] = lack.dataset;
            one["blocks"] = lack.blocks;
            lacking.append(one);
        }
        item["lacking"] = lacking;
        dropped.append(item);
    }
    out["dropped"] = dropped;
    return out;
}

}  // namespace

void bind_files(nb::module_& module) {
    nb::class_<OpenFile>(module, "OpenFile")
        .def(nb::init<const std::string&, bool>(), nb::arg("path"), nb::arg("lock") = true)
        .def("info", &OpenFile::info)
        .def("regions", &regions_of, "What was reserved in the file, and what lies there.")
        .def("written", &written_in, "Which blocks the regions say were written, by dump.")
        .def("read_chunk", &OpenFile::read_chunk, nb::arg("dataset"), nb::arg("chunk"),
             "The chunk's stored bytes, checked against its checksum.");
    module.def("recover", &recover, nb::arg("path"), nb::arg("dry_run") = false);
    module.def("hdf5_version", [] {
        const auto version = hdf5::library_version();
        return nb::make_tuple(version[0], version[1], version[2]);
    });
    module.def("hdf5_filter_available", &hdf5::filter_available, nb::arg("id"));
}

}  // namespace caesura::python
