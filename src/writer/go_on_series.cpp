// Writer::open with a series of files: each is recovered, and what lies behind the dump that is
// kept goes. New dumps go to new files.
//
// Invariant: files go from the last one backwards, and then dumps of the one that stays, in one
// commit. A run that dies meanwhile leaves a series that ends earlier than it did, and not before
// the dump that is kept.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/file.hpp"
#include "store/append.hpp"
#include "store/region_writer.hpp"
#include "writer/impl.hpp"

namespace caesura {
namespace {

/// Was its run killed before it had made the file? Then nothing of it is lost.
bool is_half_made(base::FileSystem& files, const Status& status, const std::string& path) {
    if (status.code() != StatusCode::corrupt) return false;
    const auto file = files.open(path, base::FileSystem::Mode::read);
    if (!file.ok()) return false;
    const auto bytes = (*file)->size();
    return bytes.ok() && *bytes < store::first_region_address();
}

/// While nobody else has it.
Status remove_file(base::FileSystem& files, const std::string& path) {
    const auto file = files.open(path, base::FileSystem::Mode::read_write);
    if (!file.ok()) return file.status();
    if (Status locked = (*file)->lock(true); !locked.ok()) return locked;
    return files.remove(path);
}

}  // namespace

Status Writer::Impl::take_up_series() {
    Status mine;
    if (session.rank == 0) mine = together([this] { return find_series(); });
    if (Status all = round.agree(mine); !all.ok()) return all;
    return tell_known();
}

Status Writer::Impl::find_series() {
    base::FileSystem& files = file_system();
    const auto found = series.name->find();
    if (!found.ok()) return found.status();
    struct Part {
        std::string path;
        std::vector<std::uint64_t> kept;
    };
    std::vector<Part> parts;
    std::vector<std::uint64_t> all;
    for (const base::SeriesName::Found& file : *found) {
        auto part = append_to(files, file.path, {});
        if (!part.ok() && is_half_made(files, part.status(), file.path)) {
            session.warn(writer::Warning::of_file,
                         file.path + ": its run was killed while it made it; passed over");
            continue;
        }
        if (!part.ok()) return part.status();
        all.insert(all.end(), part->kept.begin(), part->kept.end());
        // One without dumps may be made anew.
        if (!part->kept.empty()) series.held = part->file.keep();
        parts.push_back({file.path, std::move(part->kept)});
    }
    if (parts.empty())
        return {StatusCode::io,
                session.path + ": no file of this series is there; Writer::create begins one"};
    known.kept = all;
    if (opening->after) {
        const std::uint64_t after = *opening->after;
        const auto last = std::find_if(parts.begin(), parts.end(), [&](const Part& part) {
            return std::find(part.kept.begin(), part.kept.end(), after) != part.kept.end();
        });
        if (last == parts.end()) return store::not_there(session.path, std::move(all), after);
        series.held.reset();
        for (auto part = parts.end() - 1; part != last; --part)
            if (Status gone = remove_file(files, part->path); !gone.ok()) return gone;
        if (session.options.durable)
            if (Status synced = files.sync_directory_of(last->path); !synced.ok()) return synced;
        const auto kept = append_to(files, last->path, after);
        if (!kept.ok()) return kept.status();
        series.held = kept->file.keep();
        known.kept.clear();
        for (auto part = parts.begin(); part != last; ++part)
            known.kept.insert(known.kept.end(), part->kept.begin(), part->kept.end());
        known.kept.insert(known.kept.end(), kept->kept.begin(), kept->kept.end());
        const std::span dropped = std::span(all).subspan(known.kept.size());
        if (!dropped.empty())
            session.say(
                fmt::format("{}: iterations {} are dropped, and {} files that had nothing "
                            "else removed",
                            session.path, fmt::join(dropped, ", "), parts.end() - last - 1));
    }
    say_where_it_goes_on();
    return {};
}

}  // namespace caesura
