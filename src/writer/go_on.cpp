// Writer::open: a Writer that goes on with a file that an earlier run has made.
//
// Invariant: rank 0 alone recovers the file, looks into it and drops what is not kept
// (store/append.hpp); the others open it when that is done, and hear what they need to know.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "base/wire.hpp"
#include "hdf5/block_codec.hpp"
#include "store/append.hpp"
#include "store/dump_path.hpp"
#include "writer/impl.hpp"

namespace caesura {
namespace {

const store::Attribute* find_in(const store::DatasetSpec& dataset, std::string_view name) {
    const auto found = std::find_if(dataset.attributes.begin(), dataset.attributes.end(),
                                    [&](const store::Attribute& one) { return one.name == name; });
    return found == dataset.attributes.end() ? nullptr : &*found;
}

/// The name that a dataset of the dump at `dump` had as a field (writer/experience.hpp).
std::string field_name(const store::DumpPath& paths, const std::string& dump,
                       const store::DatasetSpec& dataset) {
    constexpr std::string_view k_meshes = "meshes/";
    if (const auto of = paths.of(dataset.path); of && !of->field.empty()) {
        const bool particles = find_in(dataset, store::DumpPath::k_species) != nullptr;
        return (particles ? "particles/" : "") + of->field;
    }
    const std::string inside = dataset.path.substr(std::min(dataset.path.size(), dump.size() + 1));
    return inside.starts_with(k_meshes) ? inside.substr(k_meshes.size()) : inside;
}

std::string codec_of(const store::DatasetSpec& dataset) {
    const store::Attribute* const codec = find_in(dataset, "caesura_codec");
    const auto* const name = codec ? std::get_if<std::string>(&codec->value) : nullptr;
    return name != nullptr ? *name : std::string();
}

std::string list_of(const std::vector<std::uint64_t>& numbers) {
    constexpr std::size_t k_most = 20;
    if (numbers.size() <= k_most) return fmt::format("{}", fmt::join(numbers, ", "));
    return fmt::format("{}, ... {} ({} of them)",
                       fmt::join(numbers.begin(), numbers.begin() + k_most - 1, ", "),
                       numbers.back(), numbers.size());
}

std::string text_of(const store::RecoverReport& report) {
    std::string text = "its run had not closed it: ";
    if (!report.finished_iterations.empty())
        text += fmt::format("iterations {} lay whole in it and are committed now; ",
                            list_of(report.finished_iterations));
    for (const auto& dropped : report.dropped)
        text += fmt::format(
            "iteration {} was not whole and is dropped ({} of {} blocks); ",
            dropped.iteration ? std::to_string(*dropped.iteration) : std::string("(not known)"),
            dropped.blocks_found,
            dropped.blocks_expected > 0 ? std::to_string(dropped.blocks_expected)
                                        : std::string("an unknown number of"));
    return text + "nothing that was committed is lost";
}

}  // namespace

Status Writer::Impl::check_opening() const {
    if (session.options.transport.empty()) return {};
    return {StatusCode::unsupported,
            fmt::format("{}: a service cannot go on with a file (transport {}); open it without "
                        "transport, or create a new one",
                        session.path, session.options.transport)};
}

Result<store::AppendedTo> Writer::Impl::append_to(base::FileSystem& files, const std::string& path,
                                                  std::optional<std::uint64_t> after) {
    store::AppendRequest request;
    request.after = after;
    request.layout = session.options.layout;
    if (series.name) request.dumps_per_file = session.options.dumps_per_file;
    request.durable = session.options.durable;
    auto taken = store::open_to_append(files, path, request);
    if (!taken.ok()) return taken;
    // A file that its run had only begun says nothing.
    if (!taken->root.empty() || known.layout.empty()) known.layout = taken->layout;
    session.totals.superseded_bytes += taken->dropped_bytes;
    if (!taken->recovered.was_clean)
        session.warn(writer::Warning::of_file, path + ": " + text_of(taken->recovered));
    if (!taken->dropped.empty())
        session.say(
            fmt::format("{}: iterations {} are dropped; their {} bytes stay in the file, "
                        "unused",
                        path, list_of(taken->dropped), taken->dropped_bytes));
    if (taken->kept.empty()) return taken;
    known.tables.clear();
    const store::DumpPath paths(taken->root);
    for (const store::DatasetSpec& dataset : taken->last)
        if (const auto set = tables_in(dataset.pipeline)) {
            const auto bytes = set->bytes();
            known.tables.push_back({field_name(paths, taken->last_path, dataset),
                                    codec_of(dataset),
                                    dataset.dtype,
                                    {bytes.begin(), bytes.end()}});
        }
    return taken;
}

void Writer::Impl::say_where_it_goes_on() const {
    session.say(known.kept.empty()
                    ? fmt::format("{}: goes on; it has no dump yet", session.path)
                    : fmt::format("{}: goes on after iteration {}, the last of {} dumps",
                                  session.path, known.kept.back(), known.kept.size()));
}

Result<store::SharedFile> Writer::Impl::take_up(base::FileSystem& files) {
    auto taken = append_to(files, session.path, opening->after);
    std::error_code none;
    if (taken.status().code() == StatusCode::io && !std::filesystem::exists(session.path, none))
        return Status{StatusCode::io,
                      taken.status().message() + "; Writer::create makes a new file"};
    if (!taken.ok()) return taken.status();
    known.next_dump = taken->next_dump;
    known.file_end = taken->file_end;
    known.kept = taken->kept;
    say_where_it_goes_on();
    return std::move(taken->file);
}

Status Writer::Impl::tell_known() {
    base::Packer packer;
    if (session.rank == 0) {
        packer.put(known.next_dump);
        packer.put(known.file_end);
        packer.put(known.kept);
        packer.put(known.layout);
        for (const Known::Tables& one : known.tables) {
            packer.put(one.name);
            packer.put(one.codec);
            packer.put(one.dtype);
            packer.put_bytes(one.set);
        }
    }
    auto all = session.comm->allgatherv(packer.bytes());
    if (!all.ok()) return all.status();
    base::Unpacker unpacker(all->front());
    known.next_dump = unpacker.get<std::uint64_t>();
    known.file_end = unpacker.get<std::uint64_t>();
    known.kept = unpacker.get_list<std::uint64_t>();
    known.layout = unpacker.get_string();
    known.tables.clear();
    while (unpacker.more()) {
        Known::Tables& one = known.tables.emplace_back();
        one.name = unpacker.get_string();
        one.codec = unpacker.get_string();
        one.dtype = unpacker.get<DType>();
        const auto set = unpacker.get_bytes();
        one.set.assign(set.begin(), set.end());
    }
    return {};
}

void Writer::Impl::learn_known() {
    for (const Known::Tables& one : known.tables) {
        CodecSpec codec;
        codec.name = one.codec;
        if (auto set = TableSet::parse(one.set); set.ok())
            session.experience->of_field(one.name, codec, one.dtype, {}).tables = std::move(*set);
    }
}

}  // namespace caesura
