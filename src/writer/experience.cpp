#include "writer/experience.hpp"

#include <fmt/format.h>

#include <algorithm>

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

Experience::HandOver Experience::hand_over(double asked_s, double now_s,
                                           std::optional<double> pauses_s) {
    constexpr double k_least_s = 10.0, k_intervals = 2.0;
    // The kernel counts hundredths. An old interval counts half as much as the one after it.
    constexpr double k_long_enough_s = 0.2, k_new = 2.0 / 3.0;
    const bool is_first = last_dump_s_ < 0.0;
    const double since_s = is_first ? 0.0 : now_s - last_dump_s_;
    last_dump_s_ = now_s;
    if (!is_first)
        interval_s_ = interval_s_ > 1e300 ? since_s : std::max(since_s, 0.5 * interval_s_);
    if (!pauses_s) {
        pauses_ = {};
    } else if (pauses_.since_s < 0.0) {
        pauses_ = {now_s, *pauses_s, -1.0};
    } else if (const double wall_s = now_s - pauses_.since_s; wall_s >= k_long_enough_s) {
        const double had = std::max(0.0, *pauses_s - pauses_.had_s) / wall_s;
        const double before = pauses_.of_late;
        pauses_ = {now_s, *pauses_s, before < 0.0 ? had : k_new * had + (1.0 - k_new) * before};
    }
    const double delay_s = asked_s > 0.0 ? asked_s : std::max(k_least_s, k_intervals * since_s);
    return {delay_s, interval_s_, pauses_.of_late};
}

}  // namespace caesura::writer
