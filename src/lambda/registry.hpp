// Which functions there are, and running them by their call as text.
//
// Invariants:
//  - A name is a function once, and a variant once within it.
//  - Nothing that a client sends becomes a function: functions are built in, or come from the
//    operator's directories (plugins.hpp, python_functions.hpp).
//  - No call throws: memory that cannot be had is no_space.
// Source: S4 §III-B. Differs: the text of a call is parsed strictly; nothing a client sends is
// loaded or executed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lambda/function.hpp"

namespace caesura::lambda {

/// A call that fits a function of a registry, which must outlive it.
struct Bound {
    const Function* function = nullptr;
    const Variant* variant = nullptr;
    Arguments arguments;
    std::string text;  ///< as lambda::text(): complete
};

/// An analysis under way over the regions of one object. One thread at a time.
class AnalysisState {
  public:
    AnalysisState(std::string call, std::unique_ptr<Analysis> analysis)
        : call_(std::move(call)), analysis_(std::move(analysis)) {}
    /// A region of integers counts as one of float64 with the same values.
    /// Errors: those of validate() and Analysis::add(); invalid_argument (type or shape of another
    /// object than before). After an error the state is of no further use.
    Status add(const RegionView& region);
    /// What a device may find of regions in place of their values.
    Reduction reduction() const { return analysis_->reduction(); }
    /// add() without values, which a device has reduced. Errors: those of validate_place() and
    /// Analysis::add_reduced(); as add().
    Status add_reduced(const RegionView& place, const Reduced& reduced);
    /// Errors: those of Analysis::merge(); invalid_argument (another call, or another object).
    /// After an error the state is of no further use.
    Status merge(const AnalysisState& other);
    /// Errors: those of Analysis::finish(); invalid_argument (passes are left).
    Result<Results> finish() const;
    int passes_left() const { return analysis_->passes_left(); }
    Status next_pass();
    /// What Registry::parse_state() takes, on any machine.
    std::vector<std::byte> bytes() const;
    const std::string& call() const { return call_; }

  private:
    friend class Registry;
    Status check_object(DType dtype, const Shape& shape) const;
    std::string call_;
    std::unique_ptr<Analysis> analysis_;
    DType dtype_ = float32;
    Shape shape_;  // rank 0: nothing was added
};

/// Reading is thread-safe once all functions are in.
class Registry {
  public:
    /// With the built-in functions.
    /// @param most_memory_mb  what a call may ask for at most where it has `memory_mb`, in MiB: the
    /// operator's limit on what clients ask.
    explicit Registry(std::int64_t most_memory_mb = 65536);
    Registry(const Registry&) = delete;
    Registry& operator=(const Registry&) = delete;

    /// Errors: invalid_argument (a name that is no name or is there already, no variant, a variant
    /// that lacks what its kind needs).
    Status add(Function function);
    /// One more way to run a function that is there. Errors: as add().
    Status add_variant(std::string_view function, Variant variant);
    const Function* find(std::string_view name) const;
    /// In alphabetical order; pointers stay valid.
    std::vector<const Function*> functions() const;
    /// All functions with their parameters and variants, for --help.
    std::string help() const;

    /// Errors: invalid_argument, naming what there is.
    Result<Bound> bind(const Call& call) const;
    Result<Bound> bind(std::string_view call) const;

    /// The state of an analysis before its first region. Errors: those of bind(); unsupported (a
    /// function without mergeable states).
    Result<AnalysisState> start(std::string_view call) const;
    /// @param bytes  anything. Errors: corrupt, insufficient_data, unsupported, no_space; those of
    /// bind() where the call is unknown here.
    Result<AnalysisState> parse_state(std::span<const std::byte> bytes) const;

    /// One region (S4's direct interface). Errors: those of start(), AnalysisState, the function.
    Result<Results> run(std::string_view call, const RegionView& region) const;
    /// All regions (S4's iterative interface). Errors: likewise; those of the iterator.
    Result<Results> run(std::string_view call, RegionIterator& regions) const;

  private:
    std::vector<std::unique_ptr<Function>> functions_;
};

}  // namespace caesura::lambda
