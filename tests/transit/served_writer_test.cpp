// A Writer whose blocks a service compresses and writes: the same file as by itself, whatever dies.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "stock_reader.hpp"
#include "transit/client/service_transport.hpp"
#include "transit/loopback.hpp"

namespace caesura {
namespace {

constexpr unsigned k_served_seed = 20261124;

struct ServedRun {
    transit::Loopback::Options hub;
    transit::OnLoss on_loss = transit::OnLoss::fail;
    bool share_memory = true;
    int ranks = 2;
    unsigned dumps = 4;
    std::uint64_t dumps_per_file = 0;  ///< 0: all in one file; else a series
    double reserve_factor = 1.0;
    std::string codec = "caesura";
    ErrorBound bound = lossless();
    Ownership own = Ownership::copy;
    std::uint64_t memory_bytes = std::uint64_t{64} << 20;
    std::function<void(transit::Loopback&, unsigned)> before_dump = {};  ///< on rank 0
    unsigned commit_before = ~0u;  ///< this dump; all before are committed then
};

struct Told {
    std::vector<std::string> errors, said;
    std::uint64_t lost_services = 0, regained_services = 0;  ///< of the rank that had most
    std::optional<std::uint64_t> committed;
    std::uint64_t overflow_blocks = 0, blocks = 0, raw_bytes = 0;
    std::int64_t messages = 0;  ///< of clients to the service
};

const Shape k_served_part{64, 64, 64};  // of one rank: several blocks

std::vector<float> served_values(int rank, unsigned dump) {
    return testing::make_field<float>(k_served_part,
                                      k_served_seed + 100 * dump + static_cast<unsigned>(rank), 1);
}

class ServedWriter : public ::testing::Test {
  protected:
    void SetUp() override {
        place_ = ::testing::TempDir() + "caesura_served_" + std::to_string(::getpid());
        std::filesystem::create_directories(place_);
        path_ = place_ + "/run.h5";
    }
    void TearDown() override { std::filesystem::remove_all(place_); }

    /// What Writers of this process mean by "service:here".
    void use(transit::Loopback& hub, const ServedRun& options) {
        writer::register_transport("service",
                                   [&](std::string_view, const writer::TransportOptions& asked)
                                       -> Result<std::shared_ptr<writer::Transport>> {
                                       transit::ClientOptions client;
                                       client.writer = asked;
                                       client.on_loss = options.on_loss;
                                       client.share_memory = options.share_memory;
                                       const std::lock_guard lock(mutex_);
                                       auto made = transit::ServiceTransport::make(
                                           [&] { return hub.connect(); }, client,
                                           absences_[asked.rank], clock_);
                                       if (!made.ok()) return made.status();
                                       return std::shared_ptr<writer::Transport>(std::move(*made));
                                   });
    }
    /// Long enough to look for a service that is away.
    void let_time_pass() { clock_.set(clock_.now_s() + 2 * transit::Absence::k_longest_s); }

    Told run(ServedRun options) {
        options.hub.root = place_;
        transit::Loopback hub(options.hub);
        use(hub, options);
        Told told;
        std::mutex mutex;
        Shape shape = k_served_part;
        shape[0] *= static_cast<std::uint64_t>(options.ranks);
        base::run_ranks(options.ranks, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            const auto note = [&](const Status& status) {
                const std::lock_guard lock(mutex);
                if (!status.ok()) told.errors.push_back(status.message());
            };
            WriterOptions writer_options;
            writer_options.transport = "service:here";
            writer_options.codec.name = options.codec;
            writer_options.chunk_bytes = 64u << 10;
            writer_options.memory_bytes = options.memory_bytes;
            writer_options.reserve_factor = options.reserve_factor;
            writer_options.durable = false;
            if (options.dumps_per_file > 0) writer_options.dumps_per_file = options.dumps_per_file;
            writer_options.on_message = [&](std::string_view text) {
                const std::lock_guard lock(mutex);
                told.said.emplace_back(text);
            };
            const std::string name = options.dumps_per_file > 0 ? place_ + "/run_%06T.h5" : path_;
            auto made = Writer::create(name, std::move(comm), writer_options);
            note(made.status());
            if (!made.ok()) return;
            Writer& writer = **made;
            auto field = writer.define_field("f", float32, shape, options.bound);
            std::vector<std::vector<float>> kept;  // borrowed: until close()
            for (unsigned n = 0; n < options.dumps; ++n) {
                if (n == options.commit_before) note(writer.finish_by(60.0));
                if (rank == 0 && options.before_dump) options.before_dump(hub, n);
                kept.push_back(served_values(rank, n));
                auto iteration = writer.begin_iteration(n);
                auto dump = iteration.begin_dump(0.0);
                const Box box{{static_cast<std::uint64_t>(rank) * k_served_part[0], 0, 0},
                              k_served_part};
                note(dump.put(*field, box, kept.back().data(), options.own));
                note(iteration.end());
            }
            note(writer.close());
            const WriterReport report = writer.report();
            const std::lock_guard lock(mutex);
            told.committed = writer.committed();
            told.overflow_blocks += report.overflow_blocks;
            told.blocks += report.blocks;
            told.raw_bytes += report.raw_bytes;
            told.lost_services = std::max(told.lost_services, report.lost_services);
            told.regained_services = std::max(told.regained_services, report.regained_services);
        });
        told.messages = hub.messages();
        return told;
    }

    void expect_dumps(unsigned dumps, int ranks, double bound = 0.0, unsigned per_file = 0) const {
        for (unsigned n = 0; n < dumps; ++n) {
            const std::string file =
                per_file == 0 ? path_
                              : fmt::format("{}/run_{:06}.h5", place_, n / per_file * per_file);
            std::vector<float> expected;
            for (int rank = 0; rank < ranks; ++rank) {
                const auto part = served_values(rank, n);
                expected.insert(expected.end(), part.begin(), part.end());
            }
            const auto read =
                testing::read_dataset(file, "/data/" + std::to_string(n) + "/meshes/f");
            ASSERT_EQ(testing::broken(expected, read.values, bound), "") << "dump " << n;
        }
    }

    base::VirtualClock clock_;
    std::mutex mutex_;
    std::vector<std::shared_ptr<transit::Absence>> absences_ = {
        // ranks are processes
        std::make_shared<transit::Absence>(), std::make_shared<transit::Absence>()};
    std::string place_, path_;
};

// Goal: every value is in the file as if the Writer had written it, by shared memory and without.
TEST_F(ServedWriter, writes_the_same_values_as_by_itself) {
    for (const bool shared : {true, false})
        for (const Ownership own : {Ownership::copy, Ownership::borrow})
            for (const double bound : {0.0, 1e-2}) {
                SCOPED_TRACE(shared);
                ServedRun options;
                options.share_memory = shared;
                options.own = own;
                options.bound = bound > 0.0 ? absolute(bound) : lossless();
                const Told told = run(options);
                ASSERT_EQ(told.errors, std::vector<std::string>{});
                EXPECT_EQ(told.committed, 3u);
                EXPECT_GE(told.blocks, 2u * 4u * 4u);
                expect_dumps(4, 2, bound);
            }
}

// Goal: codecs that are everyone's, and none at all, are the service's to use too.
TEST_F(ServedWriter, uses_any_codec) {
    for (const char* codec : {"none", "caesura:fast", "caesura:planes"}) {
        ServedRun options;
        options.codec = codec;
        EXPECT_EQ(run(options).errors, std::vector<std::string>{}) << codec;
        expect_dumps(4, 2);
    }
}

// Goal: blocks that do not fit where they were planned come back and go to the end of the file.
TEST_F(ServedWriter, has_missing_values_left_out_by_the_service) {
    // 0.5 lies amid the others: nothing would suspect it. 1e20 is suspected where a range is asked.
    for (const ErrorBound& bound : {absolute(1e-3), relative(1e-3)}) {
        ServedRun options;
        options.hub.root = place_;
        transit::Loopback hub(options.hub);
        use(hub, options);
        auto values = served_values(0, 0);
        for (std::size_t i = 0; i < values.size(); ++i)
            if (i % 64 < 20) values[i] = i % 64 < 10 ? 0.5f : 1e20f;
        WriterOptions writer_options;
        writer_options.transport = "service:here";
        writer_options.chunk_bytes = 64u << 10;
        writer_options.durable = false;
        writer_options.on_message = quiet;
        auto writer = Writer::create(path_, nullptr, writer_options);
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        FieldOptions said;
        said.missing = {0.5};
        if (bound.kind == ErrorBound::Kind::absolute) said.missing.emplace_back(1e20);
        const auto field = (*writer)->define_field("f", float32, k_served_part, bound, said);
        ASSERT_TRUE(field.ok());
        auto iteration = (*writer)->begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        ASSERT_TRUE(dump.put(*field, {{0, 0, 0}, k_served_part}, values.data()).ok());
        ASSERT_TRUE(iteration.end().ok());
        ASSERT_TRUE((*writer)->close().ok());
        EXPECT_EQ((*writer)->report().lost_services, 0u);
        EXPECT_GT(hub.messages(), 0);
        const auto read = testing::read_dataset(path_, "/data/0/meshes/f").values;
        ASSERT_EQ(read.size(), values.size());
        double worst = 0, low = HUGE_VAL, high = -HUGE_VAL;
        std::size_t changed = 0;
        for (std::size_t i = 0; i < read.size(); ++i) {
            const auto put = static_cast<double>(values[i]);
            if (i % 64 < 20)
                changed += read[i] == put ? 0 : 1;
            else
                worst = std::max(worst, std::abs(read[i] - put)), low = std::min(low, put),
                high = std::max(high, put);
        }
        EXPECT_EQ(changed, 0u);
        const bool in_units = bound.kind == ErrorBound::Kind::absolute;
        EXPECT_LE(worst, 1e-3 * (in_units ? 1 : high - low) * (1 + 1e-6));
        EXPECT_GT(worst, 0) << "stored without loss";
    }
}

TEST_F(ServedWriter, places_what_overflows) {
    ServedRun options;
    options.reserve_factor = 0.5;
    const Told told = run(options);
    EXPECT_EQ(told.errors, std::vector<std::string>{});
    EXPECT_GT(told.overflow_blocks, 0u);
    expect_dumps(4, 2);
}

// Goal: with credits for hardly a block everything still gets through.
TEST_F(ServedWriter, gets_through_with_hardly_any_credit) {
    for (const std::uint64_t credits : {std::uint64_t{1}, std::uint64_t{100} << 10}) {
        ServedRun options;
        options.hub.credits_bytes = credits;
        EXPECT_EQ(run(options).errors, std::vector<std::string>{});
        expect_dumps(4, 2);
    }
}

// Goal: whichever message the service dies after, a Writer that may write by itself commits every
// dump with every value.
TEST_F(ServedWriter, goes_on_by_itself_wherever_the_service_dies) {
    const Told whole = run({});
    ASSERT_EQ(whole.errors, std::vector<std::string>{});
    ASSERT_GT(whole.messages, 50);
    constexpr std::int64_t k_greetings = 4;  // without a welcome there is no Writer
    for (std::int64_t at = k_greetings; at < whole.messages; at += 7) {
        SCOPED_TRACE(at);
        ServedRun options;
        options.on_loss = transit::OnLoss::write_here;
        options.hub.die_after = at;
        options.hub.service.recover = false;
        const Told told = run(options);
        ASSERT_EQ(told.errors, std::vector<std::string>{});
        EXPECT_EQ(told.committed, 3u);
        expect_dumps(4, 2);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

// Goal: a service that is lost between a dump's making and its hand-over, or between the lane's
// look and its write, gets nothing, and nothing goes to the file that is not compressed.
TEST_F(ServedWriter, gives_back_blocks_that_were_made_for_a_service_that_was_lost_since) {
    transit::Loopback::Options options;
    options.root = place_;
    options.service.recover = false;
    transit::Loopback hub(options);
    transit::ClientOptions client_options;
    client_options.on_loss = transit::OnLoss::write_here;
    auto client = transit::Client::make(hub.connect(), client_options);
    ASSERT_TRUE(client.ok()) << client.status().message();
    auto file = store::SharedFile::create(base::FileSystem::posix(), path_, store::make_run_id());
    ASSERT_TRUE(file.ok()) << file.status().message();
    run::DumpTask task(2);
    task.compress_elsewhere();
    hub.kill_service();
    ASSERT_TRUE((*client)->is_lost());
    base::MemoryBudget budget(1 << 20);
    auto sink = (*client)->sink({*file, {}}, task, {budget, [] {}});
    ASSERT_TRUE(sink.ok()) << sink.status().message();
    EXPECT_TRUE((*sink)->gives_back());
    run::Job* const ready[] = {&task.jobs[0], &task.jobs[1]};
    EXPECT_TRUE((*sink)->write(ready).ok());
    for (const run::Job* const job : ready) EXPECT_EQ(job->state.load(), run::JobState::compressed);
    // Nor is a dump finished whose blocks the service alone has written.
    for (run::Job* const job : ready) job->state = run::JobState::written;
    EXPECT_FALSE((*sink)->finish().ok());
    // Once they are compressed here there is no place for them but the end of the file.
    for (run::Job* const job : ready) job->elsewhere = false;
    EXPECT_TRUE((*sink)->write(ready).ok());
    for (const run::Job* const job : ready) EXPECT_EQ(job->state.load(), run::JobState::overflowed);
}

// Goal: a file for each dump, or every two, is written as one file is: with the service, and where
// it is killed between two files, within one, and is started again.
TEST_F(ServedWriter, writes_a_series_of_files_with_and_without_its_service) {
    for (const unsigned per_file : {1u, 2u})
        for (const bool killed : {false, true}) {
            SCOPED_TRACE(fmt::format("{} a file, killed: {}", per_file, killed));
            ServedRun options;
            options.dumps = 7;
            options.dumps_per_file = per_file;
            options.bound = absolute(1e-2);
            std::map<unsigned, std::int64_t> messages;  // of clients, before dumps
            if (killed) {
                options.on_loss = transit::OnLoss::write_here;
                options.hub.service.recover = false;
                options.before_dump = [&](transit::Loopback& hub, unsigned n) {
                    hub.wait_for_port();
                    if (n == 3) hub.kill_service();
                    if (n == 5) {
                        hub.restart_service();
                        let_time_pass();
                    }
                    messages[n] = hub.messages();
                };
            }
            const Told told = run(options);
            ASSERT_EQ(told.errors, std::vector<std::string>{});
            EXPECT_EQ(told.committed, 6u);
            EXPECT_EQ(told.lost_services, killed ? 1u : 0u);
            EXPECT_EQ(told.regained_services, killed ? 1u : 0u);
            // The service had blocks: of all files, and of the last one again.
            EXPECT_GE(told.messages - messages[6], 2 * 4);
            expect_dumps(7, 2, 1e-2, per_file);
            const auto files = std::distance(std::filesystem::directory_iterator(place_), {});
            EXPECT_EQ(files, (7 + per_file - 1) / per_file);
            std::filesystem::remove_all(place_);
            std::filesystem::create_directories(place_);
        }
}

// Goal: without a fall-back a service that dies is an error that says so, and what was committed
// stays readable.
TEST_F(ServedWriter, says_that_the_service_died_and_keeps_what_was_committed) {
    ServedRun options;
    options.dumps = 6;
    options.hub.service.recover = false;
    options.commit_before = 4;
    options.before_dump = [](transit::Loopback& hub, unsigned n) {
        if (n == 4) hub.kill_service();
    };
    const Told told = run(options);
    ASSERT_FALSE(told.errors.empty());
    EXPECT_NE(told.errors[0].find("the service is gone"), std::string::npos) << told.errors[0];
    const auto recovered = store::recover(path_);
    ASSERT_TRUE(recovered.ok()) << recovered.status().message();
    const auto found = testing::iterations(path_);
    EXPECT_GE(found.size(), 4u);
    EXPECT_GE(told.committed.value_or(0), 3u);
    expect_dumps(static_cast<unsigned>(found.size()), 2);
}

std::size_t times(const std::vector<std::string>& said, std::string_view words) {
    return static_cast<std::size_t>(std::count_if(
        said.begin(), said.end(),
        [&](const std::string& text) { return text.find(words) != std::string::npos; }));
}

// Goal: within one file each rank goes back to a service that was killed and started again, as
// often as that happens, and says so once each time.
TEST_F(ServedWriter, goes_back_to_a_service_that_was_started_again) {
    for (const bool shared : {true, false}) {
        SCOPED_TRACE(shared);
        ServedRun options;
        options.share_memory = shared;
        options.on_loss = transit::OnLoss::write_here;
        options.hub.service.recover = false;
        options.dumps = 12;
        options.commit_before = 7;
        std::map<unsigned, std::int64_t> messages;  // of clients, before dumps
        options.before_dump = [&](transit::Loopback& hub, unsigned n) {
            hub.wait_for_port();  // a service that was looked for has answered
            if (n == 2 || n == 7) hub.kill_service();
            if (n == 4 || n == 9) {
                hub.restart_service();
                let_time_pass();
            }
            messages[n] = hub.messages();
        };
        const Told told = run(options);
        ASSERT_EQ(told.errors, std::vector<std::string>{});
        EXPECT_EQ(told.committed, 11u);
        EXPECT_EQ(told.lost_services, 2u);
        EXPECT_EQ(told.regained_services, 2u);
        EXPECT_EQ(times(told.said, "the service is gone"), 2u * 2u);
        EXPECT_EQ(times(told.said, "there again: it compresses"), 2u * 2u);
        // By hellos alone it has learnt nothing of dumps 2 to 4; of 5 and 6 it had the blocks.
        EXPECT_LE(messages[5] - messages[2], 4);
        EXPECT_GE(messages[7] - messages[5], 2 * 4 * 2) << "blocks";
        EXPECT_GE(told.messages - messages[10], 2 * 4 * 2);
        expect_dumps(12, 2);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

// Goal: a service that was started again and does not take a file costs that file alone: it is
// written here, nobody counts the service as lost, and it has the next file.
TEST_F(ServedWriter, writes_a_file_by_itself_that_a_service_refuses_and_keeps_the_service) {
    ServedRun options;
    options.ranks = 1;
    options.on_loss = transit::OnLoss::write_here;
    options.hub.service.recover = false;
    options.dumps = 6;
    options.commit_before = 5;
    std::atomic<bool> is_refused{false};
    const std::string elsewhere = place_ + "/elsewhere";
    std::filesystem::create_directories(elsewhere);
    options.hub.permit = [&](transit::ClientId, transit::Permit& permit) {
        if (is_refused) permit.files = transit::RootedFiles::make({elsewhere}).value();
    };
    options.before_dump = [&](transit::Loopback& hub, unsigned n) {
        hub.wait_for_port();
        if (n == 1) hub.kill_service();
        if (n != 2) return;
        is_refused = true;
        hub.restart_service();
        let_time_pass();
    };
    const Told told = run(options);
    ASSERT_EQ(told.errors, std::vector<std::string>{});
    EXPECT_EQ(told.committed, 5u);
    EXPECT_EQ(told.lost_services, 1u) << "when it was killed";
    EXPECT_EQ(told.regained_services, 1u);
    EXPECT_EQ(times(told.said, "the service is gone"), 1u);
    EXPECT_EQ(times(told.said, "the service does not take: " + path_), 1u);
    expect_dumps(6, 1);
}

// Goal: a dump that a service does not take is written by the program, with the service's file, and
// is nobody's error; the service has the next one.
TEST_F(ServedWriter, writes_the_dumps_by_itself_that_a_service_refuses) {
    for (const transit::OnLoss on_loss : {transit::OnLoss::fail, transit::OnLoss::write_here})
        for (const std::uint32_t dumps : {0u, 1u}) {
            SCOPED_TRACE(::testing::Message() << "at most " << dumps << " dumps at once");
            ServedRun options;
            options.on_loss = on_loss;
            options.hub.service.limits.dumps = dumps;
            options.dumps = 6;
            const Told told = run(options);
            ASSERT_EQ(told.errors, std::vector<std::string>{});
            EXPECT_EQ(told.committed, 5u);
            EXPECT_EQ(told.lost_services, 0u);
            const std::size_t refused = times(
                told.said, "what the service does not take: the dump of iteration 0: 0 dumps are");
            EXPECT_EQ(refused, dumps == 0 ? 2u : 0u);
            expect_dumps(6, 2);
        }
}

// Goal: whichever message it dies after, and whoever of the ranks has seen that, a service that is
// started again before each dump costs no value.
TEST_F(ServedWriter, loses_nothing_wherever_a_service_dies_that_is_started_again) {
    const Told whole = run({});
    ASSERT_EQ(whole.errors, std::vector<std::string>{});
    std::uint64_t regained = 0;
    for (std::int64_t at = 4; at < whole.messages; at += 11) {
        SCOPED_TRACE(at);
        ServedRun options;
        options.on_loss = transit::OnLoss::write_here;
        options.hub.die_after = at;
        options.hub.service.recover = false;
        options.dumps = 6;
        options.before_dump = [&](transit::Loopback& hub, unsigned) {
            hub.restart_service();
            let_time_pass();
        };
        const Told told = run(options);
        ASSERT_EQ(told.errors, std::vector<std::string>{});
        EXPECT_EQ(told.committed, 5u);
        regained += told.regained_services;
        expect_dumps(6, 2);
        if (::testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(regained, 0u);
}

// Goal: a service that stays away is looked for by a new file at most as often as Absence says;
// files are written here meanwhile, and by the service once it is there again.
TEST_F(ServedWriter, makes_files_without_a_service_that_stays_away) {
    ServedRun options;
    options.on_loss = transit::OnLoss::write_here;
    options.hub.root = place_;
    options.hub.service.recover = false;
    transit::Loopback hub(options.hub);
    use(hub, options);
    const auto write_file = [&](const std::function<void()>& then = {}) {
        WriterOptions writer_options;
        writer_options.transport = "service:here";
        writer_options.durable = false;
        auto made = Writer::create(path_, nullptr, writer_options);
        EXPECT_TRUE(made.ok()) << made.status().message();
        if (!made.ok()) return WriterReport{};
        if (then) then();
        const auto field = (*made)->define_field("f", float32, k_served_part, lossless());
        const auto values = served_values(0, 0);
        auto iteration = (*made)->begin_iteration(0);
        EXPECT_TRUE(
            iteration.begin_dump(0.0).put(*field, {{0, 0, 0}, k_served_part}, values.data()).ok());
        EXPECT_TRUE(iteration.end().ok());
        EXPECT_TRUE((*made)->close().ok());
        expect_dumps(1, 1);
        return (*made)->report();
    };
    EXPECT_EQ(write_file([&] { hub.kill_service(); }).lost_services, 1u);
    const auto looked = hub.last_client();
    for (int n = 0; n < 5; ++n) EXPECT_EQ(write_file().lost_services, 1u);
    EXPECT_EQ(hub.last_client(), looked) << "no time has passed";
    hub.restart_service();
    let_time_pass();
    const std::int64_t before = hub.messages();
    const WriterReport back = write_file();
    EXPECT_EQ(back.lost_services, 1u);
    EXPECT_EQ(back.regained_services, 1u);
    EXPECT_GT(hub.messages(), before + 8);
    EXPECT_EQ(write_file().lost_services, 0u) << "nobody has lost it any more";
}

// Goal: without a fall-back the file that was told an error stays lost, and the next one is the
// restarted service's.
TEST_F(ServedWriter, makes_the_next_file_by_a_service_that_was_started_again_after_an_error) {
    ServedRun options;
    options.hub.root = place_;
    options.hub.service.recover = false;
    transit::Loopback hub(options.hub);
    use(hub, options);
    const auto create = [&] {
        WriterOptions writer_options;
        writer_options.transport = "service:here";
        writer_options.durable = false;
        return Writer::create(path_, nullptr, writer_options);
    };
    const auto dump = [&](Writer& writer, std::uint64_t n) {
        const auto field =
            writer.define_field("f" + std::to_string(n), float32, k_served_part, lossless());
        const auto values = served_values(0, 0);
        auto iteration = writer.begin_iteration(n);
        (void)iteration.begin_dump(0.0).put(*field, {{0, 0, 0}, k_served_part}, values.data());
        return iteration.end();
    };
    auto lost = create();
    ASSERT_TRUE(lost.ok());
    hub.kill_service();
    for (std::uint64_t n = 0; n < 2; ++n) (void)dump(**lost, n);
    EXPECT_NE((*lost)->close().message().find("the service is gone"), std::string::npos);
    lost->reset();
    EXPECT_FALSE(create().ok()) << "nobody is there";
    hub.restart_service();
    auto next = create();
    ASSERT_TRUE(next.ok()) << next.status().message();
    EXPECT_TRUE(dump(**next, 0).ok());
    EXPECT_TRUE((*next)->close().ok());
    EXPECT_EQ((*next)->report().regained_services, 1u);
}

}  // namespace
}  // namespace caesura
