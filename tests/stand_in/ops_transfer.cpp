// H5Dwrite and H5Dread, of one dataset or of several.
#include <algorithm>
#include <cstring>

#include "spaces.hpp"
#include "types.hpp"

namespace stand_in {
namespace {

/// What is known of a dataset before it is written or read.
struct Known {
    Type type;
    Dims dims;
    bool has_elements = true;
};

std::optional<Known> look_at(Step& step, const Handle& dataset) {
    const hid_t id = dataset.id[step.world.leader()];
    const hid_t space = step.own(H5Dget_space(id)), type = step.own(H5Dget_type(id));
    if (space < 0 || type < 0) {
        step.applies = false;
        return std::nullopt;
    }
    Known known;
    known.type = {type, fmt::format("H5Dget_type({})", dataset.name)};
    const int rank = H5Sget_simple_extent_ndims(space);
    known.dims.resize(static_cast<std::size_t>(std::max(rank, 0)));
    if (rank > 0) H5Sget_simple_extent_dims(space, known.dims.data(), nullptr);
    known.has_elements = H5Sget_simple_extent_type(space) != H5S_NULL;
    return known;
}

/// One dataset's part of a call.
struct Piece {
    Handle* dataset;
    Known known;
    Type memory;
    Selection selection;
};

/// @param part  what this rank may select.
std::optional<Piece> draw_piece(Step& step, Handle* dataset, Draw& mine, Part part) {
    if (dataset == nullptr) return std::nullopt;
    auto known = look_at(step, *dataset);
    if (!known) return std::nullopt;
    Piece piece{dataset, *known, memory_type_of(step, known->type), {}};
    piece.selection = some_selection(step, mine, known->dims, part);
    if (known->dims.empty() && part == Part::nothing && known->has_elements) {
        piece.selection.memory = piece.selection.file = step.own(H5Screate(H5S_SCALAR));
        H5Sselect_none(piece.selection.file);
        piece.selection.memory_code = piece.selection.file_code = "none";
    }
    return piece;
}

/// To a scalar one rank alone writes.
Part part_to_write(const Step& step, const Handle* dataset) {
    if (step.world.alone() || dataset == nullptr) return Part::all;
    const hid_t space = H5Dget_space(dataset->id[step.world.leader()]);
    const int rank = H5Sget_simple_extent_ndims(space);
    H5Sclose(space);
    return rank > 0 ? Part::own : step.world.rank == 0 ? Part::all : Part::nothing;
}

bool is_collective(Step& step, bool must) {
    const bool collective = step.world.setting.mpio && (must || step.draw.chance(60));
    step.fact(collective ? "collective" : "independent");
    return collective;
}

void wait_for_all(const Step& step) {
    if (step.world.ranks > 1 && step.world.setting.mpio) MPI_Barrier(step.world.communicator);
}

/// What a question to its creation list is answered with.
template <class Ask>
auto of_creation(const Step& step, const Handle& dataset, const Ask& ask) {
    const hid_t list = H5Dget_create_plist(dataset.id[step.world.leader()]);
    const auto answer = ask(list);
    H5Pclose(list);
    return answer;
}

/// Parallel HDF5 keeps a compact dataset in each rank's memory, and stores one of them.
bool is_shared_compact(const Step& step, const Handle& dataset) {
    return !step.world.alone() && of_creation(step, dataset, H5Pget_layout) == H5D_COMPACT;
}

bool has_filters(const Step& step, const Handle& dataset) {
    return of_creation(step, dataset, H5Pget_nfilters) > 0;
}

bool is_virtual(const Step& step, const Handle& dataset) {
    return of_creation(step, dataset, H5Pget_layout) == H5D_VIRTUAL;
}

/// Of hyperslabs.
bool is_union(hid_t selection) {
    return selection != H5S_ALL && H5Sget_select_type(selection) == H5S_SEL_HYPERSLABS &&
           H5Sis_regular_hyperslab(selection) <= 0;
}

/// HDF5 1.14.5 loses a collective write of a chunk with filters after a transfer that converts.
void keep_type(const Step& step, Piece& piece) {
    if (step.world.setting.mpio && has_filters(step, *piece.dataset))
        piece.memory = piece.known.type;
}

void write(Step& step) {
    Handle* const dataset = step.pick({Kind::dataset});
    if (dataset == nullptr || is_shared_compact(step, *dataset)) {
        step.applies = false;
        return;
    }
    Draw mine = step.own_draw();
    // Parallel HDF5 writes datasets with filters collectively alone.
    const bool filtered = has_filters(step, *dataset);
    const bool collective = is_collective(step, filtered);
    auto piece = draw_piece(step, dataset, mine, part_to_write(step, dataset));
    if (!piece) return;
    // HDF5 1.14.5 reads behind the buffer where it writes a union through a virtual dataset.
    if (is_virtual(step, *dataset) && is_union(piece->selection.file)) {
        step.applies = false;
        return;
    }
    keep_type(step, *piece);
    Values values(piece->memory.id, piece->selection.memory_count);
    values.fill(Draw(mine.next()), step.world.setting.bound == 0);
    step.code("fill(buffer, {}, {}); H5Dwrite({}, {}, {}, {}, {}, buffer);",
              piece->selection.memory_count, piece->memory.code, dataset->name, piece->memory.code,
              piece->selection.memory_code, piece->selection.file_code,
              collective ? "collective()" : "H5P_DEFAULT");
    wait_for_all(step);
    step.both([&](Side& side) {
        const hid_t list = transfer_list(step.world, collective);
        side.out.result("H5Dwrite",
                        H5Dwrite(side.of(*dataset), piece->memory.id, piece->selection.memory,
                                 piece->selection.file, list, values.data()));
        H5Pclose(list);
    });
    wait_for_all(step);
    step.world.unflushed = true;
}

/// What MPI-IO lets other ranks see before a flush is not defined.
bool must_not_read(Step& step) {
    if (step.world.unflushed && !step.world.alone()) step.applies = false;
    return !step.applies;
}

/// Where there are filters HDF5 1.14.5 keeps chunks that were read independently, whatever is
/// written to them collectively.
bool read_must_be_collective(const Step& step, const Handle* dataset) {
    return step.world.setting.mpio && dataset != nullptr && has_filters(step, *dataset);
}

/// Of what a transfer has put into memory.
void tell_values(const Step& step, Side& side, const Piece& piece, const Values& values) {
    const hid_t memory = piece.selection.memory;
    const bool is_exact = step.is_exact(*piece.dataset);
    if (!step.world.setting.mpio || memory == H5S_ALL || varies(piece.memory.id))
        return side.out.values("values", piece.memory.id, values.data(), values.count(), is_exact);
    // HDF5 1.14.5 converts in the application's buffer there, and spoils the gaps in it.
    const auto count = static_cast<std::size_t>(H5Sget_select_npoints(memory));
    Values selected(piece.memory.id, count);
    if (count > 0)
        H5Dgather(memory, values.data(), piece.memory.id, selected.size(), selected.data(), nullptr,
                  nullptr);
    side.out.values("values", piece.memory.id, selected.data(), count, is_exact);
}

void read_piece(Step& step, const Piece& piece, bool collective) {
    const Selection& selection = piece.selection;
    step.code("H5Dread({}, {}, {}, {}, {}, buffer); show(buffer, {}, {});", piece.dataset->name,
              piece.memory.code, selection.memory_code, selection.file_code,
              collective ? "collective()" : "H5P_DEFAULT", selection.memory_count,
              piece.memory.code);
    wait_for_all(step);
    step.both([&](Side& side) {
        Values values(piece.memory.id, selection.memory_count);
        values.mark(0xA5);
        const hid_t list = transfer_list(step.world, collective);
        if (side.out.result("H5Dread",
                            H5Dread(side.of(*piece.dataset), piece.memory.id, selection.memory,
                                    selection.file, list, values.data())))
            tell_values(step, side, piece, values);
        H5Pclose(list);
    });
    wait_for_all(step);
}

void read(Step& step) {
    Handle* const dataset = step.pick({Kind::dataset});
    if (dataset == nullptr || must_not_read(step)) return;
    Draw mine = step.own_draw();
    const bool collective = is_collective(step, read_must_be_collective(step, dataset));
    auto piece = draw_piece(step, dataset, mine, Part::all);
    if (!piece) return;
    keep_type(step, *piece);
    read_piece(step, *piece, collective);
}

void read_everything(Step& step) {
    Handle* const dataset = step.pick({Kind::dataset});
    if (dataset == nullptr || must_not_read(step)) return;
    auto known = look_at(step, *dataset);
    if (!known) return;
    Piece piece{dataset, *known, memory_type_of(step, known->type), {}};
    piece.selection.memory_count = 1;
    for (const hsize_t length : known->dims) piece.selection.memory_count *= length;
    keep_type(step, piece);
    read_piece(step, piece, is_collective(step, read_must_be_collective(step, dataset)));
}

/// By two identifiers, too.
bool are_one(const Step& step, const Handle& a, const Handle& b) {
    H5O_info2_t first{}, second{};
    const Which side = step.world.leader();
    H5Oget_info3(a.id[side], &first, H5O_INFO_BASIC);
    H5Oget_info3(b.id[side], &second, H5O_INFO_BASIC);
    return std::memcmp(&first.token, &second.token, sizeof first.token) == 0;
}

/// Two datasets at once, which HDF5 takes from one file alone.
void read_or_write_two(Step& step, bool writes) {
    Handle *const first = step.pick({Kind::dataset}), *const second = step.pick({Kind::dataset});
    if (first == nullptr || second == nullptr || first->file != second->file ||
        are_one(step, *first, *second) ||
        (writes && (is_shared_compact(step, *first) || is_shared_compact(step, *second)))) {
        step.applies = false;
        return;
    }
    // HDF5 1.14.5 loses values where only one of them has filters, and keeps chunks of it that were
    // read. Which of two wins that write the same elements, directly and through a virtual dataset,
    // is not said.
    const bool one_filtered = has_filters(step, *first) != has_filters(step, *second);
    if ((step.world.setting.mpio && one_filtered) ||
        (writes && (is_virtual(step, *first) || is_virtual(step, *second)))) {
        step.applies = false;
        return;
    }
    Draw mine = step.own_draw();
    const bool must =
        writes ? has_filters(step, *first) || has_filters(step, *second)
               : read_must_be_collective(step, first) || read_must_be_collective(step, second);
    const bool collective = is_collective(step, must);
    if (is_virtual(step, *first) || is_virtual(step, *second)) step.fact("virtual");
    auto a = draw_piece(step, first, mine, writes ? part_to_write(step, first) : Part::all);
    auto b = draw_piece(step, second, mine, writes ? part_to_write(step, second) : Part::all);
    if (!a || !b) return;
    keep_type(step, *a);
    keep_type(step, *b);
    step.code("{}(2, {{{}, {}}}, ...); /* {} */", writes ? "H5Dwrite_multi" : "H5Dread_multi",
              first->name, second->name, collective ? "collectively" : "alone");
    Values x(a->memory.id, a->selection.memory_count), y(b->memory.id, b->selection.memory_count);
    x.fill(Draw(mine.next()), step.world.setting.bound == 0);
    y.fill(Draw(mine.next()), step.world.setting.bound == 0);
    wait_for_all(step);
    step.both([&](Side& side) {
        hid_t ids[] = {side.of(*first), side.of(*second)};
        hid_t types[] = {a->memory.id, b->memory.id};
        hid_t memories[] = {a->selection.memory, b->selection.memory};
        hid_t files[] = {a->selection.file, b->selection.file};
        const hid_t list = transfer_list(step.world, collective);
        if (writes) {
            const void* buffers[] = {x.data(), y.data()};
            side.out.result("H5Dwrite_multi",
                            H5Dwrite_multi(2, ids, types, memories, files, list, buffers));
        } else {
            Values p(a->memory.id, x.count()), q(b->memory.id, y.count());
            p.mark(0xA5);
            q.mark(0xA5);
            void* buffers[] = {p.data(), q.data()};
            if (side.out.result("H5Dread_multi",
                                H5Dread_multi(2, ids, types, memories, files, list, buffers))) {
                tell_values(step, side, *a, p);
                tell_values(step, side, *b, q);
            }
        }
        H5Pclose(list);
    });
    wait_for_all(step);
    if (writes) step.world.unflushed = true;
}

void write_two(Step& step) { read_or_write_two(step, true); }
void read_two(Step& step) {
    if (!must_not_read(step)) read_or_write_two(step, false);
}

/// With a transform of the values, which the library applies on their way.
void transform(Step& step) {
    Handle* const dataset = step.pick({Kind::dataset});
    if (dataset == nullptr) return;
    const auto known = look_at(step, *dataset);
    if (!known || H5Tget_class(known->type.id) != H5T_FLOAT || step.world.setting.bound > 0 ||
        read_must_be_collective(step, dataset) || must_not_read(step)) {
        step.applies = false;
        return;
    }
    std::size_t count = 1;
    for (const hsize_t length : known->dims) count *= length;
    hsize_t most[H5S_MAX_RANK] = {};
    const hid_t space = step.own(H5Dget_space(dataset->id[step.world.leader()]));
    H5Sget_simple_extent_dims(space, nullptr, most);
    if (!std::equal(known->dims.begin(), known->dims.end(), most)) step.fact("other extents");
    if (step.world.has_virtual) step.fact("virtual");
    step.tell_of_file(*dataset);
    step.code(
        "H5Pset_data_transform(x, \"2*x+1\"); H5Dread({}, H5T_NATIVE_DOUBLE, H5S_ALL, "
        "H5S_ALL, x, buffer);",
        dataset->name);
    step.both([&](Side& side) {
        const hid_t list = transfer_list(step.world, false);
        H5Pset_data_transform(list, "2*x+1");
        Values values(H5T_NATIVE_DOUBLE, count);
        values.mark(0xA5);
        if (side.out.result("H5Dread", H5Dread(side.of(*dataset), H5T_NATIVE_DOUBLE, H5S_ALL,
                                               H5S_ALL, list, values.data())))
            side.out.values("values", H5T_NATIVE_DOUBLE, values.data(), count);
        H5Pclose(list);
    });
}

}  // namespace

void add_transfer_operations(std::vector<Operation>& all) {
    all.insert(all.end(), {{"H5Dwrite", 22, write},
                           {"H5Dread", 10, read},
                           {"H5Dread all", 5, read_everything},
                           {"H5Dwrite_multi", 2, write_two},
                           {"H5Dread_multi", 2, read_two},
                           {"transform", 1, transform}});
}

}  // namespace stand_in
