// What a function on data is: an analysis, whose states merge, or a transform, which has an
// inverse; with parameters, and variants by device.
//
// Invariants:
//  - An analysis gives the same result whatever the order of regions and merges; sums differ by
//    rounding, as each analysis says.
//  - A state never holds values of the caller's beyond the call.
//  - What a state or a transform reads may come from anywhere: it is checked, never trusted.
// Source: S4 §III-B, S4 §III-C.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lambda/byte_sink.hpp"
#include "lambda/call.hpp"
#include "lambda/key.hpp"
#include "lambda/moments.hpp"
#include "lambda/region.hpp"
#include "lambda/results.hpp"

namespace caesura::lambda {

/// What a device may find of a region in place of the region itself.
struct Reduced {
    Moments moments;  ///< of Reduction::Kind::moments
    std::vector<std::uint64_t>
        counts;  ///< of Reduction::Kind::counts: of each bin, and beside them
    std::uint64_t below = 0, above = 0, nan = 0, infinite = 0;
    std::vector<std::uint64_t>
        marks;  ///< of Reduction::Kind::marks: a bit a value, from the lowest
};
/// What an analysis needs of a region.
struct Reduction {
    enum class Kind : std::uint8_t { values, moments, counts, marks };
    Kind kind = Kind::values;
    /// Kind::counts: bin i holds edges[i] <= x < edges[i + 1], the last one its end too. Valid
    /// until the state changes.
    std::span<const double> edges = {};
    double threshold = 0.0;  ///< Kind::marks: of values that are greater
};

/// The state of an analysis over the regions it was given. One thread at a time.
///
/// Some need more than one pass over the regions: after each the states of all servers are merged
/// into one, next_pass() is called on it, and it goes (as bytes) to every server to start from.
class Analysis {
  public:
    virtual ~Analysis() = default;
    /// @param region  valid (see validate()).
    /// Errors: invalid_argument (another object than before, where that matters), unsupported
    /// (more axes than it can), no_space (beyond the memory it may have).
    virtual Status add(const RegionView& region) = 0;
    /// What add() may be spared with, in this pass.
    virtual Reduction reduction() const { return {}; }
    /// Instead of add(): what reduction() says of a region.
    /// @param place  the region, without its values. Errors: those of add(); invalid_argument
    /// (something else).
    virtual Status add_reduced(const RegionView& place, const Reduced& reduced);
    /// Take over what another state of the same call has seen; that one is not changed.
    /// Errors: invalid_argument (of another function, or another pass), and those of add().
    virtual Status merge(const Analysis& other) = 0;
    /// Errors: insufficient_data (regions are missing, where that matters), no_space.
    virtual Result<Results> finish() const = 0;
    /// Passes that are to come after this one.
    virtual int passes_left() const { return 0; }
    virtual Status next_pass() { return {}; }

    /// The state without its call (see registry.hpp for the two together).
    virtual void save(Writer& out) const = 0;
    /// Into a fresh state of the same call. Errors: insufficient_data, corrupt, no_space.
    virtual Status load(Reader& in) = 0;
};

/// What a stage of a chain knows beside its bytes.
struct StageContext {
    const RegionView* region = nullptr;  ///< place and type; its values are not to be used
    bool holds_values = false;           ///< the bytes are still values of region->dtype
    std::span<const std::byte> header;   ///< of the stages before this one, and their lengths
};

/// The way there of one stage of a chain. Immutable, any thread.
class Transform {
  public:
    virtual ~Transform() = default;
    /// @param settings  what the inverse has to know, at most 255 bytes; empty when called.
    virtual Result<std::vector<std::byte>> apply(std::span<const std::byte> bytes,
                                                 const StageContext& context,
                                                 std::vector<std::byte>& settings) const = 0;
    /// Makes values of anything, and there is no way back: it can only come first, and the chain's
    /// inverse ends with what it gave.
    virtual bool gives_values() const { return false; }
};

enum class Device : std::uint8_t { cpu, gpu, remote };
std::string_view to_string(Device device);

/// What the operator gave this process to run functions with.
struct Operator {
    std::shared_ptr<const Key> key;  ///< null: no encryption
};

/// One way to run a function. Exactly what its kind needs is set.
struct Variant {
    Device device = Device::cpu;
    std::string name;  ///< unique within the function; "plain" where there is one only
    std::string help;
    /// An analysis whose states merge: both interfaces.
    std::function<Result<std::unique_ptr<Analysis>>(const Arguments&)> make_analysis = {};
    /// An analysis of one region: the direct interface.
    std::function<Result<Results>(const Arguments&, const RegionView&)> direct = {};
    /// An analysis of regions that it fetches itself: the iterative interface.
    std::function<Result<Results>(const Arguments&, RegionIterator&)> iterative = {};
    std::function<Result<std::unique_ptr<Transform>>(const Arguments&, const Operator&)>
        make_transform = {};
    /// Where else a region may be analysed, with as good a state in the end: on a GPU by
    /// Analysis::reduction(), by another service with its function of this name and version.
    std::vector<Device> also_on = {};
    bool is_also_on(Device there) const {
        return make_analysis && std::find(also_on.begin(), also_on.end(), there) != also_on.end();
    }
};

/// The way back, the same for all variants. Any thread.
///
/// bytes, settings: anything, as what is decoded comes from elsewhere. size: what the result must
/// have; the caller has held it against a limit.
/// Errors: corrupt, insufficient_data, unsupported, no_space, invalid_argument (wrong key).
using Inverse = std::function<Result<std::vector<std::byte>>(
    std::span<const std::byte> bytes, std::span<const std::byte> settings, std::uint64_t size,
    const StageContext& context, const Operator& by)>;

enum class Kind : std::uint8_t { analysis, transform };
std::string_view to_string(Kind kind);

struct Function {
    std::string name;
    Kind kind = Kind::analysis;
    std::string help;  ///< one sentence
    std::vector<Parameter> parameters = {};
    Inverse inverse = {};                ///< of a transform; none: it gives values (see Transform)
    std::vector<Variant> variants = {};  ///< the first is what runs unless another is asked for
    bool is_keyed = false;               ///< it needs Operator::key
    /// Of two services that have a function of this name: is it the same one?
    std::string version = "built in 1";
};

}  // namespace caesura::lambda
