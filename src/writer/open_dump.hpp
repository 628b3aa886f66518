// The dump of the open iteration: what the application has put into it.
#pragma once

#include <algorithm>
#include <list>
#include <map>

#include "run/job.hpp"
#include "writer/composition.hpp"
#include "writer/layout.hpp"
#include "writer/openpmd.hpp"
#include "writer/value_order.hpp"

namespace caesura::writer {

/// What the codec may make of values that are put.
enum class Loss : std::uint8_t {
    within_bound,  ///< as the bound allows
    spent          ///< nothing: they have been through the codec before
};

/// One put of this rank, waiting for end().
struct Put {
    std::uint32_t field = 0;
    Box box;
    const std::byte* data = nullptr;
    run::Snapshot* snapshot = nullptr;
    std::uint32_t turn = 0;                       ///< OpenWriter::put
    bool exactly = false;                         ///< Loss::spent
    std::vector<Composition::Range> ranges = {};  ///< as many as FieldState::ranges()
    Seen seen = {};                               ///< with the ranges
    Composition::Range places = {};               ///< of its values, if says_where()
    ValueOrder order = {};                        ///< of its values, if FieldState::may_be_axis()
};

/// Dumps, and bytes that were put for them on this rank.
struct PutSums {
    std::uint64_t dumps = 0, bytes = 0;
};

/// The dump of the open iteration.
struct OpenDump {
    DumpTime time;
    Metadata metadata;  ///< said of this dump alone
    std::vector<Put> puts;
    std::vector<std::vector<std::uint32_t>> of_field;    ///< by field: numbers of its puts
    std::map<std::uint32_t, codec::ValueBits> declared;  ///< by field: Intake::declare_missing
    std::list<run::Snapshot> snapshots;  ///< a list, so that an empty dump needs no memory
    Status error;                        ///< the first put that failed
    std::uint64_t put_bytes = 0;         ///< of all puts

    void add(Put put) {
        if (of_field.size() <= put.field) of_field.resize(put.field + 1);
        if (puts.size() == puts.capacity()) puts.reserve(std::max<std::size_t>(8, 2 * puts.size()));
        of_field[put.field].push_back(static_cast<std::uint32_t>(puts.size()));
        puts.push_back(
            std::move(put));  // there is room: both have it, or memory ran out and neither has
    }
    std::span<const std::uint32_t> puts_of(std::uint32_t field) const {
        return field < of_field.size() ? std::span(of_field[field])
                                       : std::span<const std::uint32_t>();
    }
    /// The k-th put of a field.
    const Put& put_of(std::uint32_t field, std::uint32_t k) const {
        return puts[of_field[field][k]];
    }
    Put& put_of(std::uint32_t field, std::uint32_t k) { return puts[of_field[field][k]]; }
    /// What other ranks are told of this one's puts.
    std::vector<RankBox> boxes_of(std::uint32_t field, int rank) const {
        std::vector<RankBox> boxes;
        for (const std::uint32_t i : puts_of(field))
            boxes.push_back(
                {rank, static_cast<std::uint32_t>(boxes.size()), puts[i].box, puts[i].turn});
        return boxes;
    }
};

}  // namespace caesura::writer
