// The steps of an ADIOS2 program as dumps of a Writer: variables become fields, single values and
// attributes become attributes. Knows no ADIOS2.
//
// Invariants:
//  - ADIOS2 lets a rank define and put what it likes, in any order; a Writer wants fields alike on
//    all ranks. So what is new on some rank (a variable, another shape, an attribute) is agreed on
//    in end(), by one exchange; until then its values are held, as a copy where they may change.
//    What is known on all ranks goes to the Writer at once.
//  - After an error on one rank end() returns one on all.
#pragma once

#include <variant>

#include "adios2/settings.hpp"
#include "base/wire.hpp"

namespace caesura::adios {

/// A box of a variable, as a rank puts it.
struct Part {
    std::string variable;
    DType dtype = float32;
    Shape shape;  ///< of the whole
    Box box;
};

class Steps {
  public:
    /// Collective. @param append  go on with the file. @param exchange  another communicator of
    /// the same ranks as the Writer's.
    static Result<std::unique_ptr<Steps>> open(Settings settings, bool append,
                                               std::unique_ptr<Communicator> ranks,
                                               std::unique_ptr<Communicator> exchange);

    /// Of the next step, or of the one that is going on.
    std::uint64_t number() const { return number_; }
    bool in_step() const { return dump_.has_value(); }
    Status begin();
    /// @param stays  the values do not change until keep() or end().
    Status put(const Part& part, const void* values, bool stays);
    /// Values that were put and may change from now on are copied.
    void keep();
    /// A single value of this step: of several ranks' the lowest one's counts.
    Status put_value(const std::string& name, store::AttributeValue value);
    /// An attribute, as often as one likes; its first value stays. @param variable  empty: of the
    /// file, or, once that has a step, of the step in which it comes.
    void set_attribute(const std::string& variable, const std::string& name,
                       store::AttributeValue value);
    /// Collective.
    Status end();
    Status close();

    int rank() const { return exchange_->rank(); }
    int size() const { return exchange_->size(); }

  private:
    struct Known {
        Field field;
        DType dtype;
        Shape shape;
    };
    struct Held {
        Part part;
        const std::byte* values;  ///< the program's, or in `copy`
        std::vector<std::byte> copy;
    };
    /// What of this rank's is new, as it goes to the others.
    struct News {
        std::map<std::string, Known> variables;
        std::map<std::string, store::AttributeValue> values;
        std::map<std::pair<std::string, std::string>, store::AttributeValue> attributes;
        std::string error;
    };

    Steps(Settings settings, std::unique_ptr<Writer> writer, std::unique_ptr<Communicator> exchange)
        : settings_(std::move(settings)),
          writer_(std::move(writer)),
          exchange_(std::move(exchange)) {}

    static base::Packer pack(const News& news);
    static bool unpack(std::span<const std::byte> bytes, News& news);
    Result<News> agree();
    Status define(const std::map<std::string, Known>& variables);
    Status define(const std::string& variable, const Known& asked);
    Status attach(const News& news);
    Status hand_over();
    Status remember(Status status);

    Settings settings_;
    std::unique_ptr<Writer> writer_;
    std::unique_ptr<Communicator> exchange_;
    std::uint64_t number_ = 0;
    bool first_ = true;
    std::map<std::string, Known> known_;
    std::optional<Iteration> iteration_;
    std::optional<Dump> dump_;
    std::vector<Held> held_;
    News news_;
    std::map<std::pair<std::string, std::string>, bool> said_;  ///< attributes
};

/// Where a variable lies in the file: a Writer allows one '/' and letters, digits, '_', '-', '.'.
/// "/data/fields/E/x" is "data.fields.E/x"; other characters become '_'.
std::string field_name(const std::string& variable);

}  // namespace caesura::adios
