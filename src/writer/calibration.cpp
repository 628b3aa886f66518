// What was measured on this class of machines, for the models to start from.
//
// Invariants:
//  - All ranks start from the same text: rank 0 reads it, the others are told. Models may still
//    differ from rank to rank: each finds its own file system.
//  - A calibration that is missing, damaged or somebody else's is never an error of the writer: the
//    models start from built-in curves, and on_message says why.
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/host.hpp"
#include "writer/impl.hpp"

namespace caesura {
namespace {

constexpr std::uint64_t k_most_bytes = 16u << 20;  // a profile has some 20 KB

// Regular files only: a pipe may never answer, and all ranks would wait for it.
std::string read_text(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return "";
    const std::uintmax_t bytes = std::filesystem::file_size(path, error);
    if (error || bytes > k_most_bytes) return "";
    std::string text(static_cast<std::size_t>(bytes), '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(file.gcount()));
    return text;
}

}  // namespace

Status Writer::Impl::load_calibration() {
    if (std::exchange(session.experience->calibration_read, true)) return {};
    std::string text, place = session.options.calibration_path;
    const bool named = !place.empty() || std::getenv("CAESURA_CALIBRATION") != nullptr;
    if (session.rank == 0) {
        if (place.empty()) place = calibration_path(host_class().name);
        if (!place.empty() && place != "none") text = read_text(place);
        if (text.empty() && named && place != "none")
            session.warn(
                writer::Warning::calibration,
                fmt::format("calibration {} cannot be read; predictions start from built-in "
                            "values. `caesura calibrate --output {}` makes it",
                            place, place));
    }
    std::uint64_t length = text.size();
    if (Status sent = session.comm->broadcast(std::as_writable_bytes(std::span(&length, 1)), 0);
        !sent.ok())
        return sent;
    if (length == 0) return {};
    text.resize(length);
    if (Status sent = session.comm->broadcast(std::as_writable_bytes(std::span(text)), 0);
        !sent.ok())
        return sent;
    auto parsed = predict::parse_profile(text);
    if (!parsed.ok()) {
        if (session.rank == 0)
            session.warn(writer::Warning::calibration,
                         fmt::format("{}: {}", place, parsed.status().message()));
        return {};
    }
    const std::string here = host_class().name;
    // A file that was named is used all the same: whoever names it knows the machines.
    if (parsed->host_class != here) {
        if (session.rank == 0)
            session.warn(
                writer::Warning::calibration,
                fmt::format("calibration {} is of {}, this machine is {}{}", place,
                            parsed->host_class, here,
                            named ? "" : ": not used; `caesura calibrate` measures this one"));
        if (!named) return {};
    }
    const std::string& there = series.name ? series.name->directory() : session.path;
    if (const auto* curve = parsed->find_write(file_system_type(there), false); curve != nullptr)
        session.experience->write_model = predict::WriteModel(*curve);
    session.experience->profile = std::move(*parsed);
    return {};
}

}  // namespace caesura
