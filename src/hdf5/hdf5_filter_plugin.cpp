#include "hdf5/hdf5_filter_plugin.hpp"

#include <H5PLextern.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <hdf5.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>

#include "hdf5/plugin_loader.hpp"

namespace caesura::hdf5 {
namespace {

hid_t native_type(DType dtype) {
    switch (dtype) {
        case DType::float32:
            return H5T_NATIVE_FLOAT;
        case DType::float64:
            return H5T_NATIVE_DOUBLE;
        case DType::int8:
            return H5T_NATIVE_INT8;
        case DType::int16:
            return H5T_NATIVE_INT16;
        case DType::int32:
            return H5T_NATIVE_INT32;
        case DType::int64:
            return H5T_NATIVE_INT64;
        case DType::uint8:
            return H5T_NATIVE_UINT8;
        case DType::uint16:
            return H5T_NATIVE_UINT16;
        case DType::uint32:
            return H5T_NATIVE_UINT32;
        case DType::uint64:
            return H5T_NATIVE_UINT64;
        case DType::boolean:
            return H5T_NATIVE_UINT8;
        case DType::float16:
        case DType::bfloat16:  // to a filter that knows neither
            return H5T_NATIVE_UINT16;
        case DType::complex64:
        case DType::complex128:
            break;
    }
    return H5I_INVALID_HID;
}

/// Closes an HDF5 id of any kind at the end of a scope.
class ScopedId {
  public:
    ScopedId(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
    ScopedId(const ScopedId&) = delete;
    ScopedId& operator=(const ScopedId&) = delete;
    ~ScopedId() {
        if (id_ >= 0) close_(id_);
    }
    operator hid_t() const { return id_; }

  private:
    hid_t id_;
    herr_t (*close_)(hid_t);
};

/// The library says nothing on stderr: HDF5's automatic error print is off inside this scope.
class QuietHdf5 {
  public:
    QuietHdf5() {
        H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    }
    QuietHdf5(const QuietHdf5&) = delete;
    QuietHdf5& operator=(const QuietHdf5&) = delete;
    ~QuietHdf5() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

  private:
    H5E_auto2_t function_ = nullptr;
    void* data_ = nullptr;
};

void add_directories(const char* list, std::vector<std::string>& directories) {
    for (std::string_view rest = list ? list : ""; !rest.empty();) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        const std::string directory(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (directory.empty()) continue;
        if (std::find(directories.begin(), directories.end(), directory) == directories.end()) {
            directories.push_back(directory);
        }
    }
}

/// HDF5 reads HDF5_PLUGIN_PATH once, when it starts; we read it again, because a Python program
/// sets it later. What an application added with H5PLappend is in HDF5's own list.
std::vector<std::string> search_directories() {
    std::vector<std::string> directories;
    add_directories(std::getenv("HDF5_PLUGIN_PATH"), directories);
    unsigned count = 0;
    if (H5PLsize(&count) < 0) count = 0;
    for (unsigned i = 0; i < count; ++i) {
        const ssize_t length = H5PLget(i, nullptr, 0);
        if (length <= 0) continue;
        std::string directory(static_cast<std::size_t>(length), '\0');
        H5PLget(i, directory.data(), directory.size() + 1);
        add_directories(directory.c_str(), directories);
    }
    add_directories(std::getenv("CAESURA_PLUGIN_PATH"), directories);
    return directories;
}

/// Shared libraries of a directory; those whose name has `hint` in it first, so that usually one
/// file is opened and not twelve.
std::vector<std::string> libraries_in(const std::string& directory, const std::string& hint) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
        const std::string path = entry.path().string();
        if (path.find(".so") != std::string::npos && entry.is_regular_file(error)) {
            paths.push_back(path);
        }
    }
    std::sort(paths.begin(), paths.end());
    std::stable_partition(paths.begin(), paths.end(), [&](const std::string& path) {
        return std::filesystem::path(path).filename().string().find(hint) != std::string::npos;
    });
    return paths;
}

/// The filter class a loaded library offers; null if it is not a filter plugin.
const H5Z_class2_t* filter_class_of(void* library) {
    const auto type = reinterpret_cast<H5PL_type_t (*)()>(dlsym(library, "H5PLget_plugin_type"));
    const auto info = reinterpret_cast<const void* (*)()>(dlsym(library, "H5PLget_plugin_info"));
    if (!type || !info || type() != H5PL_TYPE_FILTER) return nullptr;
    const auto* filter_class = static_cast<const H5Z_class2_t*>(info());
    const bool usable = filter_class && filter_class->version == H5Z_CLASS_T_VERS &&
                        filter_class->filter && filter_class->encoder_present &&
                        filter_class->decoder_present;
    return usable ? filter_class : nullptr;
}

}  // namespace

FilterBuffer::FilterBuffer(std::size_t bytes)
    : data_(std::malloc(std::max<std::size_t>(bytes, 1))), size_(bytes) {
    if (!data_) throw std::bad_alloc();
}

FilterBuffer::FilterBuffer(std::span<const std::byte> bytes)
    : data_(std::malloc(std::max<std::size_t>(bytes.size(), 1))), size_(bytes.size()) {
    if (!data_) throw std::bad_alloc();
    std::memcpy(data_.get(), bytes.data(), bytes.size());
}

/// What one process knows about plugins. Writers, Readers and an application's datasets ask for
/// them on threads of their own; set-up only, so no worker ever waits.
struct PluginScan {
    std::mutex mutex;
    std::map<std::string, unsigned> id_of_path;  ///< 0: looked at, not a usable filter
    std::map<unsigned, std::unique_ptr<FilterPlugin>> loaded;
    std::vector<std::string> complaints;  ///< why files with a fitting name were not usable

    static PluginScan& instance() {
        static auto* scan = new PluginScan;  // never destroyed: codecs point into it
        return *scan;
    }

    unsigned id_of(const std::string& path) {
        if (const auto known = id_of_path.find(path); known != id_of_path.end()) {
            return known->second;
        }
        unsigned id = 0;
        if (Result<void*> library = peek_plugin(path); library.ok()) {
            if (const auto* filter_class = filter_class_of(*library)) {
                id = static_cast<unsigned>(filter_class->id);
            }
        } else {
            complaints.push_back(library.status().message());
        }
        id_of_path[path] = id;
        return id;
    }

    Result<const FilterPlugin*> load(const std::string& path, unsigned id) {
        Result<void*> library = load_plugin(path);
        if (!library.ok()) return library.status();
        const H5Z_class2_t* filter_class = filter_class_of(*library);
        if (!filter_class || static_cast<unsigned>(filter_class->id) != id) {
            return Status(StatusCode::unsupported,
                          fmt::format("plugin {} changed on disk while it was loaded", path));
        }
        auto plugin = std::make_unique<FilterPlugin>();
        plugin->id_ = id;
        plugin->name_ = filter_class->name ? filter_class->name : "";
        plugin->path_ = path;
        plugin->filter_class_ = filter_class;
        return (loaded[id] = std::move(plugin)).get();
    }
};

Result<const FilterPlugin*> FilterPlugin::find(unsigned id, const std::string& codec_name) {
    PluginScan& scan = PluginScan::instance();
    const std::lock_guard lock(scan.mutex);
    if (const auto known = scan.loaded.find(id); known != scan.loaded.end()) {
        return known->second.get();
    }
    const QuietHdf5 quiet;
    scan.complaints.clear();
    const std::vector<std::string> directories = search_directories();
    for (const std::string& directory : directories) {
        for (const std::string& path : libraries_in(directory, codec_name)) {
            if (scan.id_of(path) == id) return scan.load(path, id);
        }
    }
    std::string message = fmt::format(
        "codec \"{}\" needs the plugin of HDF5 filter {}, which is in none of: {}. Do: pip install "
        "hdf5plugin, and set HDF5_PLUGIN_PATH=$(python -c 'import hdf5plugin; "
        "print(hdf5plugin.PLUGINS_PATH)'), or CAESURA_PLUGIN_PATH to the same for this library "
        "alone",
        codec_name, id, fmt::join(directories, ", "));
    if (!scan.complaints.empty()) {
        message += fmt::format(" (not loadable: {})", fmt::join(scan.complaints, "; "));
    }
    return Status(StatusCode::unsupported, std::move(message));
}

Result<std::vector<unsigned>> FilterPlugin::final_cd_values(std::span<const unsigned> user,
                                                            DType dtype, const Shape& chunk) const {
    // HDF5 calls set_local while it creates a dataset, with a copy of the creation list, the type
    // and the chunk's space. We make the same call ourselves: no scratch file, and no need for
    // HDF5 to have found or registered the filter.
    const auto* filter_class = static_cast<const H5Z_class2_t*>(filter_class_);
    const QuietHdf5 quiet;
    std::vector<hsize_t> dims(chunk.data(), chunk.data() + chunk.rank());
    const ScopedId list(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const ScopedId space(H5Screate_simple(chunk.rank(), dims.data(), nullptr), H5Sclose);
    const ScopedId type(H5Tcopy(native_type(dtype)), H5Tclose);
    const auto filter = static_cast<H5Z_filter_t>(id_);
    if (list < 0 || space < 0 || type < 0 || H5Pset_chunk(list, chunk.rank(), dims.data()) < 0 ||
        H5Pset_filter(list, filter, H5Z_FLAG_OPTIONAL, user.size(), user.data()) < 0) {
        return Status(StatusCode::internal,
                      fmt::format("HDF5 refuses a creation list for filter {} and chunk {}", id_,
                                  to_string(chunk)));
    }
    if ((filter_class->can_apply && filter_class->can_apply(list, type, space) <= 0) ||
        (filter_class->set_local && filter_class->set_local(list, type, space) < 0)) {
        return Status(
            StatusCode::unsupported,
            fmt::format("HDF5 filter {} ({}) refuses {} chunks of {} with cd_values [{}]", id_,
                        path_, to_string(dtype), to_string(chunk), fmt::join(user, ", ")));
    }
    unsigned flags = 0;
    std::size_t count = 0;
    if (H5Pget_filter_by_id2(list, filter, &flags, &count, nullptr, 0, nullptr, nullptr) < 0) {
        return Status(StatusCode::internal, fmt::format("HDF5 lost filter {} of its list", id_));
    }
    std::vector<unsigned> final_values(count);
    if (H5Pget_filter_by_id2(list, filter, &flags, &count, final_values.data(), 0, nullptr,
                             nullptr) < 0) {
        return Status(StatusCode::internal, fmt::format("HDF5 lost filter {} of its list", id_));
    }
    return final_values;
}

bool FilterPlugin::apply(Direction direction, std::span<const unsigned> cd_values,
                         FilterBuffer& buffer) const {
    const auto* filter_class = static_cast<const H5Z_class2_t*>(filter_class_);
    const unsigned flags =
        H5Z_FLAG_OPTIONAL | (direction == Direction::decode ? H5Z_FLAG_REVERSE : 0u);
    void* data = buffer.data_.release();
    std::size_t capacity = buffer.size_;
    std::size_t produced = 0;
    bool out_of_memory = false;
    try {
        produced = filter_class->filter(flags, cd_values.size(), cd_values.data(), buffer.size_,
                                        &capacity, &data);
    } catch (const std::bad_alloc&) {
        out_of_memory = true;
    } catch (...) {  // a C++ plugin's exception crosses its C interface: count it as a failure
        produced = 0;
    }
    buffer.data_.reset(data);
    // HDF5 goes by the returned size alone; Zstd does not even set `capacity` when it decodes, and
    // returns a library error code, a huge number, for a broken stream: callers check the size.
    buffer.size_ = produced;
    if (out_of_memory) throw std::bad_alloc();
    return produced != 0;
}

}  // namespace caesura::hdf5
