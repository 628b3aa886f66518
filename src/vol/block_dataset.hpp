// A dataset of a captured file that becomes blocks, as this rank knows it.
//
// Invariant: it is told apart by where its header lies, which is equal on all ranks.
#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>

#include "store/hdf5_handle.hpp"
#include "vol/asked_chunks.hpp"
#include "vol/members.hpp"
#include "vol/native_dataset.hpp"
#include "vol/piece_index.hpp"
#include "writer/open_writer.hpp"

namespace caesura::vol {

/// What attributes of a dataset in the file say of its quantities, as found_quantities.hpp reads
/// them.
struct SaidBounds {
    std::vector<writer::Component> components;  ///< at least one; one: without a name
    std::vector<double> loosest;                ///< FieldState::Dataset::loosest
    int axis = -1;                              ///< along which they lie, as HDF5 numbers it
    BoundMap bound_map = {};                    ///< of one quantity
};

struct BlockDataset {
    static constexpr std::uint64_t k_not_put = std::numeric_limits<std::uint64_t>::max();
    /// One put of this rank that is not committed; or is not put, as the Writer does not know the
    /// dataset.
    struct PutBox {
        Box box;
        std::uint64_t dump = k_not_put;
        const std::byte* values = nullptr;  ///< in one of the copies
        writer::Loss loss = writer::Loss::within_bound;
        std::uint32_t turn = 0;
    };
    std::string path;
    std::string key;  ///< what the Writer calls it
    /// Where it has an axis, that is the last of dims, chunk and boxes, of which HDF5 knows
    /// nothing.
    Element element;
    Field field;
    Shape dims, chunk;
    std::vector<int> axes;  ///< of the dataset's, the first of each that dims has (fold_axes)
    /// Of the dataset's axes; one that grows is the first of those that join, whose extent nobody
    /// asks for.
    std::vector<std::uint64_t> extents;
    int rank = 0;                                            ///< of the dataset in HDF5
    std::shared_ptr<const writer::Composition> composition;  ///< null: one array of one quantity
    std::vector<store::Attribute> bounds;   ///< attributes of the last dump that was placed
    store::Handle type, creation;           ///< in the file; as the application gave it
    std::vector<unsigned char> type_bytes;  ///< of `type`, from which it can be made again
    std::size_t filters = 0;
    /// What the application made, in its own chunks; null: it was there when the file was opened.
    std::shared_ptr<AskedChunks> asked;
    H5O_token_t token{};
    NativeDataset native;
    std::vector<PutBox> pieces;  ///< oldest first; those not put are the newest
    PieceIndex index;            ///< of pieces
    /// Bytes for values that are written next, behind those of the newest piece.
    struct Room {
        std::byte* begin = nullptr;
        std::size_t bytes = 0, taken = 0;  ///< free, and of the whole copy
    } room;
    bool filtered = false;                 ///< by the application's own filters (filtered.hpp)
    bool lossy = false;                    ///< what is stored may differ from what is read
    bool for_fields = false;               ///< DatasetDefinition::for_fields
    std::string exact_because;             ///< what attributes say: it looks like coordinates
    bool is_said_exact = false;            ///< in the report
    bool is_said_stretched = false;        ///< the same
    bool commit_writes = false;            ///< collective ones, when they return
    bool others_may_have_written = false;  ///< since all ranks' writes were last agreed on
    /// Collective writes since the last hand-over, the same on all ranks: of two the later one
    /// wins, whichever ranks wrote.
    std::uint32_t writes_together = 0;
    Shape settled;  ///< the dims at the last flush(); beyond, others may have written
    /// What the Writer is to be told of a dataset that was found in the file.
    std::optional<writer::DatasetDefinition> definition;
    std::optional<SaidBounds> said;  ///< of such a dataset
    bool stored = false;             ///< it has blocks
    bool has_masks = false;          ///< chunks may have filter masks that are not 0

    std::uint64_t version = new_version();  ///< of what the file has of it (decoded_chunks.hpp)

    void forget_pieces() {
        pieces.clear();
        index.clear();
        room = {};
    }
    /// What lies in the file is changing.
    void change() { version = new_version(); }
    static std::uint64_t new_version() {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
    }
    DType dtype() const { return element.dtype; }
    std::size_t value_bytes() const { return size_of(element.dtype); }
    /// Without the axis that counts numbers of an element.
    Shape elements(const Shape& shape) const {
        const int axes_left = shape.rank() - (element.has_axis() ? 1 : 0);
        return Shape(std::span(shape.data(), static_cast<std::size_t>(axes_left)));
    }
    Box elements(const Box& box) const { return {elements(box.offset), elements(box.extent)}; }
};

/// Extents along the dataset's own axes, as blocks see them.
Shape joined_extents(const BlockDataset& dataset, std::span<const hsize_t> extents);
/// The largest chunk within `chunk`, about, that is one of the dataset's own axes too.
Shape joined_chunk(const BlockDataset& dataset, const Shape& chunk);

/// With an axis more, the last.
Shape with_axis(const Shape& shape, std::uint64_t extent);

/// Coordinates of the dataset's own axes.
std::array<hsize_t, H5S_MAX_RANK> native_offset(const BlockDataset& dataset, const Shape& offset);
/// What a box covers along them: one of whole rows of the axes that join, as chunks and dims are.
std::array<hsize_t, H5S_MAX_RANK> native_extent(const BlockDataset& dataset, const Shape& extent);

}  // namespace caesura::vol
