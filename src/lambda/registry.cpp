#include "lambda/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/invalid.hpp"
#include "lambda/as_doubles.hpp"
#include "lambda/builtin.hpp"
#include "lambda/guarded.hpp"

namespace caesura::lambda {
namespace {

using base::invalid;

constexpr std::uint32_t k_state_magic = 0x31534c43;  // "CLS1"

bool is_name(std::string_view name) {
    const auto call = parse_call(name);
    return call.ok() && call->function == name && name.size() <= 64;
}

bool fits(Kind kind, const Variant& variant) {
    const bool analyses = variant.make_analysis || variant.direct || variant.iterative;
    return kind == Kind::analysis ? analyses && !variant.make_transform
                                  : variant.make_transform && !analyses;
}

Status check_variant(const Function& function, const Variant& variant) {
    if (!is_name(variant.name))
        return invalid(
            fmt::format("{}: '{}' is no name for a variant", function.name, variant.name));
    if (!fits(function.kind, variant))
        return invalid(fmt::format("{}@{} lacks what makes it an {}", function.name, variant.name,
                                   to_string(function.kind)));
    return {};
}

std::string names_of(const std::vector<std::unique_ptr<Function>>& functions) {
    std::vector<std::string_view> names;
    for (const auto& function : functions) names.push_back(function->name);
    return fmt::format("{}", fmt::join(names, ", "));
}

/// Regions as another iterator gives them, if they are what they say.
class CheckedRegions : public RegionIterator {
  public:
    explicit CheckedRegions(RegionIterator& from) : from_(from) {}
    Result<std::optional<RegionView>> next() override {
        auto region = from_.next();
        if (!region.ok() || !*region) return region;
        auto checked = doubles_.of(**region);
        if (!checked.ok()) return checked.status();
        return std::optional(*checked);
    }
    Status rewind() override { return from_.rewind(); }

  private:
    RegionIterator& from_;
    AsDoubles doubles_;
};

// A function without mergeable states: it takes one region, or fetches all by itself.
Result<Results> run_whole(const Bound& bound, RegionIterator& given) {
    CheckedRegions regions(given);
    if (bound.variant->iterative) return bound.variant->iterative(bound.arguments, regions);
    const auto first = regions.next();
    if (!first.ok()) return first.status().with_context(bound.text);
    if (!*first) return invalid(fmt::format("{} takes one region, and there is none", bound.text));
    auto results = bound.variant->direct(bound.arguments, **first);
    const auto second = regions.next();
    if (!second.ok()) return second.status().with_context(bound.text);
    if (*second)
        return invalid(fmt::format("{} takes one region; this object has several", bound.text));
    return results;
}

std::string help_of(const Parameter& parameter) {
    std::string out = fmt::format("      {}: {}", parameter.name, parameter.help);
    std::string type(to_string(parameter.type));
    if (!parameter.choices.empty()) type = fmt::format("{}", fmt::join(parameter.choices, ", "));
    out += fmt::format(" [{}", type);
    if (parameter.fallback) out += fmt::format("; default {}", text(*parameter.fallback));
    return out + (parameter.required ? "; required]\n" : "]\n");
}

}  // namespace

std::string_view to_string(Device device) {
    constexpr std::string_view k_names[] = {"cpu", "gpu", "remote"};
    return k_names[static_cast<std::size_t>(device)];
}

Status Analysis::add_reduced(const RegionView&, const Reduced&) {
    return invalid("this analysis needs the values themselves");
}

std::string_view to_string(Kind kind) { return kind == Kind::analysis ? "analysis" : "transform"; }

// ------------------------------------------------------------------------------------- state

Status AnalysisState::check_object(DType dtype, const Shape& shape) const {
    if (shape_.rank() == 0 || shape.rank() == 0 || (dtype == dtype_ && shape == shape_)) return {};
    return invalid(fmt::format("{}: regions of an object of {} {}, and of one of {} {}", call_,
                               to_string(dtype_), to_string(shape_), to_string(dtype),
                               to_string(shape)));
}

Status AnalysisState::add(const RegionView& region) {
    return guarded(call_, [&]() -> Status {
        AsDoubles doubles;
        const auto checked = doubles.of(region);
        if (!checked.ok()) return checked.status().with_context(call_);
        if (Status status = check_object(checked->dtype, checked->shape); !status.ok())
            return status;
        dtype_ = checked->dtype;
        shape_ = checked->shape;
        return analysis_->add(*checked);
    });
}

Status AnalysisState::add_reduced(const RegionView& place, const Reduced& reduced) {
    if (Status status = validate_place(place); !status.ok()) return status.with_context(call_);
    if (Status status = check_object(place.dtype, place.shape); !status.ok()) return status;
    dtype_ = place.dtype;
    shape_ = place.shape;
    return guarded(call_, [&] { return analysis_->add_reduced(place, reduced); });
}

Status AnalysisState::merge(const AnalysisState& other) {
    if (other.call_ != call_)
        return invalid(
            fmt::format("a state of {} cannot be merged with one of {}", call_, other.call_));
    if (Status status = check_object(other.dtype_, other.shape_); !status.ok()) return status;
    if (other.passes_left() != passes_left())
        return invalid(fmt::format("{}: {} passes are left, and {} in the state to be merged",
                                   call_, passes_left(), other.passes_left()));
    if (shape_.rank() == 0) {
        dtype_ = other.dtype_;
        shape_ = other.shape_;
    }
    return guarded(call_, [&] { return analysis_->merge(*other.analysis_); });
}

Result<Results> AnalysisState::finish() const {
    if (passes_left() > 0)
        return invalid(
            fmt::format("{}: {} passes over the regions are left", call_, passes_left()));
    return guarded(call_, [&] { return analysis_->finish(); });
}

Status AnalysisState::next_pass() {
    if (passes_left() == 0) return invalid(fmt::format("{}: no pass is left", call_));
    return guarded(call_, [&] { return analysis_->next_pass(); });
}

std::vector<std::byte> AnalysisState::bytes() const {
    ByteSink sink;
    Writer out(sink);
    out.u32(k_state_magic);
    put_text(out, call_);
    out.u8(static_cast<std::uint8_t>(dtype_));
    put_shape(out, shape_);
    analysis_->save(out);
    return std::move(sink.bytes);
}

// ---------------------------------------------------------------------------------- registry

Registry::Registry(std::int64_t most_memory_mb) {
    for (auto& function : builtin_functions()) {
        for (Parameter& parameter : function.parameters) {
            if (parameter.name != "memory_mb") continue;
            parameter.most = std::min(parameter.most, static_cast<double>(most_memory_mb));
            parameter.fallback =
                std::min(std::get<std::int64_t>(*parameter.fallback), most_memory_mb);
        }
        functions_.push_back(std::make_unique<Function>(std::move(function)));
    }
}

Status Registry::add(Function function) {
    if (!is_name(function.name))
        return invalid(fmt::format("'{}' is no name for a function: use a to z, 0 to 9, _ and .",
                                   function.name));
    if (find(function.name))
        return invalid(fmt::format("a function '{}' is there already", function.name));
    if (function.variants.empty()) return invalid(fmt::format("{} has no variant", function.name));
    for (const Parameter& parameter : function.parameters)
        if (!is_name(parameter.name))
            return invalid(
                fmt::format("{}: '{}' is no name for a parameter", function.name, parameter.name));
    std::vector<Variant> variants;
    variants.swap(function.variants);
    functions_.push_back(std::make_unique<Function>(std::move(function)));
    for (Variant& variant : variants) {
        if (Status status = add_variant(functions_.back()->name, std::move(variant));
            !status.ok()) {
            functions_.pop_back();
            return status;
        }
    }
    return {};
}

Status Registry::add_variant(std::string_view name, Variant variant) {
    const auto found = std::find_if(functions_.begin(), functions_.end(),
                                    [&](const auto& function) { return function->name == name; });
    if (found == functions_.end())
        return invalid(fmt::format("no function '{}'; there is: {}", name, names_of(functions_)));
    Function& function = **found;
    if (Status status = check_variant(function, variant); !status.ok()) return status;
    for (const Variant& known : function.variants)
        if (known.name == variant.name)
            return invalid(fmt::format("{}@{} is there already", function.name, variant.name));
    function.variants.push_back(std::move(variant));
    return {};
}

const Function* Registry::find(std::string_view name) const {
    for (const auto& function : functions_)
        if (function->name == name) return function.get();
    return nullptr;
}

std::vector<const Function*> Registry::functions() const {
    std::vector<const Function*> all;
    for (const auto& function : functions_) all.push_back(function.get());
    std::sort(all.begin(), all.end(),
              [](const Function* a, const Function* b) { return a->name < b->name; });
    return all;
}

std::string Registry::help() const {
    std::string out;
    for (const Function* function : functions()) {
        out += fmt::format("  {} ({}): {}\n", function->name, to_string(function->kind),
                           function->help);
        for (const Parameter& parameter : function->parameters) out += help_of(parameter);
        if (function->variants.size() == 1 && function->variants[0].device == Device::cpu &&
            function->variants[0].also_on.empty())
            continue;
        for (const Variant& variant : function->variants) {
            std::string devices(to_string(variant.device));
            for (const Device device : variant.also_on)
                devices += fmt::format(", {}", to_string(device));
            out += fmt::format("      @{}: {} [{}]\n", variant.name, variant.help, devices);
        }
    }
    return out;
}

Result<Bound> Registry::bind(const Call& call) const {
    const Function* function = find(call.function);
    if (!function)
        return invalid(
            fmt::format("no function '{}'; there is: {}", call.function, names_of(functions_)));
    const Variant* chosen = call.variant.empty() ? function->variants.data() : nullptr;
    std::vector<std::string_view> names;
    for (const Variant& variant : function->variants) {
        if (variant.name == call.variant) chosen = &variant;
        names.push_back(variant.name);
    }
    if (!chosen)
        return invalid(fmt::format("{} has no variant '{}'; there is: {}", call.function,
                                   call.variant, fmt::join(names, ", ")));
    auto arguments = Arguments::bind(call, function->parameters);
    if (!arguments.ok()) return arguments.status();
    std::string complete = text(function->name, call.variant, *arguments);
    return Bound{function, chosen, std::move(*arguments), std::move(complete)};
}

Result<Bound> Registry::bind(std::string_view call) const {
    const auto parsed = parse_call(call);
    if (!parsed.ok()) return parsed.status();
    return bind(*parsed);
}

Result<AnalysisState> Registry::start(std::string_view call) const {
    const auto bound = bind(call);
    if (!bound.ok()) return bound.status();
    if (bound->function->kind != Kind::analysis)
        return invalid(fmt::format("{} is no analysis", bound->text));
    if (!bound->variant->make_analysis)
        return Status(
            StatusCode::unsupported,
            fmt::format("{} has no states that merge; it runs by itself only", bound->text));
    return guarded(bound->text, [&]() -> Result<AnalysisState> {
        auto made = bound->variant->make_analysis(bound->arguments);
        if (!made.ok()) return made.status().with_context(bound->text);
        return AnalysisState(bound->text, std::move(*made));
    });
}

Result<AnalysisState> Registry::parse_state(std::span<const std::byte> bytes) const {
    Reader in(bytes);
    if (in.u32() != k_state_magic) return corrupt("this is no state of an analysis");
    const auto call_bytes = in.u32();
    if (call_bytes > k_longest_call_bytes) return corrupt("state: its call is too long");
    const auto call = in.bytes(call_bytes);
    const auto dtype = in.u8();
    const Shape shape = get_shape(in);
    if (in.ended_early()) return cut_short("the state of an analysis");
    auto state = start({reinterpret_cast<const char*>(call.data()), call.size()});
    if (!state.ok()) return state.status().with_context("state");
    if (dtype != static_cast<std::uint8_t>(float32) && dtype != static_cast<std::uint8_t>(float64))
        return corrupt("state: unknown type of values");
    state->dtype_ = static_cast<DType>(dtype);
    state->shape_ = shape;
    if (shape.rank() > 0) {
        RegionView whole;
        whole.dtype = state->dtype_;
        whole.shape = shape;
        whole.box = {Shape::filled(shape.rank(), 0), shape};
        if (!validate_place(whole).ok()) return corrupt("state: impossible shape");
    }
    const Status loaded = guarded(state->call_, [&] { return state->analysis_->load(in); });
    if (!loaded.ok()) return loaded.with_context("state of " + state->call_);
    if (in.ended_early()) return cut_short("state of " + state->call_);
    if (!in.rest().empty()) return corrupt("state: bytes after the end");
    return state;
}

Result<Results> Registry::run(std::string_view call, const RegionView& region) const {
    ListedRegions one({&region, 1});
    return run(call, one);
}

Result<Results> Registry::run(std::string_view call, RegionIterator& regions) const {
    const auto bound = bind(call);
    if (!bound.ok()) return bound.status();
    if (bound->function->kind == Kind::analysis && !bound->variant->make_analysis)
        return guarded(bound->text, [&] { return run_whole(*bound, regions); });
    auto state = start(call);
    if (!state.ok()) return state.status();
    while (true) {
        while (true) {
            const auto region = regions.next();
            if (!region.ok()) return region.status().with_context(bound->text);
            if (!*region) break;
            if (Status status = state->add(**region); !status.ok()) return status;
        }
        if (state->passes_left() == 0) return state->finish();
        if (Status status = state->next_pass(); !status.ok()) return status;
        if (Status status = regions.rewind(); !status.ok()) return status.with_context(bound->text);
    }
}

}  // namespace caesura::lambda
