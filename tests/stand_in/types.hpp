// Random datatypes, and values for them.
#pragma once

#include "step.hpp"

namespace stand_in {

/// Where a datatype is to be used: that decides which ones HDF5 itself can take there.
enum class Use { dataset, attribute };

struct Type {
    hid_t id = H5I_INVALID_HID;  ///< owned by the step
    std::string code;            ///< C that names it
};

Type some_type(Step& step, Use use);
/// Of floats or integers.
Type some_number(Step& step);

/// In which a program might hold elements of `file_type`.
Type memory_type_of(Step& step, const Type& file_type);
/// Whether the type has values of variable length.
bool varies(hid_t type);
bool has_references(hid_t type);

/// Elements in memory. What varies is freed by it.
class Values {
  public:
    Values(hid_t type, std::size_t count);
    Values(const Values&) = delete;
    ~Values();

    /// Random ones; references are null.
    void fill(Draw draw, bool special);
    /// A pattern by which bytes that a call leaves alone are seen. Not of types that vary: null.
    void mark(unsigned char pattern);

    void* data() { return bytes_.data(); }
    const void* data() const { return bytes_.data(); }
    std::size_t count() const { return count_; }
    std::size_t size() const { return bytes_.size(); }
    hid_t type() const { return type_; }

  private:
    hid_t type_;
    std::size_t count_;
    std::vector<std::byte> bytes_;
    std::vector<std::unique_ptr<std::vector<std::byte>>> varying_;
    bool is_read_ = false;

    void fill_one(hid_t type, std::byte* at, Draw& draw, bool special, double base);
};

}  // namespace stand_in
