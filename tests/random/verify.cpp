// What a file of a program has to hold, by the Reader and by HDF5 alone.
#include <fmt/format.h>
#include <hdf5.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <set>

#include "base/short_float.hpp"
#include "caesura/reader.hpp"
#include "program.hpp"

namespace caesura::random_programs {
namespace {

/// All values that a field or a record has in a dump.
struct Expected {
    std::string path, name;
    const FieldPlan* plan = nullptr;
    Shape shape;
    std::vector<std::byte> values;  ///< dense, C order; the fill value where nothing was put
    std::vector<bool> is_put;
};

template <class T>
void fill_with(const FillValue& fill, std::size_t count, std::vector<std::byte>& values) {
    const T one = std::visit([](auto v) { return static_cast<T>(v); }, fill);
    values.resize(count * sizeof(T));
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(values.data() + i * sizeof(T), &one, sizeof one);
}

template <class Short>
void fill_short(const FillValue& fill, std::size_t count, std::vector<std::byte>& values) {
    const double wide = std::visit([](auto v) { return static_cast<double>(v); }, fill);
    const auto one = base::to_short<Short>(static_cast<float>(wide));
    values.resize(count * sizeof one);
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(values.data() + i * sizeof one, &one, sizeof one);
}

void fill_with(DType dtype, const FillValue& fill, std::size_t n, std::vector<std::byte>& out) {
    switch (dtype) {
        case float32:
            return fill_with<float>(fill, n, out);
        case float64:
            return fill_with<double>(fill, n, out);
        case int8:
            return fill_with<std::int8_t>(fill, n, out);
        case int16:
            return fill_with<std::int16_t>(fill, n, out);
        case int32:
            return fill_with<std::int32_t>(fill, n, out);
        case int64:
            return fill_with<std::int64_t>(fill, n, out);
        case uint8:
            return fill_with<std::uint8_t>(fill, n, out);
        case uint16:
            return fill_with<std::uint16_t>(fill, n, out);
        case uint32:
            return fill_with<std::uint32_t>(fill, n, out);
        case uint64:
            return fill_with<std::uint64_t>(fill, n, out);
        case boolean:
            return fill_with<bool>(fill, n, out);
        case float16:
            return fill_short<Float16>(fill, n, out);
        case bfloat16:
            return fill_short<Bfloat16>(fill, n, out);
        case complex64:  // of both parts
            return fill_with<float>(fill, 2 * n, out);
        case complex128:
            return fill_with<double>(fill, 2 * n, out);
    }
}

Expected expect_field(const Program& program, std::size_t field, const DumpPlan& dump) {
    Expected wanted;
    wanted.plan = &program.fields[field];
    wanted.name = wanted.plan->name;
    wanted.path = program.path_of(dump.iteration, wanted.name);
    wanted.shape = dump.fields[field].shape;
    const std::size_t n = wanted.shape.count(), size = size_of(wanted.plan->dtype);
    fill_with(wanted.plan->dtype, wanted.plan->fill, n, wanted.values);
    // A map of what was put, box by box.
    std::vector<char> map(n, 0);
    for (const testing::OwnedBox& one : dump.fields[field].boxes) {
        const std::vector<char> ones(one.box.extent.count(), 1);
        copy_box(one.box, one.box, reinterpret_cast<const std::byte*>(ones.data()),
                 {Shape::filled(wanted.shape.rank(), 0), wanted.shape},
                 reinterpret_cast<std::byte*>(map.data()), 1);
    }
    wanted.is_put.assign(map.begin(), map.end());
    for (std::size_t i = 0; i < n; ++i)
        if (wanted.is_put[i])
            value_of(program, *wanted.plan, dump.iteration, i, wanted.values.data() + i * size);
    return wanted;
}

Expected expect_record(const Program& program, std::size_t record, const DumpPlan& dump) {
    Expected wanted;
    wanted.plan = &program.records[record];
    wanted.name = "electrons/" + wanted.plan->name;
    wanted.path = program.path_of_record(dump.iteration, wanted.plan->name);
    std::uint64_t count = 0;
    for (const std::uint64_t one : dump.species.counts) count += one;
    wanted.shape = {count};
    const std::size_t size = size_of(wanted.plan->dtype);
    wanted.values.resize(count * size);
    wanted.is_put.assign(count, true);
    for (std::size_t i = 0; i < count; ++i)
        value_of(program, *wanted.plan, dump.iteration, i, wanted.values.data() + i * size);
    return wanted;
}

std::vector<Expected> expect(const Program& program, const DumpPlan& dump) {
    std::vector<Expected> all;
    for (std::size_t i = 0; i < program.fields.size(); ++i)
        if (dump.fields[i].is_put) all.push_back(expect_field(program, i, dump));
    if (dump.species.is_put)
        for (std::size_t i = 0; i < program.records.size(); ++i)
            all.push_back(expect_record(program, i, dump));
    return all;
}

/// How many numbers a value is.
std::size_t parts_of(DType dtype) { return is_complex(dtype) ? 2 : 1; }

/// @param at  of one number.
double double_at(DType dtype, const std::byte* at) {
    if (dtype == float16 || dtype == bfloat16) {
        float wide = 0;
        base::widen({at, 2}, dtype, reinterpret_cast<std::byte*>(&wide));
        return static_cast<double>(wide);
    }
    if (dtype == float64 || dtype == complex128) {
        double value = 0;
        std::memcpy(&value, at, sizeof value);
        return value;
    }
    float value = 0;
    std::memcpy(&value, at, sizeof value);
    return static_cast<double>(value);
}

/// What the bound of floats comes to in this dump.
struct Limit {
    double absolute = 0.0, of_value = 0.0, squares = 0.0;  ///< squares: mean over all values
    bool by_squares = false;
};

Limit limit_of(const Expected& wanted) {
    const FieldPlan& plan = *wanted.plan;
    const std::size_t parts = parts_of(plan.dtype), size = size_of(plan.dtype) / parts;
    double low = HUGE_VAL, high = -HUGE_VAL;
    for (std::size_t i = 0; i < wanted.is_put.size() * parts; ++i) {
        const double x = double_at(plan.dtype, wanted.values.data() + i * size);
        if (!wanted.is_put[i / parts] || !std::isfinite(x)) continue;
        low = std::min(low, x);
        high = std::max(high, x);
    }
    const double range = high > low ? high - low : 0.0;
    Limit limit;
    switch (plan.bound.kind) {
        case ErrorBound::Kind::lossless:
            break;
        case ErrorBound::Kind::absolute:
            limit.absolute = plan.bound.value;
            break;
        // The range's ends are rounded once.
        case ErrorBound::Kind::relative:
            limit.absolute = plan.bound.value * range * (1 + 1e-6);
            break;
        case ErrorBound::Kind::pointwise_relative:
            limit.of_value = plan.bound.value;
            break;
        case ErrorBound::Kind::psnr:
            limit.by_squares = true;
            limit.squares = range * range * std::pow(10.0, -plan.bound.value / 10.0) * (1 + 1e-6);
            break;
    }
    if (plan.codec == "none") limit = {};
    return limit;
}

bool same_special(double x, double y) {
    if (std::isnan(x)) return std::isnan(y);
    return std::isinf(x) && x == y;
}

/// Empty: these are the values.
std::string compare(const Expected& wanted, std::span<const std::byte> found) {
    const FieldPlan& plan = *wanted.plan;
    const std::size_t parts = parts_of(plan.dtype), size = size_of(plan.dtype) / parts;
    if (found.size() != wanted.values.size())
        return fmt::format("{} bytes, not {}", found.size(), wanted.values.size());
    const Limit limit = is_integer(plan.dtype) ? Limit{} : limit_of(wanted);
    double squares = 0.0, n_put = 0.0;
    for (std::size_t i = 0; i < wanted.is_put.size() * parts; ++i) {
        const bool is_put = wanted.is_put[i / parts];
        const std::byte *const a = wanted.values.data() + i * size, *const b =
                                                                        found.data() + i * size;
        if (std::memcmp(a, b, size) == 0) {
            n_put += is_put;
            continue;
        }
        const bool lossy = !is_integer(plan.dtype) && is_put;
        if (!lossy) return fmt::format("value {} is not as it was put", i);
        const double x = double_at(plan.dtype, a), y = double_at(plan.dtype, b);
        if (same_special(x, y)) continue;
        const double error = std::abs(x - y);
        if (limit.by_squares && std::isfinite(error)) {
            squares += error * error;
            n_put += 1;
        } else if (!(error <= limit.absolute || error <= limit.of_value * std::abs(x))) {
            return fmt::format(
                "value {}: {:.17g} became {:.17g}, allowed are {:.3g} and {:.3g} of it", i, x, y,
                limit.absolute, limit.of_value);
        }
    }
    if (limit.by_squares && n_put > 0 && squares / n_put > limit.squares)
        return fmt::format("mean square error {:.3g}, allowed {:.3g}", squares / n_put,
                           limit.squares);
    return {};
}

// -------------------------------------------------------------------------------- two readers

std::string read_by_reader(const Reader& reader, const DumpPlan& dump, const Expected& wanted) {
    const auto field = reader.find(wanted.name, dump.iteration);
    if (!field.ok()) return field.status().message();
    const FieldInfo& info = reader.fields()[*field];
    if (info.shape != wanted.shape)
        return fmt::format("shape {}, not {}", to_string(info.shape), to_string(wanted.shape));
    if (info.path != wanted.path) return "it lies at " + info.path;
    std::vector<std::byte> values(wanted.values.size());
    // Of a dump without particles the type may be wider (docs/reference/particles.md).
    if (wanted.shape.count() == 0) return {};
    const Status status =
        reader.read(*field, {Shape::filled(wanted.shape.rank(), 0), wanted.shape}, values);
    return status.ok() ? compare(wanted, values) : status.message();
}

class Handle {
  public:
    Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
    ~Handle() {
        if (id_ >= 0) close_(id_);
    }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    operator hid_t() const { return id_; }

  private:
    hid_t id_;
    herr_t (*close_)(hid_t);
};

/// As any program of HDF5 reads it: the values as the file has them.
std::string read_by_hdf5(hid_t file, const Expected& wanted) {
    if (wanted.shape.count() == 0) {  // a group that says so: HDF5 has no chunks of nothing
        const Handle group(H5Gopen2(file, wanted.path.c_str(), H5P_DEFAULT), H5Gclose);
        return group >= 0 ? "" : "there is no group of it";
    }
    const Handle dataset(H5Dopen2(file, wanted.path.c_str(), H5P_DEFAULT), H5Dclose);
    if (dataset < 0) return "HDF5 finds no such dataset";
    const Handle type(H5Dget_type(dataset), H5Tclose), space(H5Dget_space(dataset), H5Sclose);
    std::vector<hsize_t> dims(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
    H5Sget_simple_extent_dims(space, dims.data(), nullptr);
    if (Shape(std::vector<std::uint64_t>(dims.begin(), dims.end())) != wanted.shape)
        return "HDF5 sees another shape";
    if (H5Tget_size(type) != size_of(wanted.plan->dtype)) return "HDF5 sees another type";
    std::vector<std::byte> values(wanted.values.size());
    if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) < 0)
        return "H5Dread fails";
    return compare(wanted, values);
}

bool has(const Reader& reader, std::uint64_t iteration) {
    return std::any_of(reader.dumps().begin(), reader.dumps().end(),
                       [&](const DumpInfo& dump) { return dump.iteration == iteration; });
}

}  // namespace

std::string wrong_with(const Program& program, const std::string& path,
                       std::span<const std::uint64_t> must_have) {
    const auto reader = Reader::open(path);
    if (!reader.ok() && must_have.empty()) return {};  // nothing was made yet
    if (!reader.ok()) return "the Reader: " + reader.status().message();
    // Before the first commit HDF5 has nothing to open.
    if (must_have.empty() && (*reader)->fields().empty()) return {};
    std::set<std::string> known;
    for (const KeptDump& kept : program.kept(path)) {
        const DumpPlan& dump = *kept.plan;
        const bool must =
            std::find(must_have.begin(), must_have.end(), dump.iteration) != must_have.end();
        if (!has(**reader, dump.iteration)) {
            if (must) return fmt::format("dump {} was committed and is not there", dump.iteration);
            continue;
        }
        const Handle file(H5Fopen(kept.file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
        if (file < 0) return "HDF5 does not open " + kept.file;
        for (const Expected& wanted : expect(program, dump)) {
            known.insert(wanted.path);
            const auto complain = [&](const char* who, const std::string& what) {
                return fmt::format("dump {}, {}, {}: {}", dump.iteration, wanted.name, who, what);
            };
            if (const std::string what = read_by_reader(**reader, dump, wanted); !what.empty())
                return complain("the Reader", what);
            if (const std::string what = read_by_hdf5(file, wanted); !what.empty())
                return complain("HDF5", what);
        }
    }
    for (const FieldInfo& field : (*reader)->fields())
        if (!known.contains(field.path) && field.codec != "constant" &&
            field.path.find("/particlePatches/") == std::string::npos)
            return "nobody put " + field.path;
    return {};
}

}  // namespace caesura::random_programs
