// Attributes that the application, or we, have made, read natively.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/hdf5_handle.hpp"
#include "vol/native_dataset.hpp"

namespace caesura::vol {

/// One attribute of an object, or none. HDF5's error stack is the caller's to keep.
class NativeAttribute {
  public:
    /// @param path  of the object, from `through` on; ".": itself.
    NativeAttribute(const NativeObject& through, const char* path, const std::string& name);
    /// Cheaper than to look for one that is not there.
    static bool exists(const NativeObject& object, const char* name);
    /// One that is open already, and stays so.
    explicit NativeAttribute(void* under) : under_(under), is_ours_(false) {}
    ~NativeAttribute();
    NativeAttribute(const NativeAttribute&) = delete;
    NativeAttribute& operator=(const NativeAttribute&) = delete;
    std::string name() const;
    // Nothing if it is not there, of another type, or of more values.
    std::optional<std::int64_t> integer() const;
    std::optional<std::string> text() const;
    // Likewise, of any number of values; texts of a fixed length.
    std::optional<std::vector<double>> numbers() const;
    std::optional<std::vector<std::string>> texts() const;

  private:
    store::Handle type() const;
    bool is_one(H5T_class_t kind) const { return count_of(kind) == 1; }
    std::size_t count_of(H5T_class_t kind) const;
    bool get(H5VL_attr_get_args_t& args) const;
    bool read(hid_t type, void* value) const;
    void* under_ = nullptr;
    bool is_ours_ = true;
};

}  // namespace caesura::vol
