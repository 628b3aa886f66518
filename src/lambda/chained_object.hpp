// An object whose regions go through a chain of transforms: what each side needs to make a region's
// bytes, and to get its values back.
//
// Invariants:
//  - Bytes that say they went through other stages than the object's are refused: nobody can leave
//    out the encryption, and have what he likes taken for the object's.
//  - A chain with a stage that needs a key can be described and checked without it.
#pragma once

#include "lambda/chain.hpp"

namespace caesura::lambda {

/// Any thread.
class ChainedObject {
  public:
    /// @param functions  outlives it. @param by  without a key: see can_apply().
    /// @param object     name, id, type, shape and time are kept.
    /// Errors: invalid_argument (no transform, naming what there is; arguments; a transform that
    /// takes no values; a longer text than an object keeps).
    static Result<ChainedObject> make(const Registry& functions, std::string_view text,
                                      const Operator& by, const RegionView& object);
    /// What it is called where regions are bound to it.
    void set_id(std::uint64_t id) { id_ = id; }

    /// Complete, with every argument.
    const std::string& text() const { return text_; }
    std::uint64_t id() const { return id_; }
    const std::string& name() const { return name_; }
    DType dtype() const { return dtype_; }
    const Shape& shape() const { return shape_; }
    /// A stage needs the operator's key.
    bool is_keyed() const { return is_keyed_; }
    /// There is the key that it needs, if it needs one.
    bool can_apply() const { return chain_ != nullptr; }
    /// Errors: invalid_argument, naming object and box.
    Status validate(const Box& box) const { return validate_place(place(box)); }
    bool is_same_as(const ChainedObject& other) const;

    /// @param values  dense. Errors: those of Chain::apply(); invalid_argument (no key).
    Result<std::vector<std::byte>> apply(const Box& box, std::span<const std::byte> values) const;
    /// The values. @param bytes  anything.
    /// Errors: those of restore() and check(), naming object and region.
    Result<std::vector<std::byte>> undo(const Box& box, std::span<const std::byte> bytes) const;
    /// What can be said of the bytes without a key: their stages and lengths.
    /// Errors: corrupt, insufficient_data, unsupported, naming object and region.
    Status check(const Box& box, std::span<const std::byte> bytes) const;

  private:
    RegionView place(const Box& box) const;

    const Registry* functions_ = nullptr;
    Operator by_;
    std::string text_, name_;
    std::vector<std::string> stages_;
    bool is_keyed_ = false;
    std::shared_ptr<const Chain> chain_;  ///< null: there is no key
    std::uint64_t id_ = 0;
    DType dtype_ = float32;
    Shape shape_;
    double time_ = 0.0;
};

}  // namespace caesura::lambda
