// A dump on its way from puts to jobs, inside end().
#pragma once

#include <algorithm>

#include "writer/impl.hpp"

namespace caesura {

struct Writer::Impl::Assembly {
    struct FieldDump {
        std::uint32_t field = 0;
        double min = std::numeric_limits<double>::infinity();  ///< over all ranks, finite values
        double max = -std::numeric_limits<double>::infinity();
        ErrorBound bound;  ///< resolved: absolute or lossless
        std::shared_ptr<const BlockCodec> codec;
    };
    std::vector<FieldDump> fields;  ///< in order of definition: the dataset's number
    std::unique_ptr<run::DumpTask> task;
    std::vector<predict::Features> features;
    std::vector<std::uint32_t> job_fields;
    std::vector<predict::Bytes> predicted;
    std::vector<double> compress_s;
    writer::Reservation reservation;
    /// Pieces that came from other ranks: by field, box and offset.
    struct PieceKey {
        std::uint32_t field = 0, box = 0;
        Shape offset;
        bool operator<(const PieceKey& other) const {
            if (field != other.field) return field < other.field;
            if (box != other.box) return box < other.box;
            return std::lexicographical_compare(offset.data(), offset.data() + offset.rank(),
                                                other.offset.data(),
                                                other.offset.data() + other.offset.rank());
        }
    };
    std::map<PieceKey, run::Piece> received;
    store::DumpManifest manifest;  ///< rank 0
    std::string manifest_text;     ///< rank 0
};

}  // namespace caesura
