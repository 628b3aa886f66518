#include "lambda/plugin_function.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/invalid.hpp"

namespace caesura::lambda {
namespace {

/// What a plugin writes its sentence to.
class Message {
  public:
    char* data() { return text_; }
    /// @return  ok, or the plugin's code with its sentence.
    Status status(int code, std::string_view name) const {
        if (code == CAESURA_LAMBDA_OK) return {};
        const auto known = code >= 1 && code <= 8 ? StatusCode{code} : StatusCode::internal;
        std::string text(text_, ::strnlen(text_, sizeof text_));
        if (!is_utf8(text) || text.empty()) text = "says no reason";
        return {known, fmt::format("{}: {}", name, text)};
    }

  private:
    char text_[CAESURA_LAMBDA_MESSAGE_BYTES] = {};
};

// ----------------------------------------------------------------------------- to the plugin

const Argument* argument_of(const void* context, const char* name) {
    for (const auto& [known, argument] : static_cast<const Arguments*>(context)->all())
        if (name && known == name) return &argument;
    return nullptr;
}
int arg_has(const void* context, const char* name) { return argument_of(context, name) ? 1 : 0; }
double arg_number(const void* context, const char* name) {
    const Argument* found = argument_of(context, name);
    if (const auto* number = found ? std::get_if<double>(found) : nullptr) return *number;
    if (const auto* whole = found ? std::get_if<std::int64_t>(found) : nullptr)
        return static_cast<double>(*whole);
    return 0.0;
}
std::int64_t arg_whole(const void* context, const char* name) {
    const Argument* found = argument_of(context, name);
    const auto* whole = found ? std::get_if<std::int64_t>(found) : nullptr;
    return whole ? *whole : 0;
}
const char* arg_text(const void* context, const char* name) {
    const Argument* found = argument_of(context, name);
    const auto* text = found ? std::get_if<std::string>(found) : nullptr;
    return text ? text->c_str() : nullptr;
}

caesura_lambda_args args_of(const Arguments& arguments) {
    return {sizeof(caesura_lambda_args), &arguments, arg_has, arg_number, arg_whole, arg_text};
}

/// A region in C's terms; what it points to lives with this object and the view.
class PluginRegion {
  public:
    void set(const RegionView& region, bool with_values) {
        object_ = region.object;
        owner_ = region.owner;
        names_.clear();
        tag_values_.clear();
        for (const Tag& tag : region.tags) {
            names_.push_back(tag.first.c_str());
            tag_values_.push_back(tag.second.c_str());
        }
        given_ = {};
        given_.struct_bytes = sizeof given_;
        given_.object = object_.c_str();
        given_.id = region.id;
        given_.dtype = static_cast<int>(region.dtype);
        given_.rank = region.shape.rank();
        for (int axis = 0; axis < given_.rank; ++axis) {
            given_.shape[axis] = region.shape[axis];
            given_.offset[axis] = region.box.offset[axis];
            given_.extent[axis] = region.box.extent[axis];
        }
        given_.time = region.time;
        given_.owner = owner_.c_str();
        given_.tags = region.tags.size();
        given_.tag_names = names_.data();
        given_.tag_values = tag_values_.data();
        given_.values = with_values ? region.values.data() : nullptr;
        given_.values_bytes = with_values ? region.values.size() : 0;
    }
    const caesura_lambda_region* get() const { return &given_; }

  private:
    std::string object_, owner_;
    std::vector<const char*> names_, tag_values_;
    caesura_lambda_region given_{};
};

/// Regions for a plugin's next(); keeps the error that ended them.
struct PluginRegions {
    RegionIterator& from;
    PluginRegion current{};
    Status status{};
    static int next(void* context, const caesura_lambda_region** region) {
        auto& self = *static_cast<PluginRegions*>(context);
        *region = nullptr;
        auto found = self.from.next();
        if (!found.ok()) {
            self.status = found.status();
            return static_cast<int>(found.status().code());
        }
        if (*found) {
            self.current.set(**found, true);
            *region = self.current.get();
        }
        return CAESURA_LAMBDA_OK;
    }
};

// --------------------------------------------------------------------------- from the plugin

template <class T>
void put_result(void* context, const char* name, T value) {
    auto& results = *static_cast<Results*>(context);
    if (name && results.entries().size() < k_most_result_names) results.put(name, std::move(value));
}
void put_text_result(void* context, const char* name, const char* value) {
    put_result(context, name, std::string(value ? value : ""));
}
template <class T>
void put_results(void* context, const char* name, const T* values, std::size_t n) {
    put_result(context, name, values ? std::vector<T>(values, values + n) : std::vector<T>());
}

caesura_lambda_results results_of(Results& results) {
    return {sizeof(caesura_lambda_results),
            &results,
            [](void* c, const char* name, std::int64_t value) { put_result(c, name, value); },
            [](void* c, const char* name, double value) { put_result(c, name, value); },
            put_text_result,
            put_results<std::int64_t>,
            put_results<double>};
}

/// Bytes that a plugin writes, at most so many.
struct Collected {
    std::vector<std::byte> bytes{};
    std::uint64_t most = 0;
    static int write(void* context, const void* from, std::size_t n) {
        auto& self = *static_cast<Collected*>(context);
        if (n > self.most - self.bytes.size()) return CAESURA_LAMBDA_NO_SPACE;
        const auto* first = static_cast<const std::byte*>(from);
        try {
            self.bytes.insert(self.bytes.end(), first, first + n);
        } catch (const std::bad_alloc&) {
            return CAESURA_LAMBDA_NO_SPACE;
        }
        return CAESURA_LAMBDA_OK;
    }
    caesura_lambda_output output() { return {sizeof(caesura_lambda_output), this, write}; }
};

constexpr std::uint64_t k_longest_settings_bytes = 255;
constexpr std::uint64_t k_no_limit = ~std::uint64_t{0};

// --------------------------------------------------------------------------------- functions

/// A state of a plugin.
class PluginAnalysis : public Analysis {
  public:
    PluginAnalysis(std::string name, const caesura_lambda_state& calls, void* state)
        : name_(std::move(name)), calls_(calls), state_(state) {}
    ~PluginAnalysis() override { calls_.destroy(state_); }
    PluginAnalysis(const PluginAnalysis&) = delete;
    PluginAnalysis& operator=(const PluginAnalysis&) = delete;

    Status add(const RegionView& region) override {
        Message message;
        PluginRegion given;
        given.set(region, true);
        return message.status(calls_.add(state_, given.get(), message.data()), name_);
    }
    Status merge(const Analysis& other) override {
        Message message;
        const void* theirs = static_cast<const PluginAnalysis&>(other).state_;
        return message.status(calls_.merge(state_, theirs, message.data()), name_);
    }
    Result<Results> finish() const override {
        Message message;
        Results results;
        const auto sink = results_of(results);
        const int code = calls_.finish(state_, &sink, message.data());
        if (Status status = message.status(code, name_); !status.ok()) return status;
        return results;
    }
    // A state that cannot be saved is an empty one, which its load() has to refuse.
    void save(Writer& out) const override {
        Message message;
        Collected collected{{}, k_no_limit};
        const auto output = collected.output();
        if (calls_.save(state_, &output, message.data()) != CAESURA_LAMBDA_OK)
            collected.bytes.clear();
        out.u64(collected.bytes.size()).bytes(collected.bytes);
    }
    Status load(Reader& in) override {
        Message message;
        const auto bytes = in.bytes(in.u64());
        if (in.ended_early()) return cut_short(name_);
        return message.status(calls_.load(state_, bytes.data(), bytes.size(), message.data()),
                              name_);
    }

  private:
    std::string name_;
    const caesura_lambda_state& calls_;
    void* state_;
};

class PluginTransform : public Transform {
  public:
    PluginTransform(const caesura_lambda_function& given, Arguments arguments)
        : given_(given), arguments_(std::move(arguments)) {}
    Result<std::vector<std::byte>> apply(std::span<const std::byte> bytes,
                                         const StageContext& context,
                                         std::vector<std::byte>& settings) const override {
        Message message;
        PluginRegion region;
        region.set(*context.region, false);
        Collected made{{}, k_no_limit}, of_settings{{}, k_longest_settings_bytes};
        const auto args = args_of(arguments_);
        const auto output = made.output(), settings_output = of_settings.output();
        const int code = given_.apply(&args, region.get(), bytes.data(), bytes.size(), &output,
                                      &settings_output, message.data());
        if (Status status = message.status(code, given_.name); !status.ok()) return status;
        settings = std::move(of_settings.bytes);
        return std::move(made.bytes);
    }

  private:
    const caesura_lambda_function& given_;
    Arguments arguments_;
};

void add_analysis(const caesura_lambda_function& given, Variant& variant) {
    const std::string name = given.name;
    if (given.direct)
        variant.direct = [&given, name](const Arguments& arguments,
                                        const RegionView& view) -> Result<Results> {
            Message message;
            Results results;
            PluginRegion region;
            region.set(view, true);
            const auto args = args_of(arguments);
            const auto sink = results_of(results);
            const int code = given.direct(&args, region.get(), &sink, message.data());
            if (Status status = message.status(code, name); !status.ok()) return status;
            return results;
        };
    if (given.iterative)
        variant.iterative = [&given, name](const Arguments& arguments,
                                           RegionIterator& from) -> Result<Results> {
            Message message;
            Results results;
            PluginRegions regions{from};
            const auto args = args_of(arguments);
            const auto sink = results_of(results);
            const caesura_lambda_regions given_regions{sizeof(caesura_lambda_regions), &regions,
                                                       PluginRegions::next};
            const int code = given.iterative(&args, &given_regions, &sink, message.data());
            if (!regions.status.ok()) return regions.status;
            if (Status status = message.status(code, name); !status.ok()) return status;
            return results;
        };
    if (given.state)
        variant.make_analysis =
            [&given, name](const Arguments& arguments) -> Result<std::unique_ptr<Analysis>> {
            Message message;
            void* state = nullptr;
            const auto args = args_of(arguments);
            const int code = given.state->create(&args, &state, message.data());
            if (Status status = message.status(code, name); !status.ok()) return status;
            return std::unique_ptr<Analysis>(
                std::make_unique<PluginAnalysis>(name, *given.state, state));
        };
}

void add_transform(const caesura_lambda_function& given, Function& function, Variant& variant) {
    variant.make_transform = [&given](const Arguments& arguments,
                                      const Operator&) -> Result<std::unique_ptr<Transform>> {
        return std::unique_ptr<Transform>(std::make_unique<PluginTransform>(given, arguments));
    };
    function.inverse = [&given](std::span<const std::byte> bytes,
                                std::span<const std::byte> settings, std::uint64_t size,
                                const StageContext& context,
                                const Operator&) -> Result<std::vector<std::byte>> {
        Message message;
        PluginRegion region;
        region.set(*context.region, false);
        Collected made{{}, size};
        const auto output = made.output();
        const int code = given.invert(region.get(), bytes.data(), bytes.size(), settings.data(),
                                      settings.size(), size, &output, message.data());
        if (Status status = message.status(code, given.name); !status.ok()) return status;
        return std::move(made.bytes);
    };
}

Result<Parameter> parameter_of(const caesura_lambda_parameter& given) {
    constexpr Parameter::Type k_types[] = {Parameter::Type::whole, Parameter::Type::number,
                                           Parameter::Type::text};
    if (!given.name || !given.help || given.type < 0 || given.type > CAESURA_LAMBDA_TEXT)
        return base::invalid("a parameter without name, help or known type");
    Parameter parameter{given.name, k_types[given.type], given.help};
    if (!given.fallback) {
        parameter.required = true;
        return parameter;
    }
    const Call call{"its fallback", "", {{parameter.name, given.fallback}}};
    const auto bound = std::string_view(given.fallback).empty()
                           ? base::invalid("an empty fallback")
                           : Arguments::bind(call, {parameter});
    if (!bound.ok()) return bound.status();
    parameter.fallback = bound->all().front().second;
    return parameter;
}

}  // namespace

Result<Function> plugin_function(const caesura_lambda_function& given) {
    if (given.struct_bytes < sizeof given || !given.name || !given.help)
        return base::invalid("a function without name or help, or of a shorter struct");
    const bool transforms = given.apply || given.invert;
    const int analyses = (given.direct ? 1 : 0) + (given.iterative ? 1 : 0) + (given.state ? 1 : 0);
    if (transforms ? analyses > 0 || !given.apply || !given.invert : analyses != 1)
        return base::invalid(
            fmt::format("{}: give one of direct, iterative and state, or apply "
                        "and invert",
                        given.name));
    const auto* state = given.state;
    if (state && (state->struct_bytes < sizeof *state || !state->create || !state->destroy ||
                  !state->add || !state->merge || !state->finish || !state->save || !state->load))
        return base::invalid(fmt::format("{}: a call of its state is missing", given.name));
    Function function{given.name, transforms ? Kind::transform : Kind::analysis, given.help};
    for (std::size_t i = 0; i < given.n_parameters; ++i) {
        auto parameter = parameter_of(given.parameters[i]);
        if (!parameter.ok()) return parameter.status().with_context(given.name);
        function.parameters.push_back(std::move(*parameter));
    }
    Variant variant{Device::cpu, "plugin", "the operator's own, compiled"};
    if (transforms)
        add_transform(given, function, variant);
    else
        add_analysis(given, variant);
    if (variant.make_analysis) variant.also_on = {Device::remote};
    function.variants.push_back(std::move(variant));
    return function;
}

}  // namespace caesura::lambda
