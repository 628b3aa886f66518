#include "writer/experience.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "writer/transport.hpp"

namespace caesura::writer {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Every run of digits becomes one mark.
std::string without_numbers(const std::string& path) {
    std::string out;
    for (const char c : path)
        if (!is_digit(c))
            out += c;
        else if (out.empty() || out.back() != '#')
            out += '#';
    return out;
}

}  // namespace

FieldModels& Experience::of_field(const std::string& path, const CodecSpec& codec, DType dtype,
                                  const Shape& chunk) {
    const std::string kind =
        fmt::format("|{}|{}|{}", codec.name, to_string(dtype), to_string(chunk));
    const std::string key = path + kind;
    std::string& newest = newest_[without_numbers(path) + kind];
    const auto known = fields_.find(key);
    if (known != fields_.end()) {
        newest = key;
        return known->second;
    }
    // Fields of a Writer's own file have names for life: what differs is another field.
    const auto alike = chunk.rank() > 0 ? fields_.find(newest) : fields_.end();
    FieldModels models =
        alike != fields_.end()
            ? alike->second
            : FieldModels{predict::SizeModel(codec.name, dtype),
                          predict::CompressModel(codec.name, dtype, profile ? &*profile : nullptr),
                          TableSet()};
    newest = key;
    return fields_.emplace(key, std::move(models)).first->second;
}

Shape Experience::fitting_chunk(const std::string& path, const Shape& dims) const {
    const auto found = chunks_.find(without_numbers(path) + to_string(dims));
    return found == chunks_.end() ? Shape() : found->second;
}

void Experience::keep_fitting_chunk(const std::string& path, const Shape& dims,
                                    const Shape& chunk) {
    chunks_[without_numbers(path) + to_string(dims)] = chunk;
}

void Experience::use(std::shared_ptr<Transport> service) {
    transport = std::move(service);
    if (base::PageSource* const pages = transport->pages()) pool.take_pages_from(*pages);
}

void Experience::learn_pauses(double now_s, std::optional<double> pauses_s, double cores) {
    // An old interval counts half as much as the one after it.
    constexpr double k_new = 2.0 / 3.0, k_rounding_s = 0.1;
    if (!pauses_s) {
        pauses_ = {};
        return;
    }
    const double wall_s = now_s - pauses_.since_s, had_s = *pauses_s - pauses_.had_s;
    double of_late = -1.0;
    // Else the cores that are counted are others than before.
    if (pauses_.since_s >= 0.0 && had_s >= 0.0 && had_s <= cores * wall_s + k_rounding_s) {
        const double share = std::min(had_s / wall_s, cores);
        of_late = pauses_.of_late < 0.0 ? share : k_new * share + (1.0 - k_new) * pauses_.of_late;
    }
    pauses_ = {now_s, *pauses_s, of_late};
}

Experience::HandOver Experience::hand_over(double asked_s, double now_s,
                                           const std::function<std::optional<double>()>& pauses_s,
                                           double cores) {
    constexpr double k_least_s = 10.0, k_intervals = 2.0;
    constexpr double k_long_enough_s = 0.2;  // the kernel counts hundredths
    constexpr double k_row = 0.1;            // of the interval between rows
    const double since_s = last_dump_s_ < 0.0 ? 0.0 : now_s - last_dump_s_;
    last_dump_s_ = now_s;
    const double row_s = now_s - row_begin_s_;
    if (row_begin_s_ < 0.0) {
        row_begin_s_ = now_s;
    } else if (std::isinf(interval_s_) || row_s >= k_row * interval_s_) {
        interval_s_ = row_s;
        row_begin_s_ = now_s;
    }
    if (pauses_.since_s < 0.0 || now_s - pauses_.since_s >= k_long_enough_s)
        learn_pauses(now_s, pauses_s(), cores);
    const double delay_s = asked_s > 0.0 ? asked_s : std::max(k_least_s, k_intervals * since_s);
    return {delay_s, interval_s_, pauses_.of_late};
}

}  // namespace caesura::writer
