// Goal: whatever the application does to its tree between commits (making, changing, moving,
// deleting, growing), each commit is what a plain model says, on any number of ranks.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include "store/live_fixture.hpp"
#include "store/recover.hpp"

namespace caesura::store {
namespace {

constexpr unsigned k_live_random_seed = 20260922;

RunId live_random_run() {
    RunId run;
    for (std::size_t i = 0; i < run.size(); ++i) run[i] = static_cast<std::byte>(60 + i * 7);
    return run;
}

/// The tree as it should be: groups at the root, each with attributes and datasets.
struct Model {
    struct Group {
        std::map<std::string, std::vector<std::int64_t>> attributes;
        std::map<std::string, std::vector<int>> integers;
        std::map<std::string, std::vector<float>> placed;
    };
    std::map<std::string, Group> groups;
    std::vector<std::string> deleted;
};

class Application {
  public:
    Application(base::FileSystem& files, const std::string& path, int n_ranks, unsigned seed)
        : files_(files), path_(path), n_ranks_(n_ranks), random_(seed) {
        run_ = std::make_unique<LiveRun>(files, path, n_ranks, live_random_run());
    }

    LiveRun& run() { return *run_; }

    void step() {
        if (model_.groups.empty() || pick(12) == 0) return make_group();
        auto at = std::next(model_.groups.begin(), pick(static_cast<int>(model_.groups.size())));
        switch (pick(9)) {
            case 0:
            case 1:
                return set_attribute(at->first, at->second);
            case 2:
                return delete_attribute(at->first, at->second);
            case 3:
                return make_integers(at->first, at->second);
            case 4:
                return rewrite(at->first, at->second);
            case 5:
                return extend(at->first, at->second);
            case 6:
                return place(at->first, at->second);
            case 7:
                return pick(3) == 0 ? delete_group(at->first) : move_group(at->first);
            default:
                return flush();
        }
    }

    /// Commit, or build and let go; sometimes close and open again.
    void commit() {
        if (pick(4) == 0) {
            require(run_->flush_raw());
            require(run_->build().status());
        }
        const bool close = pick(5) == 0;
        require(run_->commit(close));
        for (const LiveRank& rank : run_->ranks())
            if (rank.image->end() != run_->image().end())
                throw std::runtime_error("ranks have come apart");
        if (!close) return;
        run_.reset();
        run_ =
            std::make_unique<LiveRun>(LiveRun::reopen(files_, path_, n_ranks_, live_random_run()));
    }

    std::string difference() const try {
        const QuietErrors quiet;
        const Handle file(H5Fopen(path_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
        if (!file.ok()) return hdf5_error(StatusCode::io, "open").message();
        for (const auto& name : model_.deleted)
            if (H5Lexists(file.get(), name.c_str(), H5P_DEFAULT) > 0) return name + " is there";
        for (const auto& [name, group] : model_.groups)
            if (auto wrong = difference(file.get(), name, group); !wrong.empty()) return wrong;
        return {};
    } catch (const std::exception& error) {
        return error.what();
    }

  private:
    int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

    static std::string difference(hid_t file, const std::string& name, const Model::Group& group) {
        const Handle at(H5Gopen2(file, name.c_str(), H5P_DEFAULT), H5Gclose);
        if (!at.ok()) return name + " is missing";
        if (H5Aget_num_attrs(at.get()) != static_cast<int>(group.attributes.size()))
            return name + " has another number of attributes";
        for (const auto& [attribute, expected] : group.attributes) {
            const Handle a(H5Aopen(at.get(), attribute.c_str(), H5P_DEFAULT), H5Aclose);
            std::vector<std::int64_t> found(expected.size());
            if (H5Aget_storage_size(a.get()) != 8 * expected.size() ||
                H5Aread(a.get(), H5T_NATIVE_INT64, found.data()) < 0 || found != expected)
                return name + "/" + attribute;
        }
        for (const auto& [path, expected] : group.integers) {
            const Handle d(H5Dopen2(at.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
            const Handle space(H5Dget_space(d.get()), H5Sclose);
            std::vector<int> found(expected.size());
            if (H5Sget_simple_extent_npoints(space.get()) !=
                    static_cast<hssize_t>(expected.size()) ||
                H5Dread(d.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()) < 0 ||
                found != expected) {
                const auto wrong =
                    std::mismatch(found.begin(), found.end(), expected.begin()).first -
                    found.begin();
                return fmt::format("{}/{} [{}] of {}: {} for {}", name, path, wrong, found.size(),
                                   found[static_cast<std::size_t>(wrong)],
                                   expected[static_cast<std::size_t>(wrong)]);
            }
        }
        for (const auto& [path, expected] : group.placed) {
            const Handle d(H5Dopen2(at.get(), path.c_str(), H5P_DEFAULT), H5Dclose);
            std::vector<float> found(expected.size());
            if (H5Dread(d.get(), H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()) <
                    0 ||
                found != expected)
                return name + "/" + path;
        }
        return {};
    }

    void make_group() {
        const std::string name = fmt::format("/group_{}", next_++);
        run_->group(name);
        model_.groups[name];
    }

    void set_attribute(const std::string& name, Model::Group& group) {
        // 9,000 values are more than an object header holds: they become a huge object of a heap,
        // which the library writes as raw data.
        const std::size_t sizes[] = {1, 1, 20, 600, 9000};
        std::vector<std::int64_t> values(sizes[pick(5)]);
        std::iota(values.begin(), values.end(), pick(1 << 20));
        const std::string attribute = fmt::format("attribute_{}", pick(15));
        const bool exists = group.attributes.count(attribute) > 0;
        run_->all([&](hid_t file, int) -> hid_t {
            const Handle at(H5Gopen2(file, name.c_str(), H5P_DEFAULT), H5Gclose);
            if (exists && H5Adelete(at.get(), attribute.c_str()) < 0) return -1;
            const hsize_t n = values.size();
            const Handle space(H5Screate_simple(1, &n, nullptr), H5Sclose);
            const Handle a(H5Acreate2(at.get(), attribute.c_str(), H5T_STD_I64LE, space.get(),
                                      H5P_DEFAULT, H5P_DEFAULT),
                           H5Aclose);
            return H5Awrite(a.get(), H5T_NATIVE_INT64, values.data());
        });
        group.attributes[attribute] = values;
    }

    void delete_attribute(const std::string& name, Model::Group& group) {
        if (group.attributes.empty()) return;
        const std::string attribute = group.attributes.begin()->first;
        run_->all([&](hid_t file, int) -> hid_t {
            return H5Adelete_by_name(file, name.c_str(), attribute.c_str(), H5P_DEFAULT);
        });
        group.attributes.erase(attribute);
    }

    void make_integers(const std::string& name, Model::Group& group) {
        const std::string path = fmt::format("integers_{}", next_++);
        const bool growing = pick(2) == 0;
        const int fill = pick(3);
        const hsize_t n = 100, most = H5S_UNLIMITED, chunk = 30;
        run_->all([&](hid_t file, int rank) -> hid_t {
            const Handle dcpl(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
            H5Pset_alloc_time(dcpl.get(), H5D_ALLOC_TIME_EARLY);
            if (growing) H5Pset_chunk(dcpl.get(), 1, &chunk);
            if (fill > 0) H5Pset_fill_value(dcpl.get(), H5T_NATIVE_INT, &fill);
            const Handle space(H5Screate_simple(1, &n, growing ? &most : nullptr), H5Sclose);
            const LiveImage::Filling filling(run_->image(static_cast<std::size_t>(rank)));
            const Handle d(H5Dcreate2(file, (name + "/" + path).c_str(), H5T_STD_I32LE, space.get(),
                                      H5P_DEFAULT, dcpl.get(), H5P_DEFAULT),
                           H5Dclose);
            return d.get();
        });
        // Rank 0 writes fill values before any rank may write its own.
        group.integers[path] = std::vector<int>(n, fill);
        if (growing) growing_.insert({name + "/" + path, fill});
    }

    /// Single values far from each other. A value is always the same rank's: of two ranks that
    /// write the same bytes between two takes, none is the last.
    void rewrite(const std::string& name, Model::Group& group) {
        if (group.integers.empty()) return;
        const std::string& path = group.integers.begin()->first;
        auto& values = group.integers.begin()->second;
        const int base = pick(1 << 20);
        const hsize_t stride = 7, begin = stride * static_cast<hsize_t>(pick(3));
        const hsize_t n = (values.size() - begin - 1) / stride;
        run_->all([&](hid_t file, int rank) -> hid_t {
            const Handle d(H5Dopen2(file, (name + "/" + path).c_str(), H5P_DEFAULT), H5Dclose);
            const Handle in_file(H5Dget_space(d.get()), H5Sclose);
            const Handle in_memory(H5Screate_simple(1, &n, nullptr), H5Sclose);
            const hsize_t first = begin + static_cast<hsize_t>(rank);
            H5Sselect_hyperslab(in_file.get(), H5S_SELECT_SET, &first, &stride, &n, nullptr);
            std::vector<int> mine(n);
            for (hsize_t i = 0; i < n; ++i) {
                mine[i] = base + static_cast<int>(first + i * stride);
                values[first + i * stride] = mine[i];
            }
            return H5Dwrite(d.get(), H5T_NATIVE_INT, in_memory.get(), in_file.get(), H5P_DEFAULT,
                            mine.data());
        });
    }

    void extend(const std::string& name, Model::Group& group) {
        for (auto& [path, values] : group.integers) {
            const auto fill = growing_.find(name + "/" + path);
            if (fill == growing_.end()) continue;
            const hsize_t n = values.size() + 45;
            run_->all([&](hid_t file, int rank) -> hid_t {
                const Handle d(H5Dopen2(file, fill->first.c_str(), H5P_DEFAULT), H5Dclose);
                const LiveImage::Filling filling(run_->image(static_cast<std::size_t>(rank)));
                return H5Dset_extent(d.get(), &n);
            });
            values.resize(n, fill->second);
            return;
        }
    }

    void place(const std::string& name, Model::Group& group) {
        const std::string path = fmt::format("placed_{}", pick(2));  // often one that exists
        const auto made = run_->placed(name + "/" + path, pick(3));
        group.placed[path] = made.values;
    }

    void delete_group(const std::string& name) {
        run_->all(
            [&](hid_t file, int) -> hid_t { return H5Ldelete(file, name.c_str(), H5P_DEFAULT); });
        model_.deleted.push_back(name);
        model_.groups.erase(name);
    }

    void move_group(const std::string& name) {
        const std::string to = fmt::format("/moved_{}", next_++);
        run_->all([&](hid_t file, int) -> hid_t {
            return H5Lmove(file, name.c_str(), file, to.c_str(), H5P_DEFAULT, H5P_DEFAULT);
        });
        model_.deleted.push_back(name);
        auto node = model_.groups.extract(name);
        for (const auto& [path, values] : node.mapped().integers)
            if (auto fill = growing_.extract(name + "/" + path); !fill.empty()) {
                fill.key() = to + "/" + path;
                growing_.insert(std::move(fill));
            }
        node.key() = to;
        model_.groups.insert(std::move(node));
    }

    void flush() {
        run_->all([&](hid_t file, int) -> hid_t { return H5Fflush(file, H5F_SCOPE_GLOBAL); });
        require(run_->flush_raw());
    }

    base::FileSystem& files_;
    std::string path_;
    int n_ranks_;
    std::mt19937 random_;
    std::unique_ptr<LiveRun> run_;
    Model model_;
    std::map<std::string, int> growing_;  // fill value by path
    int next_ = 0;
};

TEST(LiveRandom, every_commit_is_what_the_model_says) {
    RecordProperty("seed", k_live_random_seed);
    TemporaryPath path("live_random");
    for (unsigned trial = 0; trial < 12; ++trial) {
        SCOPED_TRACE(fmt::format("seed {} ranks {}", k_live_random_seed + trial, 1 + trial % 3));
        Application application(base::FileSystem::posix(), path.str(),
                                1 + static_cast<int>(trial % 3), k_live_random_seed + trial);
        for (int commit = 0; commit < 12; ++commit) {
            for (int step = 0; step < 30; ++step) ASSERT_NO_THROW(application.step());
            ASSERT_NO_THROW(application.commit());
            ASSERT_EQ(application.difference(), "") << "commit " << commit;
        }
        auto report = recover(base::FileSystem::posix(), path.str());
        EXPECT_EQ(report.status().code(), StatusCode::io);  // the run still holds it
    }
}

TEST(LiveThreads, a_lane_writes_and_flushes_while_the_application_goes_on) {
    TemporaryPath path("live_threads");
    LiveRun run(base::FileSystem::posix(), path.str(), 2, live_random_run());
    run.integers("/raw", 0);
    for (int step = 0; step < 20; ++step) {
        run.write_integers("/raw", step);
        run.attribute("/", "step", step);
        std::vector<std::shared_ptr<RawBatch>> batches;
        for (LiveRank& rank : run.ranks()) {
            if (auto fill = rank.image->take_fill()) fill->mark_written();
            batches.push_back(rank.image->take_raw());
        }
        auto image = run.build();
        ASSERT_TRUE(image.ok()) << image.status().message();
        Status written;
        std::thread lane([&] {
            for (const auto& batch : batches)
                if (written.ok()) written = batch->write(run.ranks()[0].shared->file());
            if (written.ok()) written = image->flush(*run.ranks()[0].shared, false);
        });
        // Reads and changes meanwhile.
        EXPECT_EQ(integers_of(run.file(0), "/raw").front(), step);
        EXPECT_EQ(integers_of(run.file(1), "/raw").back(),
                  step + static_cast<int>(LiveRun::k_values) - 1);
        run.group(fmt::format("/made_meanwhile_{}", step));
        lane.join();
        ASSERT_TRUE(written.ok()) << written.message();
        for (LiveRank& rank : run.ranks()) require(rank.image->committed());
        EXPECT_EQ(stock_attribute(path.str(), "/", "step"), step);
        EXPECT_EQ(stock_integers(path.str(), "/raw").back(),
                  step + static_cast<int>(LiveRun::k_values) - 1);
    }
}

}  // namespace
}  // namespace caesura::store
