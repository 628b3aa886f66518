// An application's HDF5 file written through an OpenWriter is what its writes would have made of a
// plain array: read back with stock HDF5.
#include "writer/open_writer.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <future>
#include <random>
#include <thread>

#include "application_file.hpp"
#include "decompositions.hpp"
#include "held_worker.hpp"
#include "stock_reader.hpp"

namespace caesura::writer {
namespace {

using testing::ApplicationFile;
using testing::require;

struct Program;

class OpenWriterTest : public ::testing::Test {
  protected:
    std::string path_ = ::testing::TempDir() + "caesura_open_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }
    void run(const Program& program, double bound);
};

std::uint64_t number_in(const Shape& dims, const Shape& position) {
    std::uint64_t index = 0;
    for (int axis = 0; axis < dims.rank(); ++axis) index = index * dims[axis] + position[axis];
    return index;
}

Shape position_in(const Box& box, std::uint64_t i) {
    Shape position = box.offset;
    for (int axis = box.extent.rank() - 1; axis >= 0; --axis) {
        position[axis] += i % box.extent[axis];
        i /= box.extent[axis];
    }
    return position;
}

/// One random program: datasets, and what each rank writes to them in each dump.
struct Program {
    struct Dataset {
        DatasetDefinition definition;
        Shape most_dims;
        std::vector<double> values;  ///< the reference: a plain array
    };
    struct Write {
        int rank;
        std::size_t dataset;
        Box box;
        std::vector<double> values;
    };
    struct Dump {
        std::vector<std::pair<std::size_t, Shape>> resized;
        std::vector<Write> writes;                         ///< ascending by rank
        std::vector<std::pair<std::size_t, Shape>> grown;  ///< after these writes
        std::vector<Write> writes_then;                    ///< ascending by rank
        bool flushed = false;
    };

    Program(unsigned seed, int n_ranks, int n_dumps) : random(seed), ranks(n_ranks) {
        const auto n = 1 + random() % 3;
        for (std::size_t d = 0; d < n; ++d) add_dataset(d);
        for (int i = 0; i < n_dumps; ++i) add_dump();
    }
    /// Written with this codec and bound instead of without loss.
    void lose(const std::string& codec, const ErrorBound& bound) {
        for (Dataset& dataset : datasets) {
            dataset.definition.codec.name = codec;
            dataset.definition.bound = bound;
        }
    }

    void add_dataset(std::size_t number) {
        Dataset dataset;
        DatasetDefinition& the = dataset.definition;
        const int axes = 1 + static_cast<int>(random() % 4);
        const std::uint64_t longest[] = {3000, 60, 16, 8};
        the.path = "/step_" + std::to_string(number) + "/any name: x=" + std::to_string(number);
        the.dtype = random() % 2 ? float32 : float64;
        the.dims = the.chunk = dataset.most_dims = Shape::filled(axes, 1);
        the.extendable = random() % 2 == 0;
        for (int axis = 0; axis < axes; ++axis) {
            the.dims[axis] = 1 + random() % longest[axes - 1];
            the.chunk[axis] = 1 + random() % the.dims[axis];
            dataset.most_dims[axis] = the.extendable ? 2 * the.dims[axis] + 5 : the.dims[axis];
        }
        const double fill = random() % 2 ? 0.0 : 7.5;
        const auto narrow = static_cast<float>(fill);
        if (the.dtype == float32)
            std::memcpy(the.fill.data(), &narrow, sizeof narrow);
        else
            std::memcpy(the.fill.data(), &fill, sizeof fill);
        dataset.values.assign(the.dims.count(), fill);
        fills.push_back(fill);
        dims.push_back(the.dims);
        datasets.push_back(std::move(dataset));
    }

    void add_dump() {
        Dump dump;
        dump.flushed = random() % 4 == 0;
        grow_some(dump.resized);
        add_writes(dump.writes);
        grow_some(dump.grown);
        add_writes(dump.writes_then);
        // The lowest rank is seen, so it paints last.
        for (int r = ranks; r-- > 0;)
            for (const auto* writes : {&dump.writes, &dump.writes_then})
                for (const Write& write : *writes)
                    if (write.rank == r) paint(write);
        dumps.push_back(std::move(dump));
    }

    void add_writes(std::vector<Write>& writes) {
        for (int r = 0; r < ranks; ++r)
            for (auto n = random() % 4; n > 0; --n) writes.push_back(any_write(r));
    }

    void grow_some(std::vector<std::pair<std::size_t, Shape>>& resized) {
        for (std::size_t d = 0; d < datasets.size(); ++d)
            if (datasets[d].definition.extendable && random() % 3 == 0) grow(d, resized);
    }

    void grow(std::size_t d, std::vector<std::pair<std::size_t, Shape>>& resized) {
        const Shape before = dims[d];
        for (int axis = 0; axis < before.rank(); ++axis)
            dims[d][axis] += random() % (datasets[d].most_dims[axis] - before[axis] + 1);
        std::vector<double> grown(dims[d].count(), fills[d]);
        const Box old{Shape::filled(before.rank(), 0), before};
        for (std::uint64_t i = 0; i < before.count(); ++i)
            grown[number_in(dims[d], position_in(old, i))] = datasets[d].values[i];
        datasets[d].values = std::move(grown);
        resized.emplace_back(d, dims[d]);
    }

    Write any_write(int rank) {
        Write write{rank, random() % datasets.size(), {}, {}};
        const Shape& whole = dims[write.dataset];
        write.box = {whole, whole};
        const bool all = random() % 6 == 0;
        for (int axis = 0; axis < whole.rank(); ++axis) {
            write.box.offset[axis] = all ? 0 : random() % whole[axis];
            write.box.extent[axis] =
                all ? whole[axis] : 1 + random() % (whole[axis] - write.box.offset[axis]);
        }
        const auto first = static_cast<double>(random() % 1000);
        for (std::uint64_t i = 0; i < write.box.extent.count(); ++i)
            write.values.push_back(first + 0.25 * static_cast<double>(i % 4096));
        return write;
    }

    void paint(const Write& write) {
        for (std::uint64_t i = 0; i < write.values.size(); ++i)
            datasets[write.dataset]
                .values[number_in(dims[write.dataset], position_in(write.box, i))] =
                write.values[i];
    }

    std::mt19937 random;
    int ranks;
    std::vector<Dataset> datasets;
    std::vector<Shape> dims;
    std::vector<double> fills;
    std::vector<Dump> dumps;
};

Status put(OpenWriter& writer, Field field, DType dtype, const Program::Write& write) {
    if (dtype == float64) return writer.put(field, write.box, write.values.data(), dtype);
    const std::vector<float> narrow(write.values.begin(), write.values.end());
    return writer.put(field, write.box, narrow.data(), dtype);
}

/// The program on one rank.
void play(const Program& program, const std::string& path, std::unique_ptr<Communicator> of_file,
          std::unique_ptr<Communicator> of_writer) {
    const int rank = of_file->rank();
    ApplicationFile file(base::FileSystem::posix(), path, *of_file, true);
    const auto name_of = [&](Field f) { return program.datasets[f.index].definition.path; };
    const auto keep = [&](Field f, std::uint64_t, const Box& part, std::span<std::byte> values) {
        return file.read(name_of(f), part, values);
    };
    WriterOptions options;
    options.durable = false;
    const auto target = file.target(*of_writer);
    auto writer = OpenWriter::make(target, std::move(of_writer), options, nullptr, keep);
    require(writer.status());
    OpenWriter& w = **writer;
    std::vector<Field> fields;
    for (const Program::Dataset& dataset : program.datasets) {
        auto field = w.define(dataset.definition);
        require(field.status());
        file.create_dataset(dataset.definition, dataset.most_dims, w.pipeline(*field));
        fields.push_back(*field);
    }
    for (std::size_t n = 0; n < program.dumps.size(); ++n) {
        const Program::Dump& dump = program.dumps[n];
        const auto resize = [&](const auto& resized) {
            for (const auto& [d, dims] : resized) {
                file.resize(name_of(fields[d]), dims);
                require(w.resize(fields[d], dims));
            }
        };
        const auto write_all = [&](const std::vector<Program::Write>& writes) {
            for (const Program::Write& write : writes)
                if (write.rank == rank)
                    require(put(w, fields[write.dataset],
                                program.datasets[write.dataset].definition.dtype, write));
        };
        resize(dump.resized);
        write_all(dump.writes);
        resize(dump.grown);
        write_all(dump.writes_then);
        if (n + 1 == program.dumps.size())
            require(w.pause());
        else
            require(dump.flushed ? w.flush() : w.end());
    }
    (void)w.finished();
    require(w.close());
    EXPECT_EQ(w.committed_dumps(), w.next_dump());
}

void OpenWriterTest::run(const Program& program, double bound) {
    testing::run_application(program.ranks, [&](auto of_file, auto of_writer) {
        play(program, path_, std::move(of_file), std::move(of_writer));
    });
    for (std::size_t d = 0; d < program.datasets.size(); ++d) {
        const auto read = testing::read_dataset(path_, program.datasets[d].definition.path);
        ASSERT_EQ(read.shape,
                  std::vector<std::uint64_t>(program.dims[d].data(),
                                             program.dims[d].data() + program.dims[d].rank()));
        EXPECT_EQ(testing::broken(program.datasets[d].values, read.values, bound), "");
    }
}

// Goal: any boxes, any overlaps, holes, rewritten and partly written chunks, datasets that grow, on
// 1 to 4 ranks: a stock reader sees what the same writes make of a plain array.
TEST_F(OpenWriterTest, random_programs_leave_what_they_would_on_plain_arrays) {
    for (unsigned seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        constexpr int k_ranks[] = {1, 2, 4};
        run(Program(seed, k_ranks[seed % 3], 4), 0.0);
        if (HasFailure()) return;
    }
}

// Goal: what a block keeps is read back and stored again at every dump that writes a part of it.
// Its values were off by up to the bound the first time, and are off by no more after the last.
TEST_F(OpenWriterTest, values_stay_within_the_bound_however_often_their_blocks_are_written) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        constexpr int k_ranks[] = {1, 2, 4};
        constexpr double k_bound = 0.3;  // values are multiples of 0.25: every one may be moved
        Program program(seed, k_ranks[seed % 3], 10);
        program.lose(seed % 2 ? "caesura" : "caesura:fast", absolute(k_bound));
        run(program, k_bound);
        if (HasFailure()) return;
    }
}

/// An application's file whose commits need more room for their journal on rank 0 than elsewhere,
/// as where that rank's library has flushed more.
class LongerJournal final : public Tree {
  public:
    LongerJournal(testing::ApplicationFile& file, int rank) : file_(file), rank_(rank) {}
    bool records_on_all_ranks() const override { return true; }
    std::uint64_t end() const override { return file_.end(); }
    void regions_end(std::uint64_t end) override { file_.regions_end(end); }
    bool changed() const override { return file_.changed(); }
    Built build(const Dumps& dumps, std::uint64_t file_end, bool trim) override {
        auto built = file_.build(dumps, file_end, trim);
        if (rank_ == 0) regions_end(end() + 4096);
        return built;
    }
    Status flushed() override { return file_.flushed(); }

  private:
    testing::ApplicationFile& file_;
    int rank_;
};

// Goal: ranks whose commits end at different places go on behind the last of them, all at the same.
TEST_F(OpenWriterTest, commits_that_end_elsewhere_on_a_rank_do_not_part_the_ranks) {
    const DatasetDefinition dataset{.path = "/rho", .dims = {64}, .chunk = {16}};
    const std::vector<float> values(32, 2.5f);
    testing::run_application(2, [&](auto of_file, auto of_writer) {
        const auto rank = static_cast<std::uint64_t>(of_writer->rank());
        ApplicationFile file(base::FileSystem::posix(), path_, *of_file, true);
        LongerJournal tree(file, of_writer->rank());
        WriterOptions options;
        options.durable = false;
        const auto target = file.target(*of_writer, &tree);
        auto writer = OpenWriter::make(target, std::move(of_writer), options, nullptr, {});
        require(writer.status());
        const auto field = (*writer)->define(dataset);
        require(field.status());
        file.create_dataset(dataset, dataset.dims, (*writer)->pipeline(*field));
        for (int dump = 0; dump < 3; ++dump) {
            file.attribute("dump " + std::to_string(dump), dump);
            require((*writer)->put(*field, {{32 * rank}, {32}}, values.data(), float32));
            require((*writer)->flush());
        }
        require((*writer)->close());
    });
    EXPECT_EQ(testing::read_dataset(path_, "/rho").values, std::vector<double>(64, 2.5));
}

// Goal: a closed file becomes whole without another call, though its last dumps have no room where
// it was reserved, and a dump before the last is still at work when the file is closed. It may go
// on instead, and be closed again, with a dump or without one.
TEST_F(OpenWriterTest, blocks_of_any_dump_that_overflow_after_a_close_lie_in_the_file) {
    const DatasetDefinition dataset{.path = "/rho", .dims = {1u << 16}, .chunk = {1u << 14}};
    std::vector<float> values(dataset.dims[0]);
    std::mt19937 random(20261129);
    for (float& value : values) value = static_cast<float>(random()) * 1e-9f;
    const auto close_and_wait = [](OpenWriter& w) {
        std::promise<void> written;
        w.when_written([&] { written.set_value(); });
        const auto end = written.get_future().wait_for(std::chrono::seconds(60));
        EXPECT_EQ(end, std::future_status::ready) << "blocks wait for a call";
        EXPECT_EQ(w.take_back_call(), end == std::future_status::ready);
    };
    for (const bool last_is_empty : {false, true}) {
        testing::run_application(1, [&](auto of_file, auto of_writer) {
            ApplicationFile file(base::FileSystem::posix(), path_, *of_file, true);
            WriterOptions options;
            options.durable = options.planning = false;
            options.reserve_factor = 0.01;
            const auto target = file.target(*of_writer);
            auto writer = OpenWriter::make(target, std::move(of_writer), options, nullptr, {});
            require(writer.status());
            OpenWriter& w = **writer;
            const auto field = w.define(dataset);
            require(field.status());
            file.create_dataset(dataset, dataset.dims, w.pipeline(*field));
            const auto dump = [&] {
                return w.put(*field, {{0}, dataset.dims}, values.data(), float32);
            };
            testing::HeldWorker worker;
            require(dump());
            require(w.end());
            worker.wait_until_held();
            if (!last_is_empty) require(dump());
            require(w.pause());
            w.go_on();
            if (!last_is_empty) require(dump());
            require(w.pause());
            worker.let_go();
            close_and_wait(w);
            w.go_on();
            require(w.pause());
            close_and_wait(w);
            EXPECT_GT(w.report().overflow_blocks, 0u);
            require(w.close());
        });
        EXPECT_EQ(testing::broken(std::vector<double>(values.begin(), values.end()),
                                  testing::read_dataset(path_, "/rho").values, 0.0),
                  "");
    }
}

// Goal: what was lent is not free as soon as it is committed: a worker without CPU time may still
// be reading it, because somebody else has computed the block.
TEST_F(OpenWriterTest, borrowed_data_of_a_committed_dump_are_not_released_while_a_worker_reads) {
    const DatasetDefinition dataset{.path = "/rho", .dims = {1u << 18}, .chunk = {1u << 18}};
    std::vector<float> values(dataset.dims[0]);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.5f * static_cast<float>(i % 977);
    testing::run_application(1, [&](auto of_file, auto of_writer) {
        ApplicationFile file(base::FileSystem::posix(), path_, *of_file, true);
        WriterOptions options;
        options.durable = options.planning = false;
        const auto target = file.target(*of_writer);
        auto writer = OpenWriter::make(target, std::move(of_writer), options, nullptr, {});
        require(writer.status());
        OpenWriter& w = **writer;
        const auto field = w.define(dataset);
        require(field.status());
        file.create_dataset(dataset, dataset.dims, w.pipeline(*field));
        testing::HeldWorker worker;
        require(w.put(*field, {{0}, dataset.dims}, values.data(), float32, Ownership::borrow));
        EXPECT_FALSE(w.released(0));
        require(w.end());
        worker.wait_until_held();
        EXPECT_EQ(file.builds(), 0) << "nobody sees the dataset before its values";
        require(w.flush());
        EXPECT_EQ(file.builds(), 1);
        EXPECT_EQ(w.committed_dumps(), 1u);
        EXPECT_FALSE(w.released(0));
        worker.let_go();
        while (!w.released(0)) std::this_thread::yield();
        require(w.close());
    });
    EXPECT_EQ(testing::broken(std::vector<double>(values.begin(), values.end()),
                              testing::read_dataset(path_, "/rho").values, 0.0),
              "");
}

}  // namespace
}  // namespace caesura::writer
