#include "adios2/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/invalid.hpp"

namespace caesura::adios {
namespace {

using base::invalid;
using store::AttributeValue;

// ------------------------------------------------------------------------- names

/// Names of an iteration, a field or the file that have a meaning of their own.
bool has_a_meaning(const std::string& name) {
    static constexpr std::array k_names{
        "time",     "dt",       "timeUnitSI",          "comment",
        "openPMD",  "basePath", "openPMDextension",    "meshesPath",
        "date",     "author",   "particlesPath",       "iterationEncoding",
        "software", "machine",  "iterationFormat",     "softwareVersion",
        "value",    "shape",    "softwareDependencies"};
    return name.starts_with("caesura_") ||
           std::find(k_names.begin(), k_names.end(), name) != k_names.end();
}

std::string attribute_name(const std::string& name) {
    return has_a_meaning(name) ? "adios2_" + name : name;
}

/// Of a component of particles, said when it is defined.
bool is_record_option(const std::string& name) {
    return name == "unitSI" || name == "unitDimension" || name == "timeOffset" ||
           name == "macroWeighted" || name == "weightingPower" || name == "value" ||
           name == "shape";
}

/// With an entry for each axis.
bool is_of_axes(const std::string& name) {
    return name == "axisLabels" || name == "gridSpacing" || name == "gridGlobalOffset" ||
           name == "position";
}

int size_of_list(const AttributeValue& value) {
    return std::visit(
        []<class T>(const T& one) -> int {
            if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
                return 1;
            else
                return static_cast<int>(one.size());
        },
        value);
}

std::optional<double> number_of(const AttributeValue* value) {
    if (value == nullptr) return {};
    return std::visit(
        []<class T>(const T& one) -> std::optional<double> {
            if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(one);
            return {};
        },
        *value);
}

/// What is said of a component of particles or of its record.
template <class Attributes>
RecordOptions record_options(const Attributes& attributes, const std::string& component) {
    const auto find = [&](const char* name) -> const AttributeValue* {
        for (const Of of : {Of::variable, Of::record})
            for (std::string object = component; object.find('/') != std::string::npos;
                 object.erase(object.rfind('/')))
                if (const auto found = attributes.find({of, object, name});
                    found != attributes.end())
                    return &found->second;
        return nullptr;
    };
    RecordOptions options;
    options.unit_si = number_of(find("unitSI")).value_or(options.unit_si);
    options.time_offset = number_of(find("timeOffset")).value_or(options.time_offset);
    options.macro_weighted = number_of(find("macroWeighted")).value_or(0.0) != 0.0;
    options.weighting_power = number_of(find("weightingPower")).value_or(0.0);
    const AttributeValue* const dimension = find("unitDimension");
    if (const auto* powers =
            dimension == nullptr ? nullptr : std::get_if<std::vector<double>>(dimension);
        powers != nullptr && powers->size() == options.unit_dimension.size())
        std::copy(powers->begin(), powers->end(), options.unit_dimension.begin());
    return options;
}

}  // namespace

std::string field_name(const std::string& variable) {
    std::string name = variable.substr(std::min(variable.find_first_not_of('/'), variable.size()));
    const std::size_t last = name.rfind('/');
    for (std::size_t i = 0; i < name.size(); ++i) {
        const auto c = static_cast<unsigned char>(name[i]);
        if (name[i] == '/') {
            if (i != last || i + 1 == name.size()) name[i] = '.';
        } else if (std::isalnum(c) == 0 && c != '_' && c != '-' && c != '.') {
            name[i] = '_';
        }
    }
    return name;
}

// ------------------------------------------------------------------------- life

Result<std::unique_ptr<Steps>> Steps::open(Settings settings, bool append,
                                           std::unique_ptr<Communicator> ranks,
                                           std::unique_ptr<Communicator> exchange) {
    auto writer = append ? Writer::open(settings.file, std::move(ranks), settings.options)
                         : Writer::create(settings.file, std::move(ranks), settings.options);
    if (!writer.ok()) return writer.status();
    if (!exchange) exchange = Communicator::self();
    std::unique_ptr<Steps> steps(
        new Steps(std::move(settings), std::move(*writer), std::move(exchange)));
    if (const auto last = steps->writer_->committed(); append && last) {
        steps->number_ = *last + 1;
        steps->first_ = false;
    }
    return steps;
}

Status Steps::begin() {
    if (in_step()) return invalid(fmt::format("BeginStep: step {} has not been ended", number_));
    in_step_ = true;
    when_ = {number_, static_cast<double>(number_)};
    if (!late_) begin_iteration(number_);
    return {};
}

void Steps::begin_iteration(std::uint64_t number) {
    number_ = number;
    iteration_.emplace(writer_->begin_iteration(number));
}

Dump& Steps::dump() {
    if (!dump_) dump_.emplace(iteration_->begin_dump(when_.time, when_.dt, when_.unit_si));
    return *dump_;
}

Status Steps::close() {
    Status ended = in_step() ? end() : Status{};
    Status closed = writer_->close();
    return ended.ok() ? closed : ended;
}

// ------------------------------------------------------------------------- puts

Status Steps::remember(Status status) {
    if (news_.error.empty()) news_.error = status.message();
    return status;
}

Status Steps::refuse(std::string message) { return remember(invalid(std::move(message))); }

Status Steps::put(const Part& part, const void* values) {
    const auto known = known_.find(part.variable);
    if (known != known_.end() && known->second.dtype != part.dtype)
        return remember(
            invalid(fmt::format("variable '{}' on rank {}: was {}, is {}", part.variable, rank(),
                                to_string(known->second.dtype), to_string(part.dtype))));
    const bool is_known = known != known_.end() && known->second.shape == part.shape;
    if (is_known && !late_) {
        if (part.box.extent.count() == 0) return {};  // no reason for a dump
        news_.any = true;
        return put_into(known->second.field, part, values);
    }
    const auto said = news_.variables.find(part.variable);
    const bool is_said = said != news_.variables.end();
    if ((is_said && said->second.constant != part.constant) ||
        (known != known_.end() && known->second.constant != part.constant))
        return remember(invalid(
            fmt::format("variable '{}' was constant with another value, or none", part.variable)));
    if (is_said && !late_ && said->second.shape != part.shape)
        return remember(invalid(fmt::format(
            "variable '{}' on rank {}: two shapes in step {}, {} "
            "and {}",
            part.variable, rank(), number_, to_string(said->second.shape), to_string(part.shape))));
    if (!is_known || late_)  // late: another rank may have put before the shape grew
        news_.variables.insert_or_assign(
            part.variable, Known{{}, part.dtype, part.shape, part.species, part.constant});
    const Box& array = part.within ? *part.within : part.box;
    const auto* const bytes = static_cast<const std::byte*>(values);
    held_.push_back({part, {bytes, bytes + array.extent.count() * size_of(part.dtype)}});
    return {};
}

Status Steps::put_into(Field field, const Part& part, const void* values) {
    if (!part.within) return dump().put_bytes(field, part.box, values, part.dtype, Ownership::copy);
    return dump()
        .put_within_bytes(field, part.box, values, part.within->extent, part.within->offset,
                          part.dtype, Ownership::copy)
        .with_context("variable '" + part.variable + "', memory selection");
}

Status Steps::put_value(const std::string& name, store::AttributeValue value) {
    news_.values[name] = std::move(value);
    return {};
}

void Steps::set_attribute(Of of, const std::string& object, const std::string& name,
                          store::AttributeValue value) {
    const Key key(of, object, name);
    const auto said = said_.find(key);
    // That of an iteration is one of each.
    if (said != said_.end() && of != Of::iteration && (!late_ || said->second == value)) return;
    said_.insert_or_assign(key, value);
    news_.attributes.insert_or_assign(key, std::move(value));
}

// ------------------------------------------------------------------------- definitions

Result<Species> Steps::species_of(const std::string& name) {
    if (const auto known = species_.find(name); known != species_.end()) return known->second;
    auto species = writer_->define_species(name);
    if (species.ok()) species_.emplace(name, *species);
    return species;
}

Status Steps::define(const std::string& variable, const Known& asked, const News& news) {
    const auto known = known_.find(variable);
    if (known != known_.end()) {
        if (known->second.dtype != asked.dtype)
            return invalid(fmt::format("variable '{}' was {} and is {}", variable,
                                       to_string(known->second.dtype), to_string(asked.dtype)));
        if (known->second.shape == asked.shape) return {};
        if (asked.species.empty())
            if (Status s = writer_->reshape(known->second.field, asked.shape); !s.ok()) return s;
        known->second.shape = asked.shape;
        return {};
    }
    Result<Field> field = Status{};
    if (asked.species.empty()) {
        FieldOptions options;
        // Nothing makes an ADIOS2 program write all of a variable.
        options.coverage = Coverage::partial;
        if (asked.constant)
            options.fill_value = *asked.constant;
        else if (!is_integer(asked.dtype))
            options.fill_value = std::numeric_limits<double>::quiet_NaN();
        const std::string name = field_name(variable);
        if (name != variable) options.attributes.push_back({"adios2_name", variable});
        field = writer_->define_field(
            name, asked.dtype, asked.shape,
            asked.constant ? lossless() : settings_.bound_of(variable, asked.dtype), options);
    } else {
        const auto species = species_of(asked.species);
        if (!species.ok()) return species.status();
        field = writer_->define_record(*species, variable.substr(asked.species.size() + 1),
                                       asked.dtype, settings_.bound_of(variable, asked.dtype),
                                       record_options(news.attributes, variable));
    }
    if (!field.ok()) return field.status().with_context("variable '" + variable + "'");
    known_.emplace(variable,
                   Known{*field, asked.dtype, asked.shape, asked.species, asked.constant});
    return {};
}

Status Steps::define(const News& news) {
    for (const auto& [variable, asked] : news.variables)
        if (Status status = define(variable, asked, news); !status.ok()) return status;
    for (const auto& [name, value] : news.constants) {
        const auto before = constants_.find(name);
        if (before != constants_.end() && before->second == value) continue;
        if (before != constants_.end())
            return invalid(fmt::format("constant '{}' was {} and is {}; it must stay as it was",
                                       name, before->second, value));
        const std::string species_name = name.substr(0, name.find('/'));
        const auto species = species_of(species_name);
        if (!species.ok()) return species.status();
        if (Status status = writer_->define_constant(*species, name.substr(species_name.size() + 1),
                                                     value, record_options(news.attributes, name));
            !status.ok())
            return status;
        constants_.emplace(name, value);
    }
    return {};
}

Status Steps::check_shares(const News& news) const {
    for (const auto& [name, share] : news.shares)
        if (const std::uint64_t all = known_.at(name).shape[0]; all != share[1])
            return invalid(
                fmt::format("variable '{}' has {} particles, of which {} were put; "
                            "put all",
                            name, all, share[1]));
    return {};
}

// ------------------------------------------------------------------------- attributes

Status Steps::attach(const News& news) {
    for (const auto& [name, value] : news.values)
        if (Status status =
                dump().set_attribute(AttributeOwner::iteration(), attribute_name(name), value);
            !status.ok())
            return status;
    for (const auto& [key, value] : news.attributes) {
        said_.insert_or_assign(key, value);  // another rank may have said it
        if (Status status = attach(key, value); !status.ok()) return status;
    }
    return {};
}

/// By its name; a component stands for its record.
template <class Objects>
auto find_object(const Objects& all, Of of, const std::string& object) {
    const auto found = all.find(object);
    if (found != all.end() || of != Of::record) return found;
    const auto component = all.lower_bound(object + "/");
    return component != all.end() && component->first.starts_with(object + "/") ? component
                                                                                : all.end();
}

Status Steps::attach(const Key& key, const AttributeValue& value) {
    const auto& [of, object, name] = key;
    const auto known = object.empty() ? known_.end() : find_object(known_, of, object);
    const bool is_of_it = known != known_.end();
    const std::string in_file = late_ ? name : attribute_name(name);
    if (is_of_it) {
        const Known& one = known->second;
        if (!one.species.empty() && is_record_option(name)) return {};
        // openPMD-api has one entry by default, however many axes there are.
        if (late_ && one.species.empty() && is_of_axes(name) &&
            size_of_list(value) != one.shape.rank())
            return {};
        return writer_->set_attribute(known->first == object ? AttributeOwner::field(one.field)
                                                             : AttributeOwner::record(one.field),
                                      in_file, value);
    }
    const bool is_of_nothing = of == Of::record || (late_ && of == Of::variable && !object.empty());
    if (is_of_nothing || (of == Of::species && !species_.contains(object))) {
        // A constant has options; what has no values yet may have some in the next step.
        if (find_object(constants_, of, object) == constants_.end())
            news_.attributes.emplace(key, value);
        return {};
    }
    if (of == Of::meshes) return writer_->set_attribute(AttributeOwner::meshes(), name, value);
    if (of == Of::species) {
        return writer_->set_attribute(AttributeOwner::species(species_.at(object)), name, value);
    }
    const std::string full = object.empty() ? in_file : attribute_name(object + "/" + name);
    if (of == Of::variable && first_)
        return writer_->set_attribute(AttributeOwner::file(), full, value);
    if (of == Of::variable && late_) return {};  // the file has its own since its first dump
    return dump().set_attribute(AttributeOwner::iteration(), full, value);
}

Status Steps::hand_over() {
    for (const Held& held : held_) {
        const Part& part = held.part;
        const Field field = known_.at(part.variable).field;
        Status status = part.species.empty() ? put_into(field, part, held.values.data())
                                             : dump().put_particle_bytes(
                                                   field, part.box.extent.count(),
                                                   held.values.data(), part.dtype, Ownership::copy);
        if (!status.ok()) return status;
    }
    return {};
}

/// What a step that is no dump has said goes to the next one.
void Steps::keep(News news) {
    news_.constants = std::move(news.constants);
    for (auto& [key, value] : news.attributes)
        if (std::get<Of>(key) != Of::iteration) news_.attributes.emplace(key, std::move(value));
}

/// Of a dump that begins late. @param when  unset: there is none.
Status Steps::prepare(const News& news, std::optional<When>& when) {
    const When said = news.when.value_or(When{number_, static_cast<double>(number_)});
    const bool is_new = news.when && said.number >= number_;
    if (!news.any || (!is_new && !news.puts)) return {};  // nothing, or what was said before
    if (said.number < number_)
        return invalid(
            fmt::format("iteration {} comes after {}: openPMD's are to count up, and "
                        "each must be closed before the next",
                        said.number, number_ - 1));
    // Species are defined before the first dump begins.
    if (Status status = define(news); !status.ok()) return status;
    if (Status status = check_shares(news); !status.ok()) return status;
    when = said;
    return {};
}

Status Steps::end() {
    if (!in_step()) return invalid("EndStep without BeginStep");
    note_shares();
    News mine = std::exchange(news_, {});
    auto news = agree(mine);
    in_step_ = false;
    Status status = news.status();
    if (late_) {
        std::optional<When> when;
        if (status.ok()) status = prepare(*news, when);
        if (!status.ok() || !when) {  // alike on all ranks, and nothing has been handed over
            keep(std::move(mine));
            held_.clear();
            return status;
        }
        when_ = *when;
        begin_iteration(when_.number);
    } else if (status.ok()) {
        status = define(*news);
    }
    if (status.ok() && !news->any && news->values.empty()) {
        keep(std::move(mine));
        held_.clear();
        status = iteration_->end();
        iteration_.reset();
        ++number_;
        return status;
    }
    (void)dump();  // also of a rank that has put nothing
    // What all ranks have agreed on goes well or wrong on all of them alike, but hand_over(), of
    // which Iteration::end() tells the others.
    if (status.ok()) status = attach(*news);
    if (status.ok()) status = hand_over();
    held_.clear();
    // What other puts of this step have handed over goes too: a put that is refused costs the dump.
    if (!status.ok()) (void)dump_->put_bytes(Field{~0u}, {}, nullptr, float32, Ownership::copy);
    const Status ended = iteration_->end();
    if (status.ok()) status = ended;
    if (!status.ok()) keep(std::move(mine));
    first_ = first_ && !status.ok();
    dump_.reset();
    iteration_.reset();
    ++number_;
    return status;
}

}  // namespace caesura::adios
