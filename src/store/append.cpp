#include "store/append.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>

#include "base/file.hpp"
#include "store/commit_parts.hpp"
#include "store/committer.hpp"
#include "store/dump_path.hpp"
#include "store/hdf5_read.hpp"
#include "store/region_writer.hpp"

namespace caesura::store {
namespace {

/// A dump in the tree.
struct InTree {
    std::uint64_t iteration = 0;
    std::string path;
    std::optional<std::uint64_t> dump;  ///< unset: no region says it any more
};

std::string text_in(const std::vector<Attribute>& root, std::string_view name) {
    for (const Attribute& one : root)
        if (const auto* const text = std::get_if<std::string>(&one.value);
            text != nullptr && one.name == name)
            return *text;
    return {};
}

/// openPMD's file-based encoding is of files with one dump each: what says so must stay true.
Status accept_encoding(const std::string& path, const std::vector<Attribute>& root,
                       std::optional<std::uint64_t> dumps_per_file) {
    const std::string encoding = text_in(root, "iterationEncoding");
    const bool has_one = encoding == "fileBased";
    const auto refuse = [&](std::string what) {
        return Status{StatusCode::invalid_argument, path + ": " + std::move(what)};
    };
    if (!dumps_per_file && has_one)
        return refuse(
            fmt::format("it is a file of the series '{}', which have one dump each; "
                        "open the series",
                        text_in(root, "iterationFormat")));
    if (dumps_per_file && !encoding.empty() && has_one != (*dumps_per_file == 1))
        return refuse(fmt::format("files of its series have {}, and dumps_per_file is {}; give {}",
                                  has_one ? "one dump each" : "several dumps", *dumps_per_file,
                                  has_one ? "1" : "more than 1"));
    return {};
}

/// Is it a file whose tree dumps make, and nothing else?
Status accept(const std::string& path, const Begun& begun, const AppendRequest& request) {
    const std::string& layout = request.layout;
    const auto refuse = [&](std::string_view what) {
        return Status{StatusCode::unsupported,
                      fmt::format("{}: {}; Writer::open goes on with a file that Writer::create "
                                  "has made",
                                  path, what)};
    };
    if (begun.of_application)
        return refuse(
            "its groups and datasets are an application's own, written by HDF5 calls under the "
            "connector: open it with HDF5");
    for (const Attribute& attribute : begun.root)
        if (attribute.name == "caesura_checkpoints") return refuse("it is a file of checkpoints");
    const DumpPath paths(begun.root);
    if (!paths.has_groups())
        return refuse(
            fmt::format("in its layout '{}' a dump has no group for itself, so none can "
                        "be told from the others; make a new file",
                        paths.layout()));
    if (!begun.root.empty() && !layout.empty() && layout != paths.layout())
        return {StatusCode::invalid_argument,
                fmt::format(
                    "{}: layout '{}' is asked for, and the file has {}; leave it out", path, layout,
                    paths.layout().empty() ? "openPMD's" : fmt::format("'{}'", paths.layout()))};
    if (begun.has_tree && begun.record.end() == 0)
        return refuse("an application has made groups or datasets in it, and it has no dump");
    return accept_encoding(path, begun.root, request.dumps_per_file);
}

/// The dumps that readers see, in the order in which they were written.
Result<std::vector<InTree>> dumps_in(const OpenedForReading& file,
                                     const std::vector<Attribute>& root, const Begun& begun) {
    const DumpPath paths(root);
    const std::string parent = paths.parent();
    auto names = file.groups_in(parent);
    if (!names.ok()) return names.status();
    std::map<std::uint64_t, std::uint64_t> dump_of;  // the newest of an iteration
    for (const auto& [number, dump] : begun.dumps) dump_of[dump.iteration] = number;
    std::vector<InTree> found;
    bool all_known = true;
    for (const std::string& name : *names) {
        const std::string path = parent == "/" ? parent + name : parent + "/" + name;
        const auto iteration = paths.of_group(path);
        if (!iteration) continue;
        const auto number = dump_of.find(*iteration);
        all_known = all_known && number != dump_of.end();
        found.push_back({*iteration, path,
                         number == dump_of.end() ? std::nullopt : std::optional(number->second)});
    }
    std::sort(found.begin(), found.end(), [&](const InTree& a, const InTree& b) {
        return all_known ? *a.dump < *b.dump : a.iteration < b.iteration;
    });
    return found;
}

/// How many of the dumps stay.
Result<std::size_t> kept_of(const std::vector<InTree>& dumps, const std::string& path,
                            std::optional<std::uint64_t> after) {
    if (!after) return dumps.size();
    std::vector<std::uint64_t> all;
    for (const InTree& dump : dumps) {
        all.push_back(dump.iteration);
        if (dump.iteration == *after) return all.size();
    }
    return not_there(path, std::move(all), *after);
}

std::uint64_t stored_bytes(const Hdf5Content& content) {
    std::uint64_t bytes = content.other_bytes;
    for (const FoundDataset& dataset : content.datasets)
        if (!dataset.contiguous)
            for (const ChunkRecord& chunk : dataset.chunks) bytes += chunk.bytes;
    return bytes;
}

/// Looks into the tree. @return  the groups of dumps that are to be taken out.
Result<std::vector<std::string>> look(SharedFile& file, const Begun& begun,
                                      std::optional<std::uint64_t> after, AppendedTo& out) {
    PlacingState state;
    state.file = &file.file();
    auto bytes = file.file().size();
    if (!bytes.ok()) return bytes.status();
    state.file_bytes = *bytes;
    auto opened = OpenedForReading::open(state, file.path());
    if (!opened.ok()) return opened.status();
    const auto root = opened->root();
    if (!root.ok()) return root.status();
    const auto dumps = dumps_in(*opened, *root, begun);
    if (!dumps.ok()) return dumps.status();
    const auto kept = kept_of(*dumps, file.path(), after);
    if (!kept.ok()) return kept.status();
    std::vector<std::string> taken_out;
    for (std::size_t i = 0; i < dumps->size(); ++i) {
        const InTree& dump = (*dumps)[i];
        (i < *kept ? out.kept : out.dropped).push_back(dump.iteration);
        if (i + 1 < *kept) continue;
        auto content = opened->below(dump.path);
        if (!content.ok()) return content.status();
        if (i >= *kept) {
            out.dropped_bytes += stored_bytes(*content);
            taken_out.push_back(dump.path);
            continue;
        }
        out.last_path = dump.path;
        for (FoundDataset& dataset : content->datasets) {
            if (dataset.members == std::vector<std::string>{"r", "i"})
                dataset.spec.dtype = dataset.spec.dtype == float32 ? complex64 : complex128;
            out.last.push_back(std::move(dataset.spec));
        }
    }
    return taken_out;
}

Result<AppendedTo> append(base::FileSystem& file_system, const std::string& path,
                          const AppendRequest& request) {
    auto recovered = recover_and_keep(
        file_system, path, [&](const Begun& begun) { return accept(path, begun, request); });
    if (!recovered.ok()) return recovered.status();
    AppendedTo out;
    out.file = std::move(recovered->file);
    out.recovered = std::move(recovered->report);
    auto before = read_before(out.file);
    if (!before.ok()) return before.status();
    out.next_dump = before->record.end();
    out.root = recovered->begun.root;
    out.layout = out.root.empty() ? request.layout : DumpPath(out.root).layout();
    if (!before->has_superblock) {
        if (auto kept = kept_of({}, path, request.after); !kept.ok()) return kept.status();
    } else {
        const auto taken_out = look(out.file, recovered->begun, request.after, out);
        if (!taken_out.ok()) return taken_out.status();
        if (!taken_out->empty()) {
            Committer committer(out.file);
            auto image = committer.take_out(*taken_out);
            if (!image.ok()) return image.status();
            if (Status s = image->flush(out.file, request.durable); !s.ok()) return s;
        }
    }
    const auto bytes = out.file.file().size();
    if (!bytes.ok()) return bytes.status();
    out.file_end = align_up(std::max(*bytes, first_region_address()));
    // Down to the shared lock of a run; see recover_and_open().
    if (Status status = out.file.file().lock(false); !status.ok()) return status;
    return out;
}

}  // namespace

Status not_there(const std::string& path, std::vector<std::uint64_t> iterations,
                 std::uint64_t wanted) {
    std::sort(iterations.begin(), iterations.end());
    if (iterations.empty())
        return {StatusCode::invalid_argument,
                fmt::format("{}: iteration {} is not there, and no other: it has no dump", path,
                            wanted)};
    constexpr std::ptrdiff_t k_beside = 3;
    const auto above = std::lower_bound(iterations.begin(), iterations.end(), wanted);
    const auto first = above - std::min(k_beside, above - iterations.begin());
    const auto last = above + std::min(k_beside, iterations.end() - above);
    return {StatusCode::invalid_argument,
            fmt::format("{}: iteration {} is not there; of its {} dumps the nearest are {}", path,
                        wanted, iterations.size(),
                        fmt::join(std::vector<std::uint64_t>(first, last), ", "))};
}

Result<AppendedTo> open_to_append(base::FileSystem& file_system, const std::string& path,
                                  const AppendRequest& request) try {
    return append(file_system, path, request);
} catch (const std::bad_alloc&) {
    return Status{StatusCode::no_space, path + ": out of memory while going on with it"};
} catch (const std::exception& error) {
    return Status{StatusCode::internal, path + ": " + error.what()};
}

}  // namespace caesura::store
