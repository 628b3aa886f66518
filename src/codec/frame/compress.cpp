#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "codec/bound/float_environment.hpp"
#include "codec/frame/decode_frame.hpp"
#include "codec/frame/estimate_again.hpp"
#include "codec/frame/masked_frame.hpp"
#include "codec/frame/recode_frame.hpp"
#include "codec/frame/region_encoder.hpp"
#include "codec/frame/slabs.hpp"
#include "codec/frame/typed_view.hpp"
#include "codec/frame/workspace.hpp"

namespace caesura {
namespace codec {
namespace {

using Bytes = std::span<const std::byte>;

Bytes bytes_of(const Slab& slab, Bytes values, std::size_t value_bytes) {
    return values.subspan(static_cast<std::size_t>(slab.first) * value_bytes,
                          static_cast<std::size_t>(slab.shape.count()) * value_bytes);
}

/// Parts in the order of their slabs, whichever thread is done first: a thread that is ahead waits,
/// so that no more parts are held than there are threads.
class OrderedParts {
  public:
    OrderedParts(const FrameHeader& header, const Slabs& slabs, Output& frame)
        : header_(header), count_(slabs.count()), frame_(frame) {}

    /// False if another slab has failed; nothing is appended then.
    bool append(std::uint64_t index, Bytes part, const TableStatistics* counts,
                TableStatistics* statistics) {
        const std::uint64_t checksum = header_.checksum ? part_checksum(part, index) : 0;
        std::unique_lock lock(mutex_);
        turn_.wait(lock, [&] { return next_ == index || failed_; });
        if (failed_) return false;
        if (index == 0) frame_.expect(frame_.size() + part.size() * count_ / 16 * 17);
        frame_.append(part);
        set_part(frame_.bytes(), header_, index, part.size(), checksum);
        if (statistics != nullptr) statistics->add(*counts);
        ++next_;
        turn_.notify_all();
        return true;
    }
    void fail() {
        const std::lock_guard lock(mutex_);
        failed_ = true;
        turn_.notify_all();
    }

  private:
    const FrameHeader& header_;
    const std::uint64_t count_;
    Output& frame_;
    std::mutex mutex_;
    std::condition_variable turn_;
    std::uint64_t next_ = 0;
    bool failed_ = false;
};

/// The part of a slab.
Status encode_slab(PartEncoder& encoder, Bytes values, const Shape& shape,
                   const EncodeRequest& request, TableStatistics* statistics, Output& out) {
    if (request.mode == Mode::regions && !is_integer(request.header.dtype))
        return encode_regions(encoder, values, shape, request, statistics, out);
    return encoder.encode(values, shape, request, statistics, out);
}

Status encode_slabs(Bytes values, const Slabs& slabs, const EncodeRequest& request, int threads,
                    TableStatistics* statistics, Output& frame) {
    write_slab_table(slabs, frame);
    OrderedParts parts(request.header, slabs, frame);
    const auto encode_one = [&](std::uint64_t index) -> Status {
        const FloatEnvironment environment;
        const Slab slab = slabs[index];
        const WorkspaceLease workspace;
        Output& part = workspace->part;
        part.clear();
        TableStatistics counts;
        Status status =
            encode_slab(workspace->encoder, bytes_of(slab, values, request.header.value_bytes()),
                        slab.shape, request, statistics != nullptr ? &counts : nullptr, part);
        if (status.ok()) parts.append(index, part.bytes(), &counts, statistics);
        return status;
    };
    return for_each_parallel(slabs.count(), threads, [&](int, std::uint64_t index) -> Status {
        try {
            Status status = encode_one(index);
            if (!status.ok()) parts.fail();
            return status;
        } catch (...) {
            parts.fail();  // or others would wait for ever
            throw;
        }
    });
}

void write_raw_frame(Bytes values, FrameHeader header, Output& frame) {
    header.slabs = false;
    frame.clear();
    frame.expect(header.header_bytes() + 1 + values.size());
    write_header(header, frame);
    frame.push_back(static_cast<std::byte>(PartKind::raw));
    frame.append(values);
}

/// A frame but for its checksum.
Status encode_frame(Bytes values, const EncodeRequest& request, int threads,
                    TableStatistics* statistics, Output& frame) {
    frame.clear();
    const FrameHeader& header = request.header;
    Status status;
    write_header(header, frame);
    if (header.slabs) {
        status = encode_slabs(values, choose_slabs(header.shape, header.value_bytes()), request,
                              threads, statistics, frame);
    } else {
        const FloatEnvironment environment;
        const WorkspaceLease workspace;
        status = encode_slab(workspace->encoder, values, header.shape, request, statistics, frame);
    }
    if (status.ok() && frame.size() > header.header_bytes() + 1 + values.size())
        write_raw_frame(values, header, frame);
    if (status.ok() && !header.untyped) status = stamp_version(frame.bytes());
    return status;
}

/// Mean of (x - x')^2 over the finite values.
template <class T>
Status mean_square(Bytes values, Bytes frame, const TableSet* tables, int threads, double& result) {
    const auto layout = read_layout(frame);
    if (!layout.ok()) return layout.status();
    const std::uint64_t slabs = layout->slabs.count();
    std::vector<double> sums(static_cast<std::size_t>(slabs));
    std::vector<std::uint64_t> finite(sums.size());
    const Status status = for_each_parallel(slabs, threads, [&](int, std::uint64_t index) {
        const Bytes original = bytes_of(layout->slabs[index], values, sizeof(T));
        std::vector<T> copy;
        std::vector<T> decoded(original.size() / sizeof(T));
        const auto bytes = std::as_writable_bytes(std::span(decoded));
        const Status one = decode_slab(*layout, index, tables, bytes);
        const auto view = std::as_bytes(typed_view<T>(original, copy));
        const auto at = static_cast<std::size_t>(index);
        const FloatEnvironment environment;
        sums[at] = squared_error(view, bytes, layout->header.dtype);
        finite[at] = count_finite(view, layout->header.dtype);
        return one;
    });
    double sum = 0;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) {
        sum += sums[i];
        count += finite[i];
    }
    result = count > 0 ? sum / static_cast<double>(count) : 0.0;
    return status;
}

/// Encode, and for a PSNR look at what came out and tighten the bound until the target is met.
Status encode_to_target(Bytes values, EncodeRequest request, int threads,
                        TableStatistics* statistics, Output& frame) {
    const double limit = request.bound.mean_square_limit;
    const FloatEnvironment environment;
    // No value moves by more than the bound, so this one cannot miss.
    const double certain = std::sqrt(limit) * (1 - 1e-9);
    for (int attempt = 0;; ++attempt) {
        TableStatistics counts;
        Status status = encode_frame(values, request, threads,
                                     statistics != nullptr ? &counts : nullptr, frame);
        if (!status.ok()) return status;
        double found = 0;
        const bool sure = limit == 0 || request.bound.bound <= certain;
        if (!sure) {
            status =
                request.header.dtype == DType::float32
                    ? mean_square<float>(values, frame.bytes(), request.tables, threads, found)
                    : mean_square<double>(values, frame.bytes(), request.tables, threads, found);
            if (!status.ok()) return status;
        }
        if (sure || found <= limit) {
            if (statistics != nullptr) statistics->add(counts);
            return status;
        }
        constexpr double k_under = 0.998;
        double next = request.bound.bound * std::sqrt(limit / found) * k_under;
        if (attempt > 0) next = certain;
        request.bound.bound = round_down(std::max(next, certain), request.header.dtype);
        if (request.bound.bound == 0) request.bound = {};
    }
}

Status check_array(Bytes values, DType dtype, const Shape& shape, const ErrorBound& bound) {
    if (!is_number(dtype)) {
        return {StatusCode::invalid_argument,
                fmt::format("data type {} is none that the codec knows; other types go through "
                            "compress_bytes",
                            static_cast<int>(dtype))};
    }
    if (is_integer(dtype) && bound.kind != ErrorBound::Kind::lossless) {
        return {StatusCode::invalid_argument,
                fmt::format("an error bound for {}; integers are stored without loss",
                            to_string(dtype))};
    }
    if (shape.rank() < 1) {
        return {StatusCode::invalid_argument, "the array has no axis; give a scalar the shape [1]"};
    }
    std::uint64_t most = values.size() / size_of(dtype);
    bool fits = values.size() % size_of(dtype) == 0;
    for (int axis = 0; axis < shape.rank() && fits; ++axis) {
        fits = shape[axis] >= 1 && most % shape[axis] == 0;
        if (fits) most /= shape[axis];
    }
    if (fits && most == 1) return {};
    return {StatusCode::invalid_argument,
            fmt::format("{} bytes are not a {} array of shape {} (every extent at least 1)",
                        values.size(), to_string(dtype), to_string(shape))};
}

Status check_options(const CompressOptions& options) {
    const auto wrong = [](std::string what) {
        return Status(StatusCode::invalid_argument, std::move(what));
    };
    if (options.mode > Mode::regions)
        return wrong(fmt::format("unknown mode {}", static_cast<int>(options.mode)));
    if (options.threads < 0)
        return wrong(
            fmt::format("{} threads; give 0 for as many as the machine has", options.threads));
    return {};
}

/// Everything about a call that does not need its values.
Result<EncodeRequest> make_request(Bytes values, DType dtype, const Shape& shape,
                                   const ErrorBound& bound, const CompressOptions& options,
                                   const TableSet& built_in) {
    for (const Status& status :
         {check_array(values, dtype, shape, bound), check_options(options), validate(bound)})
        if (!status.ok()) return status;
    EncodeRequest request;
    request.header.checksum = options.checksum;
    request.header.dtype = dtype;
    if (is_integer(dtype)) request.header.version = k_integer_frame_version;
    request.header.shape = shape;
    request.header.bound = bound;
    request.header.slabs = choose_slabs(shape, size_of(dtype)).count() > 1;
    request.mode = options.mode;
    request.tables = options.tables != nullptr ? options.tables : &built_in;
    request.drift_check = options.drift_check;
    return request;
}

/// The frame of an array of a type that is its own. @param range  of the finite values, or null.
Status encode_own(Bytes values, DType dtype, const Shape& shape, const ErrorBound& bound,
                  const CompressOptions& options, const FiniteRange* range, Output& frame) {
    const TableSet built_in;
    auto request = make_request(values, dtype, shape, bound, options, built_in);
    if (!request.ok()) return request.status();
    {
        const FloatEnvironment environment;
        request->bound = resolve(bound, values, dtype, options.threads, range);
    }
    const Status status =
        encode_to_target(values, *request, options.threads, options.statistics, frame);
    return status.ok() ? seal(frame.bytes()) : status;
}

/// The frame of an array with missing values. Where that is longer than the values, or a mask
/// cannot have as many, a lossless one.
Status encode_masked(Bytes values, const MaskedArray& array, FrameHeader header,
                     CompressOptions options, Output& frame) {
    options.missing = {};
    options.find_suspects = false;
    frame.clear();
    if (!array.filled.empty()) {
        const auto inside =
            compress(array.filled, header.dtype, header.shape, array.bound, options);
        if (!inside.ok()) return inside.status();
        header.version = k_masked_frame_version;
        header.slabs = false;
        write_masked_head(header, array.mask, frame);
        if (frame.size() + inside->size() < header.header_bytes() + values.size()) {
            frame.append(*inside);
            return {};
        }
        frame.clear();
    }
    const auto exactly = compress(values, header.dtype, header.shape, lossless(), options);
    if (!exactly.ok()) return exactly.status();
    frame.append(*exactly);
    return {};
}

/// The frame of an array.
Status encode_array(Bytes values, DType dtype, const Shape& shape, const ErrorBound& bound,
                    const CompressOptions& options, Output& frame) {
    const TableSet built_in;
    const auto request = make_request(values, dtype, shape, bound, options, built_in);
    if (!request.ok()) return request.status();
    std::optional<FiniteRange> range;
    if (const auto array = without_missing(values, dtype, shape, bound, options, &range))
        return encode_masked(values, *array, request->header, options, frame);
    if (is_recoded(dtype)) return compress_recoded(values, dtype, shape, bound, options, frame);
    return encode_own(values, dtype, shape, bound, options, range ? &*range : nullptr, frame);
}

/// The frame of bytes of any type.
Status encode_bytes(Bytes bytes, std::size_t value_bytes, bool checksum, Output& frame) {
    if (value_bytes < 1 || value_bytes > 65536) {
        return {StatusCode::invalid_argument,
                fmt::format("values of {} bytes; give 1 to 65536", value_bytes)};
    }
    EncodeRequest request;
    request.header.checksum = checksum;
    request.header.untyped = true;
    request.header.shape = Shape{bytes.size(), value_bytes};
    const Status status = encode_frame(bytes, request, 1, nullptr, frame);
    return status.ok() ? seal(frame.bytes()) : status;
}

/// Of a frame's slabs, by what `predict` says of some; nullopt where it does not.
/// @param settings  as estimate_again().
template <class Predict>
std::optional<Estimate> estimate_slabs(EncodeRequest& request, std::optional<Choice>* settings,
                                       Predict predict) {
    const FrameHeader& header = request.header;
    const Slabs slabs = choose_slabs(header.shape, header.value_bytes());
    constexpr std::uint64_t k_most_slabs = 8;
    const std::uint64_t looked_at = std::min(slabs.count(), k_most_slabs);
    double predicted = 0;
    double values = 0;
    Estimate estimate;
    const bool is_one = settings != nullptr && slabs.count() == 1;
    const std::optional<Choice> before = is_one ? std::exchange(*settings, {}) : std::nullopt;
    request.chosen = before ? &*before : nullptr;
    request.is_first_look = is_one;
    for (std::uint64_t i = 0; i < looked_at; ++i) {
        const Slab slab = slabs[(2 * i + 1) * slabs.count() / (2 * looked_at)];
        const std::optional<Choice> choice = predict(slab);
        if (!choice) return std::nullopt;
        predicted += static_cast<double>(choice->bytes);
        values += static_cast<double>(slab.shape.count());
        const bool lorenzo = choice->kind == PartKind::lorenzo;
        estimate.exact |= choice->kind == PartKind::lossless || choice->kind == PartKind::raw ||
                          is_integer(header.dtype);
        estimate.mode = request.mode == Mode::planes ? Mode::planes
                        : lorenzo                    ? Mode::fast
                                                     : Mode::strong;
        if (is_one && (lorenzo || choice->kind == PartKind::interpolation)) *settings = choice;
    }
    const double head = static_cast<double>(header.header_bytes()) +
                        (slabs.count() > 1 ? 12 + 16 * static_cast<double>(slabs.count()) : 0);
    estimate.bytes = static_cast<std::uint64_t>(
        head + predicted * static_cast<double>(header.shape.count()) / values);
    return estimate;
}

constexpr std::uint64_t k_sample_values = 1U << 18;

/// From the middle of `part`, as near to a cube as its axes allow: enough for a sample.
Box middle_of(const Box& part) {
    Box box = part;
    while (box.extent.count() > k_sample_values) {
        int longest = 0;
        for (int axis = 1; axis < box.extent.rank(); ++axis)
            if (box.extent[axis] > box.extent[longest]) longest = axis;
        box.extent[longest] = (box.extent[longest] + 1) / 2;
    }
    for (int axis = 0; axis < box.extent.rank(); ++axis)
        box.offset[axis] += (part.extent[axis] - box.extent[axis]) / 2;
    return box;
}

/// By a copy of the middle of `part`.
Result<Estimate> estimate_middle(const std::byte* array, DType dtype, const Box& array_box,
                                 const Box& part, const ErrorBound& bound,
                                 const CompressOptions& options) {
    const std::size_t value_bytes = size_of(dtype);
    const Box box = middle_of(part);
    std::vector<std::byte> copy(static_cast<std::size_t>(box.extent.count()) * value_bytes);
    copy_box(box, array_box, array, box, copy.data(), value_bytes);
    auto found = estimate(copy, dtype, box.extent, bound, options);
    if (found.ok())
        found->bytes = static_cast<std::uint64_t>(static_cast<double>(found->bytes) *
                                                  static_cast<double>(part.extent.count()) /
                                                  static_cast<double>(box.extent.count()));
    return found;
}

/// Values of 16 bits are coded as others, all of them before the first is looked at: an estimate
/// takes a sample of them, unless the bound is one of the range of all.
bool estimates_sample(DType dtype, const Shape& shape, const ErrorBound& bound) {
    using Kind = ErrorBound::Kind;
    return is_short_float(dtype) && shape.count() > k_sample_values &&
           bound.kind != Kind::relative && bound.kind != Kind::psnr;
}

/// Turn what the standard library throws where memory ends into a Status.
template <class Call>
auto guarded(Call call) -> decltype(call()) {
    try {
        return call();
    } catch (const std::bad_alloc&) {
        return Status(StatusCode::no_space, "not enough memory to compress an array");
    } catch (const std::length_error&) {
        return Status(StatusCode::no_space, "an array of more bytes than can be addressed");
    }
}

/// A frame in memory of its own ...
template <class Encode>
Result<std::vector<std::byte>> new_frame(Encode encode) {
    return guarded([&]() -> Result<std::vector<std::byte>> {
        Output frame;
        if (Status status = encode(frame); !status.ok()) return status;
        return frame.take();
    });
}

/// ... or in the caller's.
template <class Encode>
Result<std::size_t> frame_in(std::span<std::byte> memory, std::size_t raw_bytes, Encode encode) {
    if (memory.size() < raw_bytes + k_frame_overhead_bytes) {
        return Status(StatusCode::invalid_argument,
                      fmt::format("{} bytes for the frame of {}; give it {} more than the values",
                                  memory.size(), raw_bytes, k_frame_overhead_bytes));
    }
    return guarded([&]() -> Result<std::size_t> {
        Output frame(memory);
        if (Status status = encode(frame); !status.ok()) return status;
        if (!frame.in_brought_memory())  // for a while it was longer
            std::memcpy(memory.data(), frame.data(), frame.size());
        return frame.size();
    });
}

/// The frame of an array with missing values: the mask itself, and an estimate of what is inside.
Result<Estimate> estimate_masked(Bytes values, const MaskedArray& array, FrameHeader header,
                                 CompressOptions options) {
    options.missing = {};
    options.find_suspects = false;
    if (array.filled.empty())
        return estimate(values, header.dtype, header.shape, lossless(), options);
    auto found = estimate(array.filled, header.dtype, header.shape, array.bound, options);
    if (!found.ok()) return found;
    Output head;
    header.version = k_masked_frame_version;
    write_masked_head(header, array.mask, head);
    found->bytes += head.size();
    return found;
}

/// Of a dense array.
Result<Estimate> estimate_whole(Bytes values, DType dtype, const Shape& shape,
                                const ErrorBound& bound, const CompressOptions& options,
                                std::optional<Choice>* settings) {
    return guarded([&]() -> Result<Estimate> {
        const TableSet built_in;
        auto request = make_request(values, dtype, shape, bound, options, built_in);
        if (!request.ok()) return request.status();
        const Box whole{Shape::filled(shape.rank(), 0), shape};
        if (looks_masked(values.data(), dtype, whole, whole, bound, options)) {
            if (settings != nullptr) settings->reset();
            if (const auto array = without_missing(values, dtype, shape, bound, options, nullptr))
                return estimate_masked(values, *array, request->header, options);
        }
        if (is_recoded(dtype)) {
            if (settings != nullptr) settings->reset();
            if (estimates_sample(dtype, shape, bound)) {
                return estimate_middle(values.data(), dtype, whole, whole, bound, options);
            }
            return estimate_recoded(values, dtype, shape, bound, options);
        }
        const FloatEnvironment environment;
        request->bound = resolve(bound, values, dtype, options.threads);
        const WorkspaceLease workspace;
        return *estimate_slabs(*request, settings, [&](const Slab& slab) {
            const auto part = bytes_of(slab, values, size_of(dtype));
            return std::optional(workspace->encoder.predict(part, slab.shape, *request));
        });
    });
}

}  // namespace

Result<Estimate> estimate_again(const std::byte* array, DType dtype, const Box& array_box,
                                const Box& part, const ErrorBound& bound,
                                const CompressOptions& options, std::optional<Choice>* settings) {
    const std::size_t value_bytes = size_of(dtype);
    const std::byte* const dense = dense_part(part, array_box, array, value_bytes);
    const std::size_t bytes = static_cast<std::size_t>(part.extent.count()) * value_bytes;
    if (dense != nullptr)
        return estimate_whole({dense, bytes}, dtype, part.extent, bound, options, settings);
    return guarded([&]() -> Result<Estimate> {
        const TableSet built_in;
        auto request = make_request({array, bytes}, dtype, part.extent, bound, options, built_in);
        if (!request.ok()) return request.status();
        if (looks_masked(array, dtype, array_box, part, bound, options)) {
            std::vector<std::byte> copy(bytes);
            copy_box(part, array_box, array, part, copy.data(), value_bytes);
            return estimate_whole(copy, dtype, part.extent, bound, options, settings);
        }
        if (bound.kind == ErrorBound::Kind::absolute && !is_recoded(dtype)) {
            const FloatEnvironment environment;
            request->bound = resolve(bound, {}, dtype, options.threads);
            const WorkspaceLease workspace;
            const auto found = estimate_slabs(*request, settings, [&](const Slab& slab) {
                const std::uint64_t first = index_in(array_box, part, slab.first);
                return workspace->encoder.predict_in_place(array + first * value_bytes, slab.shape,
                                                           array_box.extent, *request);
            });
            if (found) return *found;
        }
        if (settings != nullptr) settings->reset();
        return estimate_middle(array, dtype, array_box, part, bound, options);
    });
}

}  // namespace codec

Result<std::vector<std::byte>> compress(std::span<const std::byte> values, DType dtype,
                                        const Shape& shape, const ErrorBound& bound,
                                        const CompressOptions& options) {
    return codec::new_frame([&](codec::Output& frame) {
        return codec::encode_array(values, dtype, shape, bound, options, frame);
    });
}

Result<std::size_t> compress_into(std::span<std::byte> frame, std::span<const std::byte> values,
                                  DType dtype, const Shape& shape, const ErrorBound& bound,
                                  const CompressOptions& options) {
    return codec::frame_in(frame, values.size(), [&](codec::Output& out) {
        return codec::encode_array(values, dtype, shape, bound, options, out);
    });
}

Result<Estimate> estimate(std::span<const std::byte> values, DType dtype, const Shape& shape,
                          const ErrorBound& bound, const CompressOptions& options) {
    return codec::estimate_whole(values, dtype, shape, bound, options, nullptr);
}

Result<Estimate> estimate_part(const std::byte* array, DType dtype, const Box& array_box,
                               const Box& part, const ErrorBound& bound,
                               const CompressOptions& options) {
    return codec::estimate_again(array, dtype, array_box, part, bound, options, nullptr);
}

Result<std::vector<std::byte>> compress_bytes(std::span<const std::byte> bytes,
                                              std::size_t value_bytes, bool checksum) {
    return codec::new_frame([&](codec::Output& frame) {
        return codec::encode_bytes(bytes, value_bytes, checksum, frame);
    });
}

Result<std::size_t> compress_bytes_into(std::span<std::byte> frame,
                                        std::span<const std::byte> bytes, std::size_t value_bytes,
                                        bool checksum) {
    return codec::frame_in(frame, bytes.size(), [&](codec::Output& out) {
        return codec::encode_bytes(bytes, value_bytes, checksum, out);
    });
}

}  // namespace caesura
