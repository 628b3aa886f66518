// libcaesura_adios2.so: an ADIOS2 engine of type "plugin", for writing. @see steps.hpp
//
// ADIOS2 hands a plugin a variable's shape, start and count, and where the values are. Of the
// memory selection its core is asked. Spans are not to be had.
#include <adios2/common/Selection.h>
#include <adios2/cxx/ADIOS.h>
#include <adios2/cxx/Attribute.h>
#include <adios2/plugin/PluginEngineInterface.h>

#include <complex>
#include <stdexcept>

#include "adios2/openpmd.hpp"
#ifdef CAESURA_ADIOS2_MPI
#include "caesura/mpi.hpp"
#endif

static_assert(ADIOS2_PLUGIN_ENGINE_INTERFACE == 2, "written for ADIOS2 2.12's interface");

namespace {

using caesura::Shape;
using caesura::Status;
using caesura::adios::Part;
using caesura::adios::Settings;
using caesura::store::AttributeValue;

[[noreturn]] void fail(const std::string& message) {
    throw std::runtime_error("Caesura's engine: " + message);
}
void require(const Status& status) {
    if (!status.ok()) fail(status.message());
}

Shape shape_of(const adios2::Dims& dims) {
    if (dims.size() > static_cast<std::size_t>(caesura::k_max_rank))
        fail(std::to_string(dims.size()) + " axes; a variable may have 1 to 4");
    const std::vector<std::uint64_t> extents(dims.begin(), dims.end());
    return Shape(std::span<const std::uint64_t>(extents));
}

// The public variable says nothing of its memory selection. InferSelection, of an installed header,
// does, and wants the core's variable. That is a private member, which an explicit instantiation
// may name. Its class is not known here: it derives from VariableBase alone, which thus begins it.
template <class T, auto Member>
struct CoreOf {
    friend const adios2::core::VariableBase& core_of(const adios2::Variable<T>& variable) {
        return *reinterpret_cast<const adios2::core::VariableBase*>(variable.*Member);
    }
};
#define CAESURA_CORE(T)                                                    \
    const adios2::core::VariableBase& core_of(const adios2::Variable<T>&); \
    template struct CoreOf<T, &adios2::Variable<T>::m_Variable>;
ADIOS2_FOREACH_STDTYPE_1ARG(CAESURA_CORE)
#undef CAESURA_CORE

template <class T>
constexpr bool k_is_array_type = !std::is_same_v<T, std::string> && !std::is_same_v<T, long double>;

template <class T>
consteval caesura::DType dtype_of() {
    if constexpr (std::is_same_v<T, char>)
        return std::is_signed_v<char> ? caesura::DType::int8 : caesura::DType::uint8;
    else
        return caesura::dtype_of<T>();
}

/// The values of an attribute, in the types that an attribute of a file has.
template <class T>
AttributeValue attribute_of(const T* values, std::size_t n, bool is_one) {
    const auto list = [&]<class To>(To) -> AttributeValue {
        if (is_one) return static_cast<To>(values[0]);
        return std::vector<To>(values, values + n);
    };
    if constexpr (std::is_same_v<T, std::string>) {
        return list(std::string());
    } else if constexpr (std::is_integral_v<T>) {
        if constexpr (std::is_signed_v<T>)
            return list(std::int64_t{});
        else
            return list(std::uint64_t{});
    } else if constexpr (std::is_floating_point_v<T>) {
        return list(double{});
    } else {  // complex: real and imaginary parts in turn
        std::vector<double> parts;
        for (std::size_t i = 0; i < n; ++i) {
            parts.push_back(static_cast<double>(values[i].real()));
            parts.push_back(static_cast<double>(values[i].imag()));
        }
        return parts;
    }
}

/// Whom this rank writes with; none where it writes alone.
///
/// ADIOS2 2.12 hands an engine of a plugin no communicator, though its interface has one: its core,
/// which calls EngineCreate, is compiled without MPI in every build.
std::unique_ptr<caesura::Communicator> ranks_of([[maybe_unused]] Settings::Ranks said) {
#ifdef CAESURA_ADIOS2_MPI
    int runs = 0, ended = 0, size = 1;
    MPI_Initialized(&runs);
    MPI_Finalized(&ended);
    if (!runs || ended) return nullptr;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1 && said == Settings::Ranks::unsaid)
        fail(
            "parameter 'Ranks' is missing: 'all' where every rank of MPI_COMM_WORLD opens this "
            "output, 'one' where a single rank does. ADIOS2 does not tell a plugin who opened");
    if (size > 1 && said == Settings::Ranks::all) return caesura::mpi(MPI_COMM_WORLD);
#endif
    return nullptr;
}

class Engine final : public adios2::plugin::PluginEngineInterface {
  public:
    Engine(adios2::IO io, const std::string& name, adios2::Mode mode)
        : PluginEngineInterface(io, name, mode) {
        open();
    }

    adios2::StepStatus BeginStep(adios2::StepMode mode, const float /*timeout_s*/) override {
        if (mode != adios2::StepMode::Append && mode != adios2::StepMode::Update)
            fail("BeginStep: steps can be appended only");
        require(steps_->begin());
        steps_are_said_ = true;
        return adios2::StepStatus::OK;
    }
    void EndStep() override { end(); }
    size_t CurrentStep() const override { return steps_->number(); }
    void DoClose(const int /*transport*/) override {
        // A program without steps has one.
        if (!steps_are_said_ && !steps_->in_step()) require(steps_->begin());
        if (steps_->in_step()) end();
        require(steps_->close());
    }

#define CAESURA_PUT(T)                                                                         \
    void DoPutSync(adios2::Variable<T> variable, const T* values) override {                   \
        put(variable, values);                                                                 \
    }                                                                                          \
    void DoPutDeferred(adios2::Variable<T> variable, const T* values) override {               \
        put(variable, values);                                                                 \
    }                                                                                          \
    void DoGetSync(adios2::Variable<T> variable, T*) override { refuse_get(variable.Name()); } \
    void DoGetDeferred(adios2::Variable<T> variable, T*) override { refuse_get(variable.Name()); }
    ADIOS2_FOREACH_STDTYPE_1ARG(CAESURA_PUT)
#undef CAESURA_PUT

#define CAESURA_SPAN(T)                                                                           \
    void DoPut(adios2::Variable<T> variable, typename adios2::Variable<T>::Span&, bool, const T&) \
        override {                                                                                \
        fail("variable '" + variable.Name() +                                                     \
             "': ADIOS2 gives plugins no spans to fill; put "                                     \
             "values from memory of the program");                                                \
    }
    ADIOS2_FOREACH_PRIMITIVE_STDTYPE_1ARG(CAESURA_SPAN)
#undef CAESURA_SPAN

  private:
    void open() {
        if (m_OpenMode != adios2::Mode::Write && m_OpenMode != adios2::Mode::Append)
            fail(
                "it writes only; read the file with h5py, caesura::Reader or another reader of "
                "HDF5");
        const adios2::Params said = m_IO.Parameters();
        auto settings = caesura::adios::settings_of({said.begin(), said.end()});
        if (!settings.ok()) fail(settings.status().message());
        const Settings::Ranks said_ranks = settings->ranks;
        auto steps =
            caesura::adios::Steps::open(std::move(*settings), m_OpenMode == adios2::Mode::Append,
                                        ranks_of(said_ranks), ranks_of(said_ranks));
        if (!steps.ok()) fail(steps.status().message());
        steps_ = std::move(*steps);
        if (m_IO.InquireAttribute<std::uint8_t>(caesura::adios::OpenPmd::k_sign))
            openpmd_.emplace(*steps_);
    }

    void end() {
        if (openpmd_) find_paths();
        said_.clear();
        value_types_.clear();
        say_attributes();
        if (openpmd_) openpmd_->end(said_, value_types_);
        require(steps_->end());
    }
    /// Where openPMD-api says that meshes and particles are.
    void find_paths() {
        const auto path = [this](const char* attribute, const char* otherwise) {
            const auto said = m_IO.InquireAttribute<std::string>(attribute);
            return said ? said.Data().at(0) : std::string(otherwise);
        };
        openpmd_->set_paths(path("/meshesPath", "meshes/"), path("/particlesPath", "particles/"));
    }

    [[noreturn]] static void refuse_get(const std::string& variable) {
        fail("Get of '" + variable + "': it writes only");
    }

    template <class T>
    void put(adios2::Variable<T> variable, const T* values) {
        const std::string name = variable.Name();
        if (!steps_->in_step()) {
            if (steps_are_said_) fail("Put of '" + name + "' outside a step");
            require(steps_->begin());
        }
        if (!variable.Operations().empty())
            fail("variable '" + name +
                 "' has an operation, which this engine does not carry out; "
                 "give its bound as parameter 'Bound." +
                 name + "' of the engine");
        if (openpmd_) find_paths();
        const adios2::ShapeID kind = variable.ShapeID();
        if (kind == adios2::ShapeID::GlobalValue) {
            require(steps_->put_value(name, attribute_of(values, 1, true)));
            return;
        }
        if constexpr (!k_is_array_type<T>) {
            fail("variable '" + name + "' is of type " + variable.Type() +
                 ", of which single values can be written only");
        } else {
            Part part{name, dtype_of<T>(), {}, {}};
            if (kind == adios2::ShapeID::LocalValue) {  // one of each rank
                part.shape = Shape::filled(1, static_cast<std::uint64_t>(steps_->size()));
                part.box.offset = Shape::filled(1, static_cast<std::uint64_t>(steps_->rank()));
                part.box.extent = Shape::filled(1, 1);
            } else if (kind == adios2::ShapeID::GlobalArray) {
                part.shape = shape_of(variable.Shape());
                part.box.offset = shape_of(variable.Start());
                part.box.extent = shape_of(variable.Count());
                const auto selection = adios2::core::InferSelection(core_of(variable));
                if (selection.HasMemorySelection())
                    part.within = {shape_of(selection.GetMemoryStart()),
                                   shape_of(selection.GetMemoryCount())};
            } else {
                fail("variable '" + name +
                     "' is a local or joined array; give it a shape and each rank its start");
            }
            require(openpmd_ ? openpmd_->put(part, values) : steps_->put(part, values));
        }
    }

    void say_attributes() {
        for (const auto& [full, about] : m_IO.AvailableAttributes()) {
            const auto type = about.find("Type");
            if (type == about.end()) continue;
#define CAESURA_ATTRIBUTE(T) \
    if (type->second == adios2::GetType<T>()) say_attribute<T>(full);
            ADIOS2_FOREACH_ATTRIBUTE_STDTYPE_1ARG(CAESURA_ATTRIBUTE)
#undef CAESURA_ATTRIBUTE
        }
    }
    /// That of a variable is named "variable/attribute".
    template <class T>
    void say_attribute(const std::string& full) {
        const auto attribute = m_IO.InquireAttribute<T>(full);
        if (!attribute) return;
        const std::vector<T> values = attribute.Data();
        if (values.empty()) return;
        AttributeValue value = attribute_of(values.data(), values.size(), attribute.IsValue());
        if (openpmd_) {
            if constexpr (k_is_array_type<T>)
                if (full.ends_with("/value")) value_types_.emplace(full, dtype_of<T>());
            said_.emplace(full, std::move(value));
            return;
        }
        std::string variable, name = full;
        for (std::size_t at = full.rfind('/'); at != std::string::npos && at > 0;
             at = full.rfind('/', at - 1))
            if (!m_IO.VariableType(full.substr(0, at)).empty()) {
                variable = full.substr(0, at);
                name = full.substr(at + 1);
                break;
            }
        steps_->set_attribute(variable, name, std::move(value));
    }

    std::unique_ptr<caesura::adios::Steps> steps_;
    std::optional<caesura::adios::OpenPmd> openpmd_;
    std::map<std::string, AttributeValue> said_;  ///< to openpmd_
    std::map<std::string, caesura::DType> value_types_;
    bool steps_are_said_ = false;
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) adios2::plugin::PluginEngineInterface* EngineCreate(
    adios2::IO io, const std::string& name, const adios2::Mode mode) {
    return new Engine(io, name, mode);
}

__attribute__((visibility("default"))) void EngineDestroy(
    adios2::plugin::PluginEngineInterface* made) {
    delete made;
}
}
