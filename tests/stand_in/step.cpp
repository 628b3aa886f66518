#include "step.hpp"

#include <string_view>

namespace stand_in {

const char* volatile side_it_is = "both";

Step::~Step() {
    for (const hid_t id : owned_) H5Idec_ref(id);
}

hid_t Step::own(hid_t id) {
    if (id >= 0) owned_.push_back(id);
    return id;
}

Handle* Step::pick(std::initializer_list<Kind> kinds) {
    const std::uint64_t salt = draw.next();
    Handle* best = nullptr;
    std::uint64_t best_rank = 0;
    for (const auto& held : world.handles) {
        bool fits = false;
        for (const Kind kind : kinds) fits = fits || held->kind == kind;
        // Young ones more often: what was just made is what programs go on to use.
        const std::uint64_t rank = mix(salt, held->serial) >> 1;
        if (fits && (best == nullptr || rank > best_rank)) best = held.get(), best_rank = rank;
    }
    if (best == nullptr) applies = false;
    return best;
}

bool Step::is_exact(const Handle& dataset) const {
    char name[128] = "";
    return !world.has_aliases && H5Iget_name(dataset.id[world.leader()], name, sizeof name) > 0 &&
           std::string_view(name).find("lossy_") == std::string_view::npos;
}

void Step::tell_of_file(const Handle& dataset) {
    const auto file = static_cast<std::size_t>(dataset.file);
    if (world.opened_again[file]) fact("opened again");
    if (world.has_copies[file]) fact("copies");
}

bool Step::is_read_only(const Handle& held) const {
    unsigned intent = H5F_ACC_RDWR;
    const hid_t file = H5Iget_file_id(held.id[world.leader()]);
    if (file < 0) return false;
    const bool known = H5Fget_intent(file, &intent) >= 0;
    H5Fclose(file);
    return known && intent == H5F_ACC_RDONLY;
}

void Step::both(const std::function<void(Side&)>& call) {
    std::array<Outcome, 2> outcomes;
    for (const Which which : {native, ours}) {
        if (!world.runs[which]) continue;
        Side side{which, world, outcomes[which]};
        side_it_is = which == native ? "native" : "ours";
        call(side);
        H5Eclear2(H5E_DEFAULT);
    }
    side_it_is = "both";
    if (!world.runs[native] || !world.runs[ours]) {
        log += outcomes[world.leader()].line();
    } else if (!differs) {
        differs = difference(outcomes[native], outcomes[ours], world.setting.bound);
    }
}

Handle* Step::keep(Kind kind, const Pair& ids, char letter, int file) {
    if (ids[world.leader()] < 0) return nullptr;
    auto held = std::make_unique<Handle>();
    held->kind = kind;
    held->serial = serial_;
    held->name = variable(letter);
    held->id = ids;
    held->file = file;
    world.handles.push_back(std::move(held));
    return world.handles.back().get();
}

std::string some_name(Draw& draw) {
    static const std::vector<std::string> names = {"a", "b",   "c",   "d",   "e",   "g",
                                                   "h", "g/a", "g/b", "g/h", "h/a", "g/h/c"};
    return draw.any_of(names);
}

const std::vector<Operation>& operations() {
    static const std::vector<Operation> all = [] {
        std::vector<Operation> made;
        add_file_operations(made);
        add_group_operations(made);
        add_dataset_operations(made);
        add_transfer_operations(made);
        add_chunk_operations(made);
        add_attribute_operations(made);
        add_object_operations(made);
        add_reference_operations(made);
        add_memory_operations(made);
        add_sharing_operations(made);
        return made;
    }();
    return all;
}

}  // namespace stand_in
