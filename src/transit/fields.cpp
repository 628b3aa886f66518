#include "transit/fields.hpp"

#include <algorithm>

namespace caesura::transit {
namespace {

/// A byte that goes on with a character of UTF-8: nothing is cut in front of one.
bool goes_on(char c) { return (static_cast<unsigned char>(c) & 0xc0U) == 0x80U; }

}  // namespace

void FieldWriter::note(const std::string& value, std::size_t limit, const char* name,
                       bool keep_end) {
    if (value.size() <= limit) return text(value, limit, name);
    std::size_t begin = keep_end ? value.size() - limit : 0;
    std::size_t end = keep_end ? value.size() : limit;
    while (keep_end && begin < end && goes_on(value[begin])) ++begin;
    while (!keep_end && end > begin && goes_on(value[end])) --end;
    text(value.substr(begin, end - begin), limit, name);
}

void FieldWriter::status(const Status& value) {
    one_of(value.code(), StatusCode::ok, StatusCode::internal, "code");
    note(value.ok() ? std::string() : value.message(), k_reason_limit_bytes, "reason");
}

void FieldReader::status(Status& value) {
    StatusCode code = StatusCode::ok;
    one_of(code, StatusCode::ok, StatusCode::internal, "code");
    std::string reason;
    text(reason, k_reason_limit_bytes, "reason");
    if (code == StatusCode::ok && !reason.empty())
        fail(StatusCode::corrupt, "a reason without an error");
    value = code == StatusCode::ok ? Status() : Status(code, std::move(reason));
}

void FieldReader::version(std::uint32_t& value) {
    value = in_.u32();
    if (ended() || !error_.ok() || value == k_protocol_version) return;
    fail(StatusCode::unsupported, fmt::format("the peer speaks version {} of the protocol, this "
                                              "library version {}; use the same release",
                                              value, k_protocol_version));
}

std::size_t FieldReader::count(std::size_t limit, std::size_t least_bytes, const char* name) {
    const std::size_t n = in_.u32();
    if (!good()) return 0;
    if (n > limit) {
        fail(StatusCode::corrupt, fmt::format("{} has {} of at most {}", name, n, limit));
        return 0;
    }
    if (n > in_.rest().size() / least_bytes) {
        fail(StatusCode::insufficient_data,
             fmt::format("it ends before the last of {} {}", n, name));
        return 0;
    }
    return n;
}

Status FieldReader::end() {
    if (good() && !in_.rest().empty())
        fail(StatusCode::corrupt, fmt::format("{} bytes behind the last", in_.rest().size()));
    return error_;
}

}  // namespace caesura::transit
