// Going on from a file of this program, of any mode, with Caesura's Reader.
//
// Invariant: a run that goes on with as many ranks as wrote the file has its particles in the order
// in which they were written, so that all its sums are the same bit for bit, if they were written
// without loss. With other ranks the order is another one, the particles are the same.

#include <fmt/format.h>
#include <mpi.h>

#include <filesystem>
#include <numeric>
#include <stdexcept>

#include "caesura/mpi.hpp"
#include "caesura/reader.hpp"
#include "output.hpp"
#include "particle_records.hpp"
#include "status.hpp"

namespace cosmology {

namespace {

/// A stretch of the particles in the file.
struct Range {
    std::uint64_t begin = 0, count = 0;
};

class RestartFile {
  public:
    RestartFile(const Options& options, const Slab& slab)
        : path_(options.restart), slab_(slab), records_(record_infos(options)) {
        auto reader = caesura::Reader::open(path_, caesura::mpi(slab.comm()));
        expect_ok(reader.status(), "--restart " + path_);
        reader_ = std::move(*reader);
        check_same_run(options);
        if (reader_->dumps().empty())
            throw std::runtime_error("--restart " + path_ + ": it has no committed dump");
        iteration_ = reader_->dumps().back().iteration;
        count_ = reader_->fields()[number_of(records_[0].name)].shape[0];
    }

    std::uint64_t iteration() const { return iteration_; }
    std::uint64_t count() const { return count_; }

    /// Collective.
    Particles read(const Range& range) {
        Particles particles;
        const auto& fields = reader_->fields();
        particles.have_ids = std::any_of(fields.begin(), fields.end(), [](const auto& field) {
            return field.name == std::string(k_species) + "/id";
        });
        particles.resize(range.count);
        for (std::size_t a = 0; a < particles.arrays.size(); ++a)
            read(a, range, particles.arrays[a]);
        if (particles.have_ids) read("id", range, std::as_writable_bytes(std::span(particles.ids)));
        return particles;
    }

    /// This rank's particles, if the file has those of each rank's slab one after the other; else
    /// an even share. Collective.
    Range own_range(bool& is_own) {
        const auto ranks = static_cast<std::uint64_t>(slab_.size());
        const auto rank = static_cast<std::uint64_t>(slab_.rank());
        const Range share{count_ * rank / ranks,
                          count_ * (rank + 1) / ranks - count_ * rank / ranks};
        std::vector<float> x(share.count);
        read(0, share, x);
        std::vector<std::uint64_t> counts(ranks);
        for (const float one : x)
            ++counts[static_cast<std::size_t>(slab_.owner(static_cast<int>(one)))];
        MPI_Allreduce(MPI_IN_PLACE, counts.data(), slab_.size(), MPI_UINT64_T, MPI_SUM,
                      slab_.comm());
        std::vector<std::uint64_t> ends(ranks);
        std::partial_sum(counts.begin(), counts.end(), ends.begin());
        int in_order = 1;
        for (std::uint64_t i = 0; i < share.count; ++i) {
            const auto owner = static_cast<std::size_t>(slab_.owner(static_cast<int>(x[i])));
            const std::uint64_t at = share.begin + i;
            if (at >= ends[owner] || at < ends[owner] - counts[owner]) in_order = 0;
        }
        MPI_Allreduce(MPI_IN_PLACE, &in_order, 1, MPI_INT, MPI_MIN, slab_.comm());
        is_own = in_order == 1;
        return is_own ? Range{ends[rank] - counts[rank], counts[rank]} : share;
    }

  private:
    std::size_t number_of(const std::string& record) const {
        const auto found = reader_->find(std::string(k_species) + "/" + record, iteration_);
        expect_ok(found.status(), "--restart (was it written with --write-particles?)");
        return *found;
    }
    void read(std::size_t array, const Range& range, std::vector<float>& values) {
        read(records_[array].name, range, std::as_writable_bytes(std::span(values)));
        if (array > 2) return;
        // A position that was written with a bound may lie beyond the edge of the periodic box.
        const auto n = static_cast<float>(slab_.n());
        for (float& x : values) {
            if (x < 0.0f) x += n;
            if (x >= n) x -= n;
        }
    }
    void read(const std::string& record, const Range& range, std::span<std::byte> values) {
        expect_ok(reader_->read_all(number_of(record), {{range.begin}, {range.count}}, values),
                  "--restart");
    }
    void check_same_run(const Options& options) const {
        const std::string wanted = run_text(options);
        for (const auto& attribute : reader_->attributes()) {
            if (attribute.name != "cosmology_run") continue;
            const auto* const text = std::get_if<std::string>(&attribute.value);
            if (text != nullptr && *text == wanted) return;
            throw std::runtime_error(
                fmt::format("--restart {}: it is of a run with {}, this one "
                            "has {}",
                            path_, text ? *text : "other options", wanted));
        }
        throw std::runtime_error("--restart " + path_ + ": no run of this program wrote it");
    }

    const std::string path_;
    const Slab slab_;
    const std::array<RecordInfo, Particles::k_arrays> records_;
    std::unique_ptr<caesura::Reader> reader_;
    std::uint64_t iteration_ = 0, count_ = 0;
};

/// A run that was killed may have left a dump whole that is not committed: the Writer that goes on
/// would commit it, and this run would make it again.
void recover(const Options& options, const Slab& slab) {
    std::string error;
    MPI_Barrier(slab.comm());  // no rank has the file open any more
    if (slab.rank() == 0) {
        const auto report = caesura::store::recover(options.append);
        if (!report.ok()) error = report.status().message();
    }
    auto bytes = static_cast<int>(error.size());
    MPI_Bcast(&bytes, 1, MPI_INT, 0, slab.comm());
    error.resize(static_cast<std::size_t>(bytes));
    MPI_Bcast(error.data(), bytes, MPI_CHAR, 0, slab.comm());
    if (!error.empty()) throw std::runtime_error("--append: " + error);
}

}  // namespace

Restored read_restart(const Options& options, const Slab& slab) {
    std::error_code none;
    if (!options.append.empty()) recover(options, slab);
    if (options.append.empty() && !options.output.empty() &&
        std::filesystem::equivalent(options.restart, options.output, none))
        throw std::runtime_error("--output " + options.output +
                                 " is the file to go on from; it would be overwritten");
    RestartFile file(options, slab);
    bool is_own = false;
    const Range range = file.own_range(is_own);
    Restored restored{file.read(range), static_cast<int>(file.iteration())};
    if (!is_own) {
        Migration migration(slab);
        migration.pack(restored.particles);
        migration.exchange(restored.particles);
    }
    if (!options.write_particles) {
        restored.particles.have_ids = false;
        restored.particles.ids.clear();
    } else if (!restored.particles.have_ids) {
        throw std::runtime_error("--restart " + options.restart + ": its particles have no ids");
    }
    return restored;
}

}  // namespace cosmology
