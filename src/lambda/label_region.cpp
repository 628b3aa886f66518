#include <algorithm>

#include "lambda/clusters.hpp"

namespace caesura::lambda {
namespace {

/// Cells above the threshold side by side.
struct RowRun {
    std::uint32_t begin, end, label;
};

// Cells that are looked at together: most are not above, and whole blocks are passed over.
constexpr std::uint32_t k_block = 64;

/// Which cells of a row are above, by their values.
template <class T>
class ValueRows {
  public:
    ValueRows(std::span<const T> values, double threshold)
        : values_(values.data()), threshold_(threshold) {}
    void begin(std::uint64_t first_cell) { row_ = values_ + first_cell; }
    bool is_above(std::uint32_t i) const { return double{row_[i]} > threshold_; }
    // Without a branch in between, so that the compiler takes vectors.
    bool any_above(std::uint32_t first) const {
        int above = 0;
        for (std::uint32_t i = first; i < first + k_block; ++i) above |= is_above(i) ? 1 : 0;
        return above != 0;
    }

  private:
    const T* values_;
    const T* row_ = nullptr;
    double threshold_;
};

/// By marks that somebody else has made.
class MarkedRows {
  public:
    explicit MarkedRows(std::span<const std::uint64_t> marks) : marks_(marks) {}
    void begin(std::uint64_t first_cell) { first_ = first_cell; }
    bool is_above(std::uint32_t i) const {
        return (marks_[(first_ + i) / 64] >> ((first_ + i) % 64) & 1) != 0;
    }
    bool any_above(std::uint32_t first) const {
        const std::uint64_t at = (first_ + first) / 64, bit = (first_ + first) % 64;
        if ((marks_[at] >> bit) != 0) return true;
        return bit > 0 && (marks_[at + 1] << (64 - bit)) != 0;
    }

  private:
    std::span<const std::uint64_t> marks_;
    std::uint64_t first_ = 0;
};

/// One row after the other, from the region's first to its last.
template <class Rows>
class Labeller {
  public:
    Labeller(Rows cells, const Shape& extent)
        : cells_(cells), extent_(extent), rows_before_(extent[1]), rows_(extent[1]) {
        region_.faces.resize(3);
        for (int axis = 0; axis < 3; ++axis)
            for (Face& face : region_.faces[static_cast<std::size_t>(axis)])
                face.extent = {extent[axis == 0 ? 1 : 0], extent[axis == 2 ? 1 : 2]};
    }

    LabelledRegion run() {
        for (std::uint64_t z = 0; z < extent_[0]; ++z) {
            rows_before_.swap(rows_);
            for (std::uint64_t y = 0; y < extent_[1]; ++y) {
                find_runs(z, y);
                if (y > 0) join(rows_[y - 1], rows_[y]);
                if (z > 0) join(rows_before_[y], rows_[y]);
            }
            note_faces(static_cast<std::uint32_t>(z));
        }
        name_components();
        return std::move(region_);
    }

  private:
    void find_runs(std::uint64_t z, std::uint64_t y) {
        cells_.begin((z * extent_[1] + y) * extent_[2]);
        const auto n = static_cast<std::uint32_t>(extent_[2]);
        std::vector<RowRun>& runs = rows_[y];
        runs.clear();
        for (std::uint32_t i = 0; i < n;) {
            if (i + k_block <= n && !cells_.any_above(i)) {  // most are like this
                i += k_block;
                continue;
            }
            const std::uint32_t stop = std::min(n, i + k_block);
            while (i < stop && !cells_.is_above(i)) ++i;
            if (i == stop) continue;
            const std::uint32_t begin = i;
            while (i < n && cells_.is_above(i)) ++i;
            runs.push_back({begin, i, components_.add(i - begin)});
        }
    }

    void join(const std::vector<RowRun>& a, const std::vector<RowRun>& b) {
        for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
            if (a[i].begin < b[k].end && b[k].begin < a[i].end)
                components_.unite(a[i].label, b[k].label);
            a[i].end < b[k].end ? ++i : ++k;
        }
    }

    void note_faces(std::uint32_t z) {
        const auto rows = static_cast<std::uint32_t>(extent_[1]);
        const auto last = static_cast<std::uint32_t>(extent_[2]) - 1;
        const auto note = [](Face& face, std::uint32_t row, const std::vector<RowRun>& runs) {
            for (const RowRun& run : runs)
                face.runs.push_back({row, run.begin, run.end, run.label});
        };
        for (std::uint32_t y = 0; y < rows; ++y) {
            if (z == 0) note(region_.faces[0][0], y, rows_[y]);
            if (z + 1 == extent_[0]) note(region_.faces[0][1], y, rows_[y]);
        }
        note(region_.faces[1][0], z, rows_.front());
        note(region_.faces[1][1], z, rows_.back());
        for (std::uint32_t y = 0; y < rows; ++y) {
            if (rows_[y].empty()) continue;
            const RowRun &first = rows_[y].front(), &end = rows_[y].back();
            if (first.begin == 0) note_cell(region_.faces[2][0], z, y, first.label);
            if (end.end == last + 1) note_cell(region_.faces[2][1], z, y, end.label);
        }
    }
    static void note_cell(Face& face, std::uint32_t row, std::uint32_t column,
                          std::uint32_t label) {
        if (!face.runs.empty()) {
            FaceRun& before = face.runs.back();
            if (before.row == row && before.end == column && before.label == label) {
                ++before.end;
                return;
            }
        }
        face.runs.push_back({row, column, column + 1, label});
    }

    void name_components() {
        std::vector<std::uint32_t> names(components_.size());
        for (std::uint32_t label = 0; label < names.size(); ++label)
            if (components_.root(label) == label) {
                names[label] = static_cast<std::uint32_t>(region_.cells.size());
                region_.cells.push_back(components_.cells(label));
            }
        for (auto& both : region_.faces)
            for (Face& face : both)
                for (FaceRun& run : face.runs) run.label = names[components_.root(run.label)];
    }

    Rows cells_;
    const Shape extent_;
    std::vector<std::vector<RowRun>> rows_before_, rows_;  // of two neighbouring planes
    Components components_;
    LabelledRegion region_;
};

}  // namespace

LabelledRegion label_region(std::span<const float> values, const Shape& extent, double threshold) {
    return Labeller(ValueRows<float>(values, threshold), extent).run();
}
LabelledRegion label_region(std::span<const double> values, const Shape& extent, double threshold) {
    return Labeller(ValueRows<double>(values, threshold), extent).run();
}
LabelledRegion label_marks(std::span<const std::uint64_t> marks, const Shape& extent) {
    return Labeller(MarkedRows(marks), extent).run();
}

}  // namespace caesura::lambda
