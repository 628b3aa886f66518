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

double Experience::max_delay_s(double asked_s, double now_s) {
    constexpr double k_least_s = 10.0, k_intervals = 2.0;
    const double interval_s = last_dump_s_ < 0.0 ? 0.0 : now_s - last_dump_s_;
    last_dump_s_ = now_s;
    return asked_s > 0.0 ? asked_s : std::max(k_least_s, k_intervals * interval_s);
}

}  // namespace caesura::writer
