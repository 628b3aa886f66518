// Goal: a Writer goes on with a file where another one has left it, also one that was killed, and
// says what became of it; what cannot be gone on with is an error on all ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <complex>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "base/file.hpp"
#include "base/thread_communicator.hpp"
#include "base/whole_file.hpp"
#include "caesura/reader.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "hdf5/block_codec.hpp"
#include "stock_reader.hpp"
#include "store/recover.hpp"

namespace caesura {
namespace {

using Iterations = std::vector<std::int64_t>;

template <class T>
std::vector<T> values_of(const Shape& shape, std::uint64_t number) {
    return testing::make_field<T>(shape, static_cast<unsigned>(number) + 7, 0);
}

class WriterAppend : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_append_" + std::to_string(::getpid()) + ".h5";
    std::vector<std::string> said_;
    void TearDown() override { std::filesystem::remove(path_); }

    WriterOptions plain() {
        WriterOptions options;
        options.codec.name = "none";
        options.chunk_bytes = 64u << 10;
        options.calibration_path = "none";
        options.on_message = [this](std::string_view text) { said_.emplace_back(text); };
        return options;
    }

    /// Dumps of one field, on one rank, up to a close or to a sudden end.
    void write(std::vector<std::uint64_t> iterations, const WriterOptions& options,
               std::optional<OpenOptions> where = {}, bool close = true) {
        auto writer = where ? Writer::open(path_, nullptr, options, *where)
                            : Writer::create(path_, nullptr, options);
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        const auto rho = (*writer)->define_field("rho", float32, k_shape);
        ASSERT_TRUE(rho.ok());
        for (const std::uint64_t n : iterations) {
            auto iteration = (*writer)->begin_iteration(n);
            auto dump = iteration.begin_dump(static_cast<double>(n));
            ASSERT_TRUE(
                dump.put(*rho, {{0, 0}, k_shape}, values_of<float>(k_shape, n).data()).ok());
            const Status ended = iteration.end();
            ASSERT_TRUE(ended.ok()) << ended.message();
            if (close) {
                ASSERT_TRUE((*writer)->finish_by(60.0).ok());
            }
        }
        if (!close) return;
        const Status closed = (*writer)->close();
        ASSERT_TRUE(closed.ok()) << closed.message();
    }
    void check(const Iterations& iterations) const {
        ASSERT_EQ(testing::iterations(path_), iterations);
        for (const std::int64_t n : iterations)
            ASSERT_EQ(
                testing::broken(
                    values_of<float>(k_shape, static_cast<std::uint64_t>(n)),
                    testing::read_dataset(path_, fmt::format("/data/{}/meshes/rho", n)).values,
                    0.0),
                "")
                << n;
    }
    bool was_said(const std::string& words) const {
        return std::any_of(said_.begin(), said_.end(), [&](const std::string& text) {
            return text.find(words) != std::string::npos;
        });
    }

    static inline const Shape k_shape{30, 700};
};

TEST_F(WriterAppend, goes_on_after_the_last_dump) {
    write({0, 10, 20}, plain());
    {
        auto writer = Writer::open(path_, nullptr, plain());
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        EXPECT_EQ((*writer)->committed(), 20u);
        EXPECT_TRUE(was_said("goes on after iteration 20, the last of 3 dumps"));
        const auto before = base::get_file(path_);
        ASSERT_TRUE((*writer)->close().ok());
        EXPECT_EQ((*writer)->committed(), 20u);
        EXPECT_TRUE(base::get_file(path_) == before);
    }
    write({25, 30}, plain(), OpenOptions{});
    check({0, 10, 20, 25, 30});
    EXPECT_TRUE(store::recover(base::FileSystem::posix(), path_)->was_clean);
}

TEST_F(WriterAppend, drops_what_lies_behind_a_named_iteration_and_says_what) {
    write({0, 10, 20, 30}, plain());
    {
        auto writer = Writer::open(path_, nullptr, plain(), {10});
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        EXPECT_EQ((*writer)->committed(), 10u);
        const std::uint64_t bytes = 2 * k_shape.count() * sizeof(float);
        EXPECT_GE((*writer)->report().superseded_bytes, bytes);
        EXPECT_TRUE(was_said("iterations 20, 30 are dropped; their"));
        check({0, 10});  // while it is open
        ASSERT_TRUE((*writer)->close().ok());
    }
    check({0, 10});
    write({20, 40}, plain(), OpenOptions{});  // an iteration that was dropped may come again
    check({0, 10, 20, 40});
    const auto info = store::read_info(path_);
    EXPECT_GE(info->unused_bytes, 2 * k_shape.count() * sizeof(float));
}

TEST_F(WriterAppend, recovers_a_file_whose_run_was_killed) {
    write({0, 10, 20}, plain(), {}, false);  // all blocks may lie there, or not
    const bool is_clean = store::recover(path_, true)->was_clean;
    write({1000}, plain(), OpenOptions{});
    EXPECT_EQ(was_said("had not closed it"), !is_clean);
    const auto there = testing::iterations(path_);
    ASSERT_EQ(there.back(), 1000);
    check(there);
}

TEST_F(WriterAppend, takes_other_ranks_fields_types_and_codecs) {
    const Shape shape{41, 300};
    for (const int ranks : {3, 1, 4}) {
        base::run_ranks(ranks, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            WriterOptions options;
            options.codec.name = ranks == 1 ? "none" : "caesura";
            options.chunk_bytes = 64u << 10;
            options.calibration_path = "none";
            auto writer = ranks == 3 ? Writer::create(path_, std::move(comm), options)
                                     : Writer::open(path_, std::move(comm), options);
            ASSERT_TRUE(writer.ok()) << writer.status().message();
            if (ranks != 3) {
                EXPECT_EQ((*writer)->committed(), ranks == 1 ? 3u : 1u);
            }
            const bool wide = ranks == 4;
            auto field = (*writer)->define_field("rho", wide ? float64 : float32, shape);
            auto iteration = (*writer)->begin_iteration(static_cast<std::uint64_t>(ranks));
            auto dump = iteration.begin_dump(0.0);
            const auto n = static_cast<std::uint64_t>(ranks), me = static_cast<std::uint64_t>(rank);
            const std::uint64_t first = shape[0] * me / n, end = shape[0] * (me + 1) / n;
            const Box box{{first, 0}, {end - first, shape[1]}};
            Status put =
                wide ? dump.put(*field, box,
                                testing::take(values_of<double>(shape, n), shape, box).data())
                     : dump.put(*field, box,
                                testing::take(values_of<float>(shape, n), shape, box).data());
            const Status ended = iteration.end();
            const Status closed = (*writer)->close();
            EXPECT_TRUE(put.ok() && ended.ok() && closed.ok()) << ended.message();
            EXPECT_EQ((*writer)->committed(), n);
        });
    }
    for (const std::uint64_t n : {3, 1})
        EXPECT_EQ(
            testing::broken(
                values_of<float>(shape, n),
                testing::read_dataset(path_, fmt::format("/data/{}/meshes/rho", n)).values, 0.0),
            "");
    EXPECT_EQ(testing::broken(values_of<double>(shape, 4),
                              testing::read_dataset(path_, "/data/4/meshes/rho").values, 0.0),
              "");
    const auto reader = Reader::open(path_);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    EXPECT_EQ((*reader)->dumps().size(), 3u);
}

TEST_F(WriterAppend, of_an_iteration_that_is_there_is_refused_and_the_next_works) {
    write({0, 10}, plain());
    auto writer = Writer::open(path_, nullptr, plain());
    ASSERT_TRUE(writer.ok());
    const auto rho = (*writer)->define_field("rho", float32, k_shape);
    for (const std::uint64_t n : {10, 11}) {
        auto iteration = (*writer)->begin_iteration(n);
        auto dump = iteration.begin_dump(0.0);
        (void)dump.put(*rho, {{0, 0}, k_shape}, values_of<float>(k_shape, n).data());
        const Status ended = iteration.end();
        EXPECT_EQ(ended.ok(), n == 11) << ended.message();
        if (n == 10) {
            EXPECT_EQ(ended.code(), StatusCode::invalid_argument);
            EXPECT_NE(ended.message().find("iteration 10 is in " + path_), std::string::npos)
                << ended.message();
        }
    }
    ASSERT_TRUE((*writer)->close().ok());
    check({0, 10, 11});
}

TEST_F(WriterAppend, errors_come_to_all_ranks_and_leave_the_file_as_it_is) {
    write({0, 10, 20}, plain());
    const auto before = base::get_file(path_);
    const auto expect_on_all = [&](const std::string& path, WriterOptions options,
                                   const OpenOptions& where, StatusCode code,
                                   const std::string& word) {
        std::mutex mutex;
        int right = 0;
        std::string message;
        options.on_message = {};
        base::run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
            const auto writer = Writer::open(path, std::move(comm), options, where);
            const std::lock_guard lock(mutex);
            if (!writer.ok()) message = writer.status().message();
            right += writer.status().code() == code && message.find(word) != std::string::npos;
        });
        EXPECT_EQ(right, 3) << message;
        EXPECT_TRUE(base::get_file(path_) == before);
    };
    expect_on_all(path_ + ".none", plain(), {}, StatusCode::io, "Writer::create makes a new file");
    expect_on_all(path_, plain(), {15}, StatusCode::invalid_argument, "nearest are 0, 10, 20");
    WriterOptions service = plain();
    service.transport = "service:nowhere";
    expect_on_all(path_, service, {}, StatusCode::unsupported, "service:nowhere");
    WriterOptions wrong = plain();
    wrong.chunk_bytes = 1;
    expect_on_all(path_, wrong, {}, StatusCode::invalid_argument, "chunk_bytes");
    {
        const auto other = Writer::open(path_, nullptr, plain());
        ASSERT_TRUE(other.ok());
        expect_on_all(path_, plain(), {10}, StatusCode::io, "in use");
        ASSERT_TRUE((*other)->close().ok());
    }
    const std::string text = path_ + ".txt";
    ASSERT_TRUE(base::put_file(text, std::vector<std::byte>(9000, std::byte{'x'})));
    expect_on_all(text, plain(), {}, StatusCode::corrupt, "not a Caesura file");
    if (::geteuid() != 0) {
        std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
        expect_on_all(path_, plain(), {}, StatusCode::io, "ermission");
    }
    std::filesystem::remove(text);
}

const store::Attribute* find(const std::vector<store::Attribute>& all, const std::string& name) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
}

TEST_F(WriterAppend, what_is_said_of_the_file_takes_the_place_of_what_it_says) {
    WriterOptions first = plain();
    first.author = "one";
    first.root_attributes["kept"] = std::int64_t{1};
    first.root_attributes["changed"] = std::int64_t{1};
    write({0}, first);
    const auto before = store::read_info(path_)->root;
    ASSERT_NE(find(before, "softwareVersion"), nullptr);
    WriterOptions second = plain();
    second.author = "two";
    second.software = "mine";
    second.root_attributes["changed"] = std::string("text");
    second.root_attributes["added"] = 2.5;
    for (const std::uint64_t n : {1, 2}) {
        write({n}, n == 1 ? second : plain(), OpenOptions{});  // the second time nothing is said
        const auto root = store::read_info(path_)->root;
        EXPECT_EQ(find(root, "author")->value, store::AttributeValue(std::string("two")));
        EXPECT_EQ(find(root, "software")->value, store::AttributeValue(std::string("mine")));
        EXPECT_EQ(find(root, "softwareVersion"), nullptr);
        EXPECT_EQ(find(root, "kept")->value, store::AttributeValue(std::int64_t{1}));
        EXPECT_EQ(find(root, "changed")->value, store::AttributeValue(std::string("text")));
        EXPECT_EQ(find(root, "added")->value, store::AttributeValue(2.5));
        EXPECT_EQ(find(root, "date")->value, find(before, "date")->value);
    }
    auto writer = Writer::open(path_, nullptr, plain());
    ASSERT_TRUE((*writer)->set_attribute(AttributeOwner::file(), "kept", std::int64_t{3}).ok());
    said_.clear();
    ASSERT_TRUE((*writer)->close().ok());
    EXPECT_TRUE(was_said("has no new dump"));
    EXPECT_EQ(find(store::read_info(path_)->root, "kept")->value,
              store::AttributeValue(std::int64_t{1}));
}

/// What is said of the file is not lost with the run: recovery says it too.
TEST_F(WriterAppend, what_was_said_of_the_file_is_recovered_with_the_dump) {
    WriterOptions first = plain();
    first.root_attributes["changed"] = std::int64_t{1};
    write({0}, first);
    first.root_attributes["changed"] = std::int64_t{2};
    {
        auto writer = Writer::open(path_, nullptr, first);
        ASSERT_TRUE(writer.ok());
        const auto rho = (*writer)->define_field("rho", float32, k_shape);
        auto iteration = (*writer)->begin_iteration(1);
        auto dump = iteration.begin_dump(1.0);
        const auto values = values_of<float>(k_shape, 1);
        ASSERT_TRUE(dump.put(*rho, {{0, 0}, k_shape}, values.data()).ok());
        ASSERT_TRUE(iteration.end().ok());
        while (!(*writer)->released(1)) std::this_thread::yield();
    }
    const auto report = store::recover(base::FileSystem::posix(), path_);
    ASSERT_TRUE(report.ok());
    const bool is_there = report->committed_dumps == 2;
    EXPECT_EQ(find(store::read_info(path_)->root, "changed")->value,
              store::AttributeValue(std::int64_t{is_there ? 2 : 1}));
}

TEST_F(WriterAppend, particles_may_come_with_the_run_that_goes_on) {
    write({0}, plain());
    auto writer = Writer::open(path_, nullptr, plain());
    ASSERT_TRUE(writer.ok());
    const auto dust = (*writer)->define_species("dust");
    ASSERT_TRUE(dust.ok()) << dust.status().message();
    const auto x = (*writer)->define_record(*dust, "position/x", float64, lossless());
    const auto values = values_of<double>({999}, 5);
    auto iteration = (*writer)->begin_iteration(1);
    auto dump = iteration.begin_dump(1.0);
    ASSERT_TRUE(dump.put_particles(*x, values.size(), values.data()).ok());
    ASSERT_TRUE(iteration.end().ok());
    ASSERT_TRUE((*writer)->close().ok());
    EXPECT_EQ(testing::read_dataset(path_, "/data/1/particles/dust/position/x").values, values);
    const auto root = store::read_info(path_)->root;
    ASSERT_NE(find(root, "particlesPath"), nullptr);
    EXPECT_EQ(find(root, "particlesPath")->value, store::AttributeValue(std::string("particles/")));
}

/// The first dump of a run that goes on is coded with what the last one of the run before was.
TEST_F(WriterAppend, table_sets_are_those_of_the_last_dump) {
    WriterOptions options = plain();
    options.codec.name = "caesura";
    options.bound = absolute(0.05);
    write({0, 1, 2, 3}, options);
    write({4}, options, OpenOptions{});
    const auto info = store::read_info(path_);
    ASSERT_TRUE(info.ok());
    std::map<std::uint64_t, std::optional<TableSet>> sets;
    for (const auto& dataset : info->datasets)
        sets[dataset.iteration] = tables_in(dataset.spec.pipeline);
    EXPECT_FALSE(sets[0].has_value());
    ASSERT_TRUE(sets[3].has_value());
    ASSERT_TRUE(sets[4].has_value());
    EXPECT_TRUE(*sets[3] == *sets[4]);
}

/// Also of records of particles and of complex numbers, whatever the layout.
TEST_F(WriterAppend, table_sets_are_found_again_by_what_a_dataset_was_to_its_writer) {
    for (const std::string layout : {"", "/step_%06T/{field}"}) {
        WriterOptions options = plain();
        options.codec.name = "caesura";
        options.layout = layout;
        const auto run = [&](std::vector<std::uint64_t> iterations, Writer& writer) {
            const Species dust = writer.define_species("dust").value();
            const Field x =
                writer.define_record(dust, "position/x", float32, absolute(0.05)).value();
            const Field wave =
                writer.define_field("wave", complex64, k_shape, absolute(0.05)).value();
            for (const std::uint64_t n : iterations) {
                auto iteration = writer.begin_iteration(n);
                auto dump = iteration.begin_dump(0.0);
                const auto a = values_of<float>(k_shape, n), b = values_of<float>(k_shape, n + 9);
                std::vector<std::complex<float>> both(a.size());
                for (std::size_t i = 0; i < a.size(); ++i) both[i] = {a[i], b[i]};
                ASSERT_TRUE(dump.put_particles(x, a.size(), a.data()).ok());
                ASSERT_TRUE(dump.put(wave, {{0, 0}, k_shape}, both.data()).ok());
                ASSERT_TRUE(iteration.end().ok());
                ASSERT_TRUE(writer.finish_by(60.0).ok());
            }
            ASSERT_TRUE(writer.close().ok());
        };
        run({0, 1, 2, 3}, *Writer::create(path_, nullptr, options).value());
        run({4}, *Writer::open(path_, nullptr, options).value());
        std::map<std::string, std::map<std::uint64_t, std::optional<TableSet>>> sets;
        const auto info = store::read_info(path_).value();
        for (const auto& dataset : info.datasets) {
            const std::string& path = dataset.spec.path;
            sets[path.substr(path.rfind('/'))][dataset.iteration] =
                tables_in(dataset.spec.pipeline);
        }
        for (const char* const name : {"/x", "/wave"}) {
            auto& of = sets[name];
            ASSERT_TRUE(of[3].has_value()) << name;
            ASSERT_TRUE(of[4].has_value()) << name << " in layout '" << layout << "'";
            EXPECT_TRUE(*of[3] == *of[4]) << name << " in layout '" << layout << "'";
        }
    }
}

TEST_F(WriterAppend, the_first_run_may_have_made_no_dump) {
    write({}, plain());
    write({5}, plain(), OpenOptions{});
    EXPECT_TRUE(was_said("it has no dump yet"));
    check({5});
}

class WriterAppendSeries : public WriterAppend {
  protected:
    std::string directory_ = path_ + ".series";
    void SetUp() override {
        std::filesystem::remove_all(directory_);
        std::filesystem::create_directories(directory_);
        path_ = directory_ + "/run_%04T.h5";
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    WriterOptions of_each(std::uint64_t dumps_per_file) {
        WriterOptions options = plain();
        options.dumps_per_file = dumps_per_file;
        return options;
    }
};

TEST_F(WriterAppendSeries, goes_on_in_new_files_and_removes_what_lies_behind) {
    const WriterOptions options = of_each(2);
    EXPECT_EQ(Writer::open(path_, nullptr, options).status().code(), StatusCode::io);
    write({0, 1, 2, 3, 4, 5, 6}, options);
    const auto names = [&] {
        std::vector<std::string> all;
        for (const auto& entry : std::filesystem::directory_iterator(directory_))
            all.push_back(entry.path().filename());
        std::sort(all.begin(), all.end());
        return all;
    };
    using Names = std::vector<std::string>;
    const Names before = {"run_0000.h5", "run_0002.h5", "run_0004.h5", "run_0006.h5"};
    ASSERT_EQ(names(), before);
    const auto wrong = Writer::open(path_, nullptr, options, {9});
    EXPECT_EQ(wrong.status().code(), StatusCode::invalid_argument);
    EXPECT_NE(wrong.status().message().find("of its 7 dumps the nearest are 4, 5, 6"),
              std::string::npos)
        << wrong.status().message();
    ASSERT_EQ(names(), before);
    // A run that was killed while it made a file leaves one of no bytes.
    ASSERT_TRUE(base::put_file(directory_ + "/run_0009.h5", {}));
    write({10}, options, OpenOptions{2});
    EXPECT_EQ(names(), (Names{"run_0000.h5", "run_0002.h5", "run_0009.h5", "run_0010.h5"}));
    EXPECT_TRUE(was_said("iterations 3, 4, 5, 6 are dropped, and 2 files that had nothing else"));
    EXPECT_TRUE(was_said("goes on after iteration 2, the last of 3 dumps"));
    {
        auto writer = Writer::open(path_, nullptr, options);
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        EXPECT_EQ((*writer)->committed(), 10u);
        auto iteration = (*writer)->begin_iteration(1);
        (void)iteration.begin_dump(0.0);
        const Status ended = iteration.end();
        EXPECT_NE(ended.message().find("iteration 1 is in"), std::string::npos) << ended.message();
        ASSERT_TRUE((*writer)->close().ok());
    }
    for (const auto& [name, iterations] : std::map<std::string, Iterations>{
             {"run_0000.h5", {0, 1}}, {"run_0002.h5", {2}}, {"run_0010.h5", {10}}}) {
        path_ = directory_ + "/" + name;
        ASSERT_NO_FATAL_FAILURE(check(iterations)) << name;
    }
}

// Between two files a run has none open for writing; another one must not take its series up.
TEST_F(WriterAppendSeries, is_held_by_its_run_between_two_files) {
    const auto refused = [this](std::optional<std::uint64_t> after) {
        return Writer::open(path_, nullptr, of_each(1), {after}).status();
    };
    auto writer = Writer::create(path_, nullptr, of_each(1));
    const auto dump = [&](std::uint64_t n) {
        const auto rho = (*writer)->define_field("rho", float32, k_shape);
        auto iteration = (*writer)->begin_iteration(n);
        auto open_dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(
            open_dump.put(*rho, {{0, 0}, k_shape}, values_of<float>(k_shape, n).data()).ok());
        ASSERT_TRUE(iteration.end().ok());
        ASSERT_TRUE((*writer)->finish_by(60.0).ok());
    };
    ASSERT_NO_FATAL_FAILURE(dump(0));
    EXPECT_EQ(refused({}).code(), StatusCode::io) << refused({}).message();
    ASSERT_TRUE((*writer)->close().ok());
    writer = Writer::open(path_, nullptr, of_each(1));  // before its first dump
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    EXPECT_EQ(refused(0).code(), StatusCode::io) << refused(0).message();
    ASSERT_NO_FATAL_FAILURE(dump(1));
    EXPECT_EQ(refused(0).code(), StatusCode::io) << refused(0).message();
    ASSERT_TRUE((*writer)->close().ok());
    EXPECT_TRUE(refused(0).ok());
}

// A run that is killed after the header of a file leaves one without dumps, which comes again.
TEST_F(WriterAppendSeries, makes_a_file_without_dumps_anew) {
    write({0}, of_each(1));
    auto begun = store::SharedFile::create(base::FileSystem::posix(), directory_ + "/run_0001.h5",
                                           store::make_run_id());
    ASSERT_TRUE(begun.ok());
    *begun = store::SharedFile();
    write({1}, of_each(1), OpenOptions{});
    path_ = directory_ + "/run_0001.h5";
    check({1});
}

// openPMD's file-based encoding says that a file has one dump: it must stay true.
TEST_F(WriterAppendSeries, keeps_one_dump_in_each_file_of_that_encoding) {
    write({0, 1}, of_each(1));
    const auto refusal = [](const std::string& path, const WriterOptions& options) {
        const Status status = Writer::open(path, nullptr, options).status();
        EXPECT_EQ(status.code(), StatusCode::invalid_argument);
        return status.message();
    };
    EXPECT_NE(refusal(directory_ + "/run_0001.h5", plain()).find("the series 'run_%04T.h5'"),
              std::string::npos);
    EXPECT_NE(refusal(path_, of_each(3)).find("one dump each, and dumps_per_file is 3; give 1"),
              std::string::npos);
    write({5, 6, 7, 8}, of_each(1), OpenOptions{});
}

TEST_F(WriterAppendSeries, says_at_create_that_older_files_are_there) {
    write({0, 1, 4}, of_each(1));
    EXPECT_FALSE(was_said("files of this name"));
    write({1}, of_each(1));
    EXPECT_TRUE(was_said("3 files of this name are there"));
    path_ = directory_ + "/run_0004.h5";
    check({4});
}

}  // namespace
}  // namespace caesura
