// The steps of an ADIOS2 program as dumps of a Writer: variables become fields, single values and
// attributes become attributes. Knows no ADIOS2.
//
// Invariants:
//  - ADIOS2 lets a rank define and put what it likes, in any order; a Writer wants fields alike on
//    all ranks. So what is new on some rank (a variable, another shape, an attribute) is agreed on
//    in end(), by one exchange; until then a copy of its values is held.
//    What is known on all ranks goes to the Writer at once, unless dumps begin late: then all is
//    held, as number and time of the dump are known in end() only.
//  - A step in which no rank puts anything is no dump; what else it has said, the next one says.
//  - After an error on one rank end() returns one on all.
#pragma once

#include <array>
#include <optional>
#include <tuple>
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
    /// The values lie in a larger array: its extent, and where in it they begin.
    std::optional<Box> within = {};
    /// Not empty: particles, of one axis, and the variable is "<species>/<record>". The boxes of
    /// all ranks follow each other.
    std::string species = {};
    std::optional<double> constant = {};  ///< all values, of which one is put
};

/// What an attribute belongs to; "variable" may also be none, and then means file or step. A
/// "record" is that, or a component.
enum class Of : std::uint8_t { variable, iteration, meshes, record, species };

/// Of a dump that begins late.
struct When {
    std::uint64_t number = 0;
    double time = 0.0, dt = 1.0, unit_si = 1.0;
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
    bool in_step() const { return in_step_; }
    Status begin();
    /// From now on a dump begins in end(), as say_when() says there, attributes that change are set
    /// anew, and of several shapes of a variable in one step the largest counts.
    void begin_late() { late_ = true; }
    void say_when(const When& when) { news_.when = when; }
    /// Of all particles of a species. @param name  "<species>/<record>".
    void say_constant(const std::string& name, double value) { news_.constants[name] = value; }
    /// The values may change from then on: ADIOS2 does not tell a plugin of PerformDataWrite(),
    /// after which a program may reuse what it has put deferred.
    Status put(const Part& part, const void* values);
    /// An error of this rank is one of end(), on all ranks.
    Status refuse(std::string message);
    /// A single value of this step: of several ranks' the lowest one's counts.
    Status put_value(const std::string& name, store::AttributeValue value);
    /// An attribute, as often as one likes; its first value stays. @param variable  empty: of the
    /// file, or, once that has a step, of the step in which it comes.
    void set_attribute(const std::string& variable, const std::string& name,
                       store::AttributeValue value) {
        set_attribute(Of::variable, variable, name, std::move(value));
    }
    void set_attribute(Of of, const std::string& object, const std::string& name,
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
        std::string species = {};
        std::optional<double> constant = {};
    };
    using Key = std::tuple<Of, std::string, std::string>;
    struct Held {
        Part part;
        std::vector<std::byte> values;
    };
    /// What of this rank's is new, as it goes to the others.
    struct News {
        std::map<std::string, Known> variables;
        std::map<std::string, store::AttributeValue> values;
        std::map<Key, store::AttributeValue> attributes;
        std::map<std::string, double> constants;
        std::map<std::string, std::array<std::uint64_t, 2>> shares;  ///< of particles: begin, count
        std::optional<When> when;
        bool any = false, puts = false;  ///< values; such that are no constant
        std::string error;
    };

    Steps(Settings settings, std::unique_ptr<Writer> writer, std::unique_ptr<Communicator> exchange)
        : settings_(std::move(settings)),
          writer_(std::move(writer)),
          exchange_(std::move(exchange)) {}

    static base::Packer pack(const News& news);
    static bool unpack(std::span<const std::byte> bytes, News& news);
    Result<News> agree(const News& mine);
    Status merge(News& agreed, News&& theirs, int rank, std::map<std::string, int>& said_by) const;
    Status define(const News& news);
    Status define(const std::string& variable, const Known& asked, const News& news);
    Result<Species> species_of(const std::string& name);
    Status attach(const News& news);
    Status attach(const Key& key, const store::AttributeValue& value);
    void begin_iteration(std::uint64_t number);
    Dump& dump();
    void keep(News news);
    Status prepare(const News& news, std::optional<When>& when);
    void note_shares();
    Status check_shares(const News& news) const;
    Status hand_over();
    Status put_into(Field field, const Part& part, const void* values);
    Status remember(Status status);

    Settings settings_;
    std::unique_ptr<Writer> writer_;
    std::unique_ptr<Communicator> exchange_;
    std::uint64_t number_ = 0;
    bool first_ = true, late_ = false, in_step_ = false;
    std::map<std::string, Known> known_;
    std::map<std::string, Species> species_;
    std::map<std::string, double> constants_;
    std::optional<Iteration> iteration_;
    When when_;  ///< of dump_, which begins with the first put
    std::optional<Dump> dump_;
    std::vector<Held> held_;
    News news_;
    std::map<Key, store::AttributeValue> said_;  ///< attributes
};

/// Where a variable lies in the file: a Writer allows one '/' and letters, digits, '_', '-', '.'.
/// "/data/fields/E/x" is "data.fields.E/x"; other characters become '_'.
std::string field_name(const std::string& variable);

}  // namespace caesura::adios
