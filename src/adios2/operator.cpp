// libcaesura_adios2_operator.so: an ADIOS2 operator of type "plugin". A block becomes a frame of
// our codec, which says its type, shape and bound: it decodes without parameters, as bpls needs it.
#include <adios2/plugin/PluginOperatorInterface.h>

#include <stdexcept>

#include "adios2/settings.hpp"
#include "caesura/codec.hpp"

static_assert(ADIOS2_PLUGIN_OPERATOR_INTERFACE == 2, "written for ADIOS2 2.12's interface");

namespace {

/// Our type of one of ADIOS2's; of others a number that is none.
caesura::DType dtype_of(::adios2::DataType type) {
    using ::adios2::DataType;
    switch (type) {
        case DataType::Float:
            return caesura::float32;
        case DataType::Double:
            return caesura::float64;
        case DataType::FloatComplex:
            return caesura::complex64;
        case DataType::DoubleComplex:
            return caesura::complex128;
        case DataType::Int8:
            return caesura::int8;
        case DataType::Int16:
            return caesura::int16;
        case DataType::Int32:
            return caesura::int32;
        case DataType::Int64:
            return caesura::int64;
        case DataType::UInt8:
        case DataType::Char:
            return caesura::uint8;
        case DataType::UInt16:
            return caesura::uint16;
        case DataType::UInt32:
            return caesura::uint32;
        case DataType::UInt64:
            return caesura::uint64;
        default:
            return caesura::DType{};
    }
}

[[noreturn]] void fail(const caesura::Status& status) {
    throw std::runtime_error("Caesura's operator: " + status.message());
}

class Operator final : public ::adios2::plugin::PluginOperatorInterface {
  public:
    explicit Operator(const ::adios2::Params& parameters) : PluginOperatorInterface(parameters) {
        const auto bound = caesura::adios::operator_bound({parameters.begin(), parameters.end()});
        if (!bound.ok()) fail(bound.status());
        bound_ = *bound;
    }

    size_t Operate(const char* data, const ::adios2::Dims& /*start*/, const ::adios2::Dims& count,
                   ::adios2::DataType type, char* frame) override {
        const caesura::DType dtype = dtype_of(type);
        for (const size_t extent : count)
            if (extent == 0) return 0;
        const caesura::Shape shape = shape_of(count, dtype);
        const std::size_t bytes = shape.count() * caesura::size_of(number_type(dtype));
        const auto bound = caesura::is_integer(dtype) ? caesura::lossless() : bound_;
        const auto made = caesura::compress_into(
            {reinterpret_cast<std::byte*>(frame), bytes + caesura::k_frame_overhead_bytes},
            {reinterpret_cast<const std::byte*>(data), bytes}, number_type(dtype), shape, bound);
        if (!made.ok()) fail(made.status());
        return *made;
    }

    size_t InverseOperate(const char* data, size_t bytes, char* values) override {
        if (bytes == 0) return 0;
        const std::span frame(reinterpret_cast<const std::byte*>(data), bytes);
        const auto info = caesura::read_frame_info(frame);
        if (!info.ok()) fail(info.status());
        const auto status =
            caesura::decompress(frame, {reinterpret_cast<std::byte*>(values), info->raw_bytes});
        if (!status.ok()) fail(status);
        return info->raw_bytes;
    }

    bool IsDataTypeValid(::adios2::DataType type) const override {
        return caesura::is_known(dtype_of(type));
    }

    size_t GetEstimatedSize(size_t count, size_t value_bytes, size_t,
                            const size_t*) const override {
        return count * value_bytes + caesura::k_frame_overhead_bytes;
    }

  private:
    /// At most four axes: ones go, and what is too much joins the slowest. The last one of a
    /// complex value's is its two numbers.
    static caesura::Shape shape_of(const ::adios2::Dims& count, caesura::DType dtype) {
        std::vector<std::uint64_t> axes;
        for (const size_t extent : count)
            if (extent != 1) axes.push_back(extent);
        if (caesura::is_complex(dtype)) axes.push_back(2);
        if (axes.empty()) axes.push_back(1);
        while (axes.size() > static_cast<std::size_t>(caesura::k_max_rank)) {
            axes[1] *= axes[0];
            axes.erase(axes.begin());
        }
        return caesura::Shape(std::span<const std::uint64_t>(axes));
    }

    caesura::ErrorBound bound_;
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) ::adios2::plugin::PluginOperatorInterface* OperatorCreate(
    const ::adios2::Params& parameters) {
    return new Operator(parameters);
}

__attribute__((visibility("default"))) void OperatorDestroy(
    ::adios2::plugin::PluginOperatorInterface* made) {
    delete made;
}
}
