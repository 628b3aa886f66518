// What a Reader holds: one state of its file, and for collective calls the other ranks.
#pragma once

#include <new>

#include "base/process.hpp"
#include "base/series_name.hpp"
#include "read/listing.hpp"

namespace caesura {

struct Reader::Impl {
    struct State {
        struct File {
            std::string path;
            std::unique_ptr<read::Source> source;
        };
        std::vector<File> files;  // one, or those of a series by number
        read::Listing listing;

        const File& file_of(std::size_t field) const { return files[listing.ways[field].file]; }
    };

    std::string path;
    ReaderOptions options;
    std::unique_ptr<Communicator> comm;  // null: not collective
    const base::Process process{};
    /// Errors: cancelled (a forked child asks; the other ranks do not know it).
    Status check_process() const {
        return comm == nullptr ? Status{} : process.check(path + ": the Reader of several ranks");
    }
    State state;

    Status open_state(State& opened) const;
    Status open_series(const base::SeriesName& name, State& opened) const;

    read::ReadOptions read_options() const {
        return {.threads = options.threads, .verify = options.verify, .member = {}};
    }
    /// The strides, or those of a dense array. Errors: those of a call's arguments.
    Result<Shape> check(std::size_t field, const Box& box, std::uint64_t memory_bytes,
                        const std::optional<Shape>& stride_bytes) const;
    /// @param only  of what is read by chunks: see Source::read_strided.
    Status read(std::size_t field, const Box& box, const read::StridedArray& target,
                std::span<std::byte> values, const std::vector<std::uint64_t>* only) const;
};

/// What call() returns; no_space where it ran out of memory. Throws nothing, so that a rank comes
/// to the collective call in which the others wait.
template <class Call>
Status within_memory(const std::string& path, const char* message, Call call) {
    try {
        return call();
    } catch (const std::bad_alloc&) {
    }
    try {
        return {StatusCode::no_space, path + ": " + message};
    } catch (const std::bad_alloc&) {
        return {StatusCode::no_space, {}};
    }
}

/// Everybody's status: ok, or the error of the lowest rank that has one, with its number, on all.
/// Collective. Takes no memory but four bytes for each rank before all have met.
Status agree_on(Communicator& comm, const Status& mine);

}  // namespace caesura
