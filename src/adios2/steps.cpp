#include "adios2/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace caesura::adios {
namespace {

Status invalid(std::string message) { return {StatusCode::invalid_argument, std::move(message)}; }

// --------------------------------------------------------------------- what travels

using store::AttributeValue;

struct PackValue {
    base::Packer& to;
    void operator()(const std::vector<std::string>& texts) const {
        to.put(static_cast<std::uint64_t>(texts.size()));
        for (const std::string& text : texts) to.put(text);
    }
    template <class T>
    void operator()(const T& value) const {
        to.put(value);
    }
};

void pack_value(base::Packer& to, const AttributeValue& value) {
    to.put(static_cast<std::uint64_t>(value.index()));
    std::visit(PackValue{to}, value);
}

template <class T>
void take(base::Unpacker& from, T& value) {
    value = from.get<T>();
}
void take(base::Unpacker& from, std::string& value) { value = from.get_string(); }
template <class T>
void take(base::Unpacker& from, std::vector<T>& values) {
    values = from.get_list<T>();
}
void take(base::Unpacker& from, std::vector<std::string>& values) {
    const auto n = from.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < n && from.good(); ++i) values.push_back(from.get_string());
}

template <std::size_t I = 0>
AttributeValue unpack_value(base::Unpacker& from, std::uint64_t index) {
    if constexpr (I == std::variant_size_v<AttributeValue>) {
        return {};
    } else {
        if (index != I) return unpack_value<I + 1>(from, index);
        std::variant_alternative_t<I, AttributeValue> value{};
        take(from, value);
        return value;
    }
}

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
    iteration_.emplace(writer_->begin_iteration(number_));
    dump_.emplace(iteration_->begin_dump(static_cast<double>(number_)));
    return {};
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

Status Steps::put(const Part& part, const void* values, bool stays) {
    if (part.box.extent.count() == 0 && part.box.extent.rank() > 0) stays = true;
    const auto known = known_.find(part.variable);
    if (known != known_.end() && known->second.dtype != part.dtype)
        return remember(
            invalid(fmt::format("variable '{}' on rank {}: was {}, is {}", part.variable, rank(),
                                to_string(known->second.dtype), to_string(part.dtype))));
    if (known != known_.end() && known->second.shape == part.shape)
        return dump_->put_bytes(known->second.field, part.box, values, part.dtype, Ownership::copy);
    Known asked{{}, part.dtype, part.shape};
    const auto [before, added] = news_.variables.emplace(part.variable, asked);
    if (!added && before->second.shape != part.shape)
        return remember(
            invalid(fmt::format("variable '{}' on rank {}: two shapes in step {}, {} "
                                "and {}",
                                part.variable, rank(), number_, to_string(before->second.shape),
                                to_string(part.shape))));
    held_.push_back({part, static_cast<const std::byte*>(values), {}});
    if (!stays) keep();
    return {};
}

void Steps::keep() {
    for (Held& held : held_) {
        const std::uint64_t bytes = held.part.box.extent.count() * size_of(held.part.dtype);
        if (!held.copy.empty() || bytes == 0) continue;
        held.copy.assign(held.values, held.values + bytes);
        held.values = held.copy.data();
    }
}

Status Steps::put_value(const std::string& name, store::AttributeValue value) {
    news_.values[name] = std::move(value);
    return {};
}

void Steps::set_attribute(const std::string& variable, const std::string& name,
                          store::AttributeValue value) {
    const std::pair key(variable, name);
    if (!said_.emplace(key, true).second) return;
    news_.attributes.emplace(key, std::move(value));
}

// ------------------------------------------------------------------------- agreement

base::Packer Steps::pack(const News& news) {
    base::Packer to;
    to.put(news.error);
    to.put(static_cast<std::uint64_t>(news.variables.size()));
    for (const auto& [name, one] : news.variables) {
        to.put(name);
        to.put(one.dtype);
        to.put(one.shape);
    }
    to.put(static_cast<std::uint64_t>(news.values.size()));
    for (const auto& [name, value] : news.values) {
        to.put(name);
        pack_value(to, value);
    }
    to.put(static_cast<std::uint64_t>(news.attributes.size()));
    for (const auto& [key, value] : news.attributes) {
        to.put(key.first);
        to.put(key.second);
        pack_value(to, value);
    }
    return to;
}

bool Steps::unpack(std::span<const std::byte> bytes, News& news) {
    base::Unpacker from(bytes);
    news.error = from.get_string();
    for (auto n = from.get<std::uint64_t>(); n > 0 && from.good(); --n) {
        const std::string name = from.get_string();
        const auto dtype = from.get<DType>();
        news.variables.emplace(name, Known{{}, dtype, from.get<Shape>()});
    }
    for (auto n = from.get<std::uint64_t>(); n > 0 && from.good(); --n) {
        const std::string name = from.get_string();
        news.values.emplace(name, unpack_value(from, from.get<std::uint64_t>()));
    }
    for (auto n = from.get<std::uint64_t>(); n > 0 && from.good(); --n) {
        std::string variable = from.get_string();
        std::string name = from.get_string();
        news.attributes.emplace(std::pair(std::move(variable), std::move(name)),
                                unpack_value(from, from.get<std::uint64_t>()));
    }
    return from.good();
}

// Of what several ranks say the lowest one's counts, but of variables all have to say the same.
Result<Steps::News> Steps::agree() {
    const base::Packer mine = pack(news_);
    news_ = {};
    const auto all = exchange_->allgatherv(mine.bytes());
    if (!all.ok()) return all.status();
    News agreed;
    std::map<std::string, int> said_by;
    for (int r = 0; r < size(); ++r) {
        News theirs;
        if (!unpack((*all)[static_cast<std::size_t>(r)], theirs))
            return Status{StatusCode::internal, fmt::format("rank {} sent a broken list", r)};
        if (!theirs.error.empty()) return invalid(theirs.error);
        for (const auto& [name, one] : theirs.variables) {
            const auto [before, added] = agreed.variables.emplace(name, one);
            if (added) said_by[name] = r;
            if (before->second.dtype != one.dtype || before->second.shape != one.shape)
                return invalid(fmt::format("variable '{}' is {} {} on rank {} and {} {} on rank {}",
                                           name, to_string(before->second.dtype),
                                           to_string(before->second.shape), said_by[name],
                                           to_string(one.dtype), to_string(one.shape), r));
        }
        agreed.values.merge(theirs.values);
        agreed.attributes.merge(theirs.attributes);
    }
    return agreed;
}

Status Steps::define(const std::string& variable, const Known& asked) {
    const auto known = known_.find(variable);
    if (known != known_.end()) {
        if (known->second.dtype != asked.dtype)
            return invalid(fmt::format("variable '{}' was {} and is {}", variable,
                                       to_string(known->second.dtype), to_string(asked.dtype)));
        if (Status status = writer_->reshape(known->second.field, asked.shape); !status.ok())
            return status;
        known->second.shape = asked.shape;
        return {};
    }
    FieldOptions options;
    // Nothing makes an ADIOS2 program write all of a variable.
    options.coverage = Coverage::partial;
    if (!is_integer(asked.dtype)) options.fill_value = std::numeric_limits<double>::quiet_NaN();
    const std::string name = field_name(variable);
    if (name != variable) options.attributes.push_back({"adios2_name", variable});
    auto field = writer_->define_field(name, asked.dtype, asked.shape,
                                       settings_.bound_of(variable, asked.dtype), options);
    if (!field.ok()) return field.status().with_context("variable '" + variable + "'");
    known_.emplace(variable, Known{*field, asked.dtype, asked.shape});
    return {};
}

Status Steps::define(const std::map<std::string, Known>& variables) {
    for (const auto& [variable, asked] : variables)
        if (Status status = define(variable, asked); !status.ok()) return status;
    return {};
}

Status Steps::attach(const News& news) {
    for (const auto& [name, value] : news.values)
        if (Status status =
                dump_->set_attribute(AttributeOwner::iteration(), attribute_name(name), value);
            !status.ok())
            return status;
    for (const auto& [key, value] : news.attributes) {
        const auto& [variable, name] = key;
        said_.emplace(key, true);  // another rank may have said it
        const auto known = known_.find(variable);
        Status status;
        if (!variable.empty() && known != known_.end())
            status = writer_->set_attribute(AttributeOwner::field(known->second.field),
                                            attribute_name(name), value);
        else {
            const std::string full = variable.empty() ? name : variable + "/" + name;
            status =
                first_ ? writer_->set_attribute(AttributeOwner::file(), attribute_name(full), value)
                       : dump_->set_attribute(AttributeOwner::iteration(), attribute_name(full),
                                              value);
        }
        if (!status.ok()) return status;
    }
    return {};
}

Status Steps::hand_over() {
    for (const Held& held : held_) {
        const Known& known = known_.at(held.part.variable);
        if (Status status = dump_->put_bytes(known.field, held.part.box, held.values,
                                             held.part.dtype, Ownership::copy);
            !status.ok())
            return status;
    }
    return {};
}

Status Steps::end() {
    if (!in_step()) return invalid("EndStep without BeginStep");
    auto news = agree();
    Status status = news.status();
    // What all ranks have agreed on goes well or wrong on all of them alike, but hand_over(), of
    // which Iteration::end() tells the others.
    if (news.ok()) status = define(news->variables);
    if (status.ok()) status = attach(*news);
    if (status.ok()) status = hand_over();
    held_.clear();
    // What other puts of this step have handed over goes too: a put that is refused costs the dump.
    if (!status.ok()) (void)dump_->put_bytes(Field{~0u}, {}, nullptr, float32, Ownership::copy);
    const Status ended = iteration_->end();
    dump_.reset();
    iteration_.reset();
    ++number_;
    first_ = false;
    return status.ok() ? ended : status;
}

}  // namespace caesura::adios
