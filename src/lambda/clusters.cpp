#include "lambda/clusters.hpp"

#include <algorithm>
#include <limits>

#include "base/invalid.hpp"
#include "lambda/builtin.hpp"

namespace caesura::lambda {
namespace {

constexpr std::uint64_t k_most_labels = std::numeric_limits<std::uint32_t>::max();

/// Unite what lies opposite each other in two faces of one plane.
/// @return  cells that they have in common.
std::uint64_t join_faces(const Face& a, const Face& b, Components& components) {
    std::array<std::uint64_t, 2> low, high;
    for (std::size_t i = 0; i < 2; ++i) {
        low[i] = std::max(a.corner[i], b.corner[i]);
        high[i] = std::min(a.corner[i] + a.extent[i], b.corner[i] + b.extent[i]);
        if (low[i] >= high[i]) return 0;
    }
    auto there = b.runs.begin();
    for (const FaceRun& here : a.runs) {
        const std::uint64_t row = a.corner[0] + here.row;
        if (row < low[0] || row >= high[0]) continue;
        const std::uint64_t begin = a.corner[1] + here.begin, end = a.corner[1] + here.end;
        const auto is_before = [&](const FaceRun& run) {
            const std::uint64_t its_row = b.corner[0] + run.row;
            return its_row < row || (its_row == row && b.corner[1] + run.end <= begin);
        };
        while (there != b.runs.end() && is_before(*there)) ++there;
        for (auto run = there; run != b.runs.end(); ++run) {
            if (b.corner[0] + run->row != row || b.corner[1] + run->begin >= end) break;
            components.unite(here.label, run->label);
        }
    }
    return (high[0] - low[0]) * (high[1] - low[1]);
}

}  // namespace

// -------------------------------------------------------------------------------- components

std::uint32_t Components::add(std::uint64_t cells) {
    const auto label = static_cast<std::uint32_t>(parents_.size());
    parents_.push_back(label);
    cells_.push_back(cells);
    return label;
}

std::uint32_t Components::root(std::uint32_t label) const {
    while (parents_[label] != label) {
        parents_[label] = parents_[parents_[label]];
        label = parents_[label];
    }
    return label;
}

std::uint32_t Components::unite(std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return a;
    if (cells_[a] < cells_[b]) std::swap(a, b);
    parents_[b] = a;
    cells_[a] += cells_[b];
    return a;
}

// --------------------------------------------------------------------------------------- set

Status ClusterSet::add(LabelledRegion&& region, const Shape& offset, const Shape& extent,
                       const Shape& shape) {
    if (open_.size() + region.cells.size() > k_most_labels)
        return {StatusCode::no_space, "clusters: more than 2^32 components at once"};
    const auto first = static_cast<std::uint32_t>(open_.size());
    for (const std::uint64_t cells : region.cells) open_.add(cells);
    for (int axis = 0; axis < 3; ++axis) {
        for (const bool is_end : {false, true}) {
            std::uint64_t at = offset[axis] + (is_end ? extent[axis] : 0);
            const bool is_border = at == 0 || at == shape[axis];
            // An axis of one value is no direction: its cells have no neighbours along it.
            if (shape[axis] == 1 || (is_border && !periodic_)) continue;
            if (at == shape[axis]) at = 0;
            Face face = std::move(region.faces[static_cast<std::size_t>(axis)][is_end]);
            face.corner = {offset[axis == 0 ? 1 : 0], offset[axis == 2 ? 1 : 2]};
            for (FaceRun& run : face.runs) run.label += first;
            const Plane plane{static_cast<std::uint8_t>(axis), is_end, at};
            if (Status status = meet(plane, face); !status.ok()) return status;
            keep(plane, std::move(face));
        }
    }
    if (open_.size() > 2 * kept_ + 4096) drop_closed();
    return {};
}

// Of the faces of the other side those go that have met all they can.
Status ClusterSet::meet(const Plane& plane, Face& face) {
    const Plane opposite{plane.axis, !plane.is_end, plane.at};
    if (const auto found = faces_.find(opposite); found != faces_.end()) {
        std::vector<Face>& others = found->second;
        for (std::size_t i = 0; i < others.size() && face.matched < face.area();) {
            const std::uint64_t met = join_faces(face, others[i], open_);
            face.matched += met;
            others[i].matched += met;
            if (face.matched > face.area() || others[i].matched > others[i].area())
                return base::invalid("clusters: regions overlap");
            if (others[i].matched == others[i].area()) {
                others[i] = std::move(others.back());
                others.pop_back();
            } else {
                ++i;
            }
        }
        if (others.empty()) faces_.erase(found);
    }
    return {};
}

void ClusterSet::keep(const Plane& plane, Face face) {
    if (face.matched < face.area()) faces_[plane].push_back(std::move(face));
}

Status ClusterSet::merge(const ClusterSet& other) {
    if (open_.size() + other.open_.size() > k_most_labels)
        return {StatusCode::no_space, "clusters: more than 2^32 components at once"};
    const auto first = static_cast<std::uint32_t>(open_.size());
    for (std::uint32_t label = 0; label < other.open_.size(); ++label)
        open_.add(other.open_.root(label) == label ? other.open_.cells(label) : 0);
    for (std::uint32_t label = 0; label < other.open_.size(); ++label)
        open_.unite(first + label, first + other.open_.root(label));
    closed_.count += other.closed_.count;
    closed_.cells += other.closed_.cells;
    closed_.small += other.closed_.small;
    std::vector<std::int64_t> both;
    std::merge(closed_.largest.begin(), closed_.largest.end(), other.closed_.largest.begin(),
               other.closed_.largest.end(), std::back_inserter(both), std::greater<>());
    both.resize(std::min(both.size(), most_largest_));
    closed_.largest = std::move(both);
    // Their faces have met each other; now they meet ours, and join them afterwards.
    auto theirs = other.faces_;
    for (auto& [plane, faces] : theirs)
        for (Face& face : faces) {
            for (FaceRun& run : face.runs) run.label += first;
            if (Status status = meet(plane, face); !status.ok()) return status;
        }
    for (auto& [plane, faces] : theirs)
        for (Face& face : faces) keep(plane, std::move(face));
    drop_closed();
    return {};
}

void ClusterSet::close(Summary& summary, std::uint64_t cells, std::uint64_t least_cells,
                       std::size_t most_largest) {
    if (cells < least_cells) {
        ++summary.small;
        return;
    }
    ++summary.count;
    summary.cells += cells;
    auto& largest = summary.largest;
    const auto size = static_cast<std::int64_t>(cells);
    largest.insert(std::upper_bound(largest.begin(), largest.end(), size, std::greater<>()), size);
    if (largest.size() > most_largest) largest.pop_back();
}

// Components that no face names any more can grow no more; the others get new labels.
void ClusterSet::drop_closed() {
    std::vector<std::uint32_t> names(open_.size(), std::numeric_limits<std::uint32_t>::max());
    Components kept;
    for (auto& [plane, faces] : faces_)
        for (Face& face : faces)
            for (FaceRun& run : face.runs) {
                const std::uint32_t root = open_.root(run.label);
                if (names[root] == std::numeric_limits<std::uint32_t>::max())
                    names[root] = kept.add(open_.cells(root));
                run.label = names[root];
            }
    for (std::uint32_t label = 0; label < names.size(); ++label)
        if (open_.root(label) == label && names[label] == std::numeric_limits<std::uint32_t>::max())
            close(closed_, open_.cells(label), least_cells_, most_largest_);
    open_ = std::move(kept);
    kept_ = open_.size();
}

ClusterSet::Summary ClusterSet::summary() const {
    Summary all = closed_;
    for (std::uint32_t label = 0; label < open_.size(); ++label)
        if (open_.root(label) == label) close(all, open_.cells(label), least_cells_, most_largest_);
    return all;
}

void ClusterSet::save(Writer& out) const {
    ClusterSet tidy = *this;
    tidy.drop_closed();
    out.u64(tidy.closed_.count).u64(tidy.closed_.cells).u64(tidy.closed_.small);
    out.u64(tidy.closed_.largest.size());
    for (const std::int64_t size : tidy.closed_.largest) out.u64(static_cast<std::uint64_t>(size));
    out.u64(tidy.open_.size());
    for (std::uint32_t label = 0; label < tidy.open_.size(); ++label)
        out.u64(tidy.open_.cells(label));
    std::uint64_t faces = 0;
    for (const auto& [plane, of_plane] : tidy.faces_) faces += of_plane.size();
    out.u64(faces);
    for (const auto& [plane, of_plane] : tidy.faces_)
        for (const Face& face : of_plane) {
            out.u8(plane.axis).u8(plane.is_end ? 1 : 0).u64(plane.at);
            for (const auto& pair : {face.corner, face.extent}) out.u64(pair[0]).u64(pair[1]);
            out.u64(face.matched).u64(face.runs.size());
            for (const FaceRun& run : face.runs)
                out.u32(run.row).u32(run.begin).u32(run.end).u32(run.label);
        }
}

Status ClusterSet::load(Reader& in) {
    constexpr std::uint64_t k_most_cells = std::uint64_t{1} << 60;
    closed_.count = in.u64();
    closed_.cells = in.u64();
    closed_.small = in.u64();
    closed_.largest.resize(get_count(in, 8));
    bool possible = closed_.count < k_most_cells && closed_.cells < k_most_cells &&
                    closed_.small < k_most_cells && closed_.largest.size() <= most_largest_;
    for (std::int64_t& size : closed_.largest) {
        size = static_cast<std::int64_t>(in.u64());
        possible = possible && size > 0 && static_cast<std::uint64_t>(size) < k_most_cells;
    }
    if (!std::is_sorted(closed_.largest.rbegin(), closed_.largest.rend())) possible = false;
    const std::uint64_t labels = get_count(in, 8);
    if (labels > k_most_labels) possible = false;
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < labels && possible; ++i) {
        const std::uint64_t cells = in.u64();
        sum += std::min(cells, k_most_cells);
        possible = cells < k_most_cells && sum < k_most_cells;
        open_.add(cells);
    }
    if (!possible) return corrupt("clusters: impossible counts");
    kept_ = open_.size();
    return load_faces(in, static_cast<std::uint32_t>(labels));
}

Status ClusterSet::load_faces(Reader& in, std::uint32_t labels) {
    constexpr std::uint64_t k_longest = std::numeric_limits<std::uint32_t>::max();
    const std::uint64_t faces = get_count(in, 58);
    for (std::uint64_t i = 0; i < faces; ++i) {
        const std::uint8_t axis = in.u8(), is_end = in.u8();
        const Plane plane{axis, is_end != 0, in.u64()};
        Face face;
        for (auto* pair : {&face.corner, &face.extent}) *pair = {in.u64(), in.u64()};
        face.matched = in.u64();
        const std::uint64_t runs = get_count(in, 16);
        bool possible = axis < 3 && is_end < 2;
        for (std::size_t k = 0; k < 2; ++k)
            possible = possible && face.extent[k] > 0 && face.extent[k] <= k_longest &&
                       face.corner[k] < std::uint64_t{1} << 60;
        possible = possible && face.matched < face.area();
        const FaceRun* before = nullptr;
        face.runs.reserve(runs);
        for (std::uint64_t k = 0; k < runs && possible; ++k) {
            const std::uint32_t row = in.u32(), begin = in.u32(), end = in.u32(), label = in.u32();
            possible =
                row < face.extent[0] && begin < end && end <= face.extent[1] && label < labels &&
                (!before || before->row < row || (before->row == row && before->end <= begin));
            face.runs.push_back({row, begin, end, label});
            before = &face.runs.back();
        }
        if (in.ended_early()) return cut_short("clusters");
        if (!possible) return corrupt("clusters: an impossible face");
        faces_[plane].push_back(std::move(face));
    }
    return {};
}

// ---------------------------------------------------------------------------------- analysis

namespace {

Shape with_three_axes(const Shape& shape, std::uint64_t filler) {
    Shape three = Shape::filled(3, filler);
    for (int axis = 0; axis < shape.rank(); ++axis) three[3 - shape.rank() + axis] = shape[axis];
    return three;
}

/// The analysis clusters.
class Clusters : public Analysis {
  public:
    explicit Clusters(const Arguments& arguments)
        : threshold_(arguments.number("above")),
          set_(static_cast<std::size_t>(arguments.whole("largest")),
               static_cast<std::uint64_t>(arguments.whole("least_cells")),
               arguments.flag("periodic")) {}
    static Result<std::unique_ptr<Analysis>> make(const Arguments& arguments) {
        return std::unique_ptr<Analysis>(std::make_unique<Clusters>(arguments));
    }
    Status add(const RegionView& region) override {
        return add_labelled(region, [&](const Shape& extent) {
            return with_values(
                region, [&](auto values) { return label_region(values, extent, threshold_); });
        });
    }
    Reduction reduction() const override { return {Reduction::Kind::marks, {}, threshold_}; }
    Status add_reduced(const RegionView& place, const Reduced& reduced) override {
        if (reduced.marks.size() * 64 < place.box.extent.count())
            return base::invalid("clusters: marks of " + std::to_string(reduced.marks.size() * 64) +
                                 " values in place of " + std::to_string(place.box.extent.count()));
        return add_labelled(
            place, [&](const Shape& extent) { return label_marks(reduced.marks, extent); });
    }
    Status merge(const Analysis& other) override {
        const auto& that = static_cast<const Clusters&>(other);
        wanted_ = std::max(wanted_, that.wanted_);
        if (that.seen_ > wanted_ - seen_) return base::invalid("clusters: regions overlap");
        seen_ += that.seen_;
        return set_.merge(that.set_);
    }
    Result<Results> finish() const override {
        const ClusterSet::Summary summary = set_.summary();
        Results results;
        results.put("clusters", static_cast<std::int64_t>(summary.count));
        results.put("largest", summary.largest);
        results.put("cells", static_cast<std::int64_t>(summary.cells));
        results.put("smaller", static_cast<std::int64_t>(summary.small));
        results.put("complete", std::int64_t{seen_ == wanted_});
        results.put("count", static_cast<std::int64_t>(seen_));
        return results;
    }
    void save(Writer& out) const override {
        out.u64(wanted_).u64(seen_);
        set_.save(out);
    }
    Status load(Reader& in) override {
        wanted_ = in.u64();
        seen_ = in.u64();
        if (seen_ > wanted_ || wanted_ >> 60 != 0) return corrupt("clusters: impossible counts");
        return set_.load(in);
    }

  private:
    template <class Label>
    Status add_labelled(const RegionView& region, const Label& label) {
        const std::uint64_t cells = region.box.extent.count();
        if (region.shape.rank() > 3)
            return {StatusCode::unsupported, "clusters: an object of 4 axes; 1 to 3 are possible"};
        if (cells >> 32 != 0)
            return {StatusCode::unsupported, "clusters: a region of 2^32 values or more"};
        wanted_ = region.shape.count();
        if (cells > wanted_ - seen_) return base::invalid("clusters: regions overlap");
        seen_ += cells;
        if (cells == 0) return {};
        const Shape extent = with_three_axes(region.box.extent, 1);
        return set_.add(label(extent), with_three_axes(region.box.offset, 0), extent,
                        with_three_axes(region.shape, 1));
    }

    double threshold_;
    ClusterSet set_;
    std::uint64_t wanted_ = 0, seen_ = 0;
};

}  // namespace

void add_clusters(std::vector<Function>& to) {
    Function function{"clusters", Kind::analysis,
                      "Connected groups of cells above a threshold (6 neighbours), as haloes are "
                      "found: how many, and the sizes of the largest."};
    function.parameters = {
        {"above", Parameter::Type::number, "Cells with a greater value count; NaN does not.",
         std::nullopt, true},
        {"largest", Parameter::Type::whole, "How many sizes to say.", std::int64_t{10}, false, 0,
         100000},
        {"least_cells", Parameter::Type::whole, "Smaller groups are counted by themselves.",
         std::int64_t{1}, false, 1, 1e15},
        {"periodic", Parameter::Type::flag, "Opposite borders of the object touch.", false}};
    function.variants = {analysis_on_cpu<Clusters>({Device::gpu, Device::remote})};
    to.push_back(std::move(function));
}

}  // namespace caesura::lambda
