// Goal: executors of one process, as each pending file of the connector has one, share a core:
// together they begin so early that all are in time, in turn, and no one holds the others up.
#include <mutex>

#include "run/executor_fixture.hpp"

namespace caesura::run {
namespace {

constexpr std::size_t k_blocks = 10;
constexpr double k_block_s = 0.06;

// Some executors on one clock, without workers. A block takes half a core's time of it, whichever
// thread compresses it.
struct Together {
    explicit Together(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            all.push_back(std::make_unique<Fixture>(
                ExecutorOptions{.compress_threads = 0, .standby = true}, clock));
            all.back()->codec.on_encode = [this, i] { compress(i); };
        }
    }
    ~Together() {
        for (auto& fixture : all) fixture->executor.stop();
    }
    void compress(std::size_t which) {
        const std::lock_guard lock(mutex);
        begun.emplace_back(which, clock.now_s());
        clock.set(clock.now_s() + 2.0 * k_block_s);
    }
    void submit(std::size_t which, double max_delay_s) {
        all[which]->max_delay_s = max_delay_s;
        sinks.push_back(all[which]->submit(0, k_blocks, k_block_s));
    }
    /// Never back: a thread may have been quicker.
    void set(double now_s) {
        {
            const std::lock_guard lock(mutex);
            clock.set(std::max(clock.now_s(), now_s));
        }
        for (auto& fixture : all) fixture->executor.clock_was_set();
    }
    void wait() {
        for (auto& fixture : all)
            wait_until([&] { return fixture->last->phase.load() == DumpPhase::finished; });
    }
    std::size_t n_finished() const {
        return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](auto& fixture) {
            return fixture->last->phase.load() == DumpPhase::finished;
        }));
    }
    double finished_s(std::size_t which) const { return all[which]->last->finished_s.load(); }
    /// What is left of one, by its expectations.
    double left_s() const { return k_blocks * k_block_s * 1.01; }

    base::VirtualClock clock;
    std::mutex mutex;
    std::vector<std::pair<std::size_t, double>> begun;  // by whom, when
    std::vector<std::unique_ptr<Fixture>> all;
    std::vector<MemorySink*> sinks;
};

TEST(StandbyTogether, all_are_written_in_time_where_each_alone_would_have_begun_too_late) {
    constexpr std::size_t k_files = 5;
    Together files(k_files);
    for (std::size_t i = 0; i < k_files; ++i) files.submit(i, 10.0);
    const double alone_s = 8.0 - 2.0 * files.left_s();
    const double begin_s = 8.0 - 2.0 * k_files * files.left_s();
    ASSERT_GT(alone_s + 2.0 * k_files * k_blocks * k_block_s, 10.0) << "no test otherwise";
    files.set(begin_s - 0.01);
    // Each time to just after the moment when the next must begin: writes take no time here, so
    // that it has not come yet.
    for (std::size_t done = 0; done < k_files; ++done) {
        wait_until([&] { return files.n_finished() >= done; });
        files.set(8.0 - 2.0 * static_cast<double>(k_files - done) * files.left_s() + 0.01);
    }
    files.wait();
    EXPECT_GE(files.begun.front().second, begin_s) << "not a moment earlier than that takes";
    for (std::size_t i = 0; i < k_files; ++i) {
        EXPECT_LE(files.finished_s(i), 8.0 + 0.02) << "file " << i;
        for (const Job& job : std::span(files.all[i]->last->jobs.get(), k_blocks))
            EXPECT_GE(job.begun_s.load(), begin_s);
        files.all[i]->expect_exact(*files.sinks[i], 0, k_blocks);
    }
}

TEST(StandbyTogether, what_is_due_first_goes_first) {
    Together files(3);
    const double due_s[] = {12.0, 8.0, 10.0};
    for (std::size_t i = 0; i < 3; ++i) files.submit(i, due_s[i]);
    files.set(0.8 * 8.0 - 2.0 * files.left_s() + 0.01);  // not yet so late for the others
    wait_until([&] { return files.all[1]->last->phase.load() == DumpPhase::finished; });
    files.set(0.8 * 10.0 - 2.0 * files.left_s() + 0.01);
    wait_until([&] { return files.all[2]->last->phase.load() == DumpPhase::finished; });
    files.set(0.8 * 12.0 - 2.0 * files.left_s() + 0.01);
    files.wait();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_LE(files.finished_s(i), due_s[i]) << i;
    std::vector<std::size_t> order;
    for (const auto& [which, at_s] : files.begun) order.push_back(which);
    EXPECT_EQ(std::count(order.begin(), order.begin() + k_blocks, 1u), k_blocks);
    EXPECT_EQ(std::count(order.end() - k_blocks, order.end(), 0u), k_blocks);
}

// Goal: the turn goes to the next when the one before has compressed all, though nothing but that
// tells it.
TEST(StandbyTogether, they_take_turns) {
    Together files(4);
    for (std::size_t i = 0; i < 4; ++i) files.submit(i, 10.0 + 0.01 * static_cast<double>(i));
    files.set(8.0 - 8.0 * files.left_s() + 0.1);
    files.wait();
    for (std::size_t i = 0; i < 4; ++i) EXPECT_LE(files.finished_s(i), 10.0);
    for (std::size_t k = 0; k < files.begun.size(); ++k)
        EXPECT_EQ(files.begun[k].first, k / k_blocks) << "block " << k;
}

TEST(StandbyTogether, one_that_gets_stuck_is_waited_for_only_while_there_is_time) {
    Together files(2);
    std::atomic<bool> let_go{false};
    std::atomic<int> entered{0};
    files.all[0]->codec.on_encode = [&] {
        ++entered;
        let_go.wait(false);
    };
    files.submit(0, 10.0);
    files.submit(1, 11.0);
    files.set(7.0);
    wait_until([&] { return entered.load() == 1; });
    files.set(0.8 * 11.0 - 2.0 * files.left_s() + 0.01);
    wait_until([&] { return files.all[1]->last->phase.load() == DumpPhase::finished; });
    EXPECT_LE(files.finished_s(1), 11.0);
    let_go = true;
    let_go.notify_all();
    files.wait();
}

TEST(StandbyTogether, nobody_waits_for_one_that_has_nothing_to_take_over) {
    Together files(1);
    // Its worker is at the only block, without a core, and the codec is not reentrant.
    Fixture stuck({.compress_threads = 1, .standby = true}, files.clock);
    stuck.codec.is_reentrant = false;
    std::atomic<bool> let_go{false};
    std::atomic<int> entered{0};
    stuck.codec.on_encode = [&] {
        ++entered;
        let_go.wait(false);
    };
    stuck.max_delay_s = 9.0;
    stuck.submit(0, 1, 0.06);
    wait_until([&] { return entered.load() == 1; });
    files.submit(0, 10.0);
    // After the latest moment for both, before that of the file alone.
    const double both_s = 8.0 - 2.0 * (files.left_s() + 0.0606);
    files.set(both_s + 0.01);
    stuck.executor.clock_was_set();
    wait_until([&] { return files.all[0]->last->phase.load() == DumpPhase::finished; });
    EXPECT_LE(files.finished_s(0), 8.0);
    let_go = true;
    let_go.notify_all();
    stuck.executor.stop();
}

// Until the executors have said what they have.
std::vector<plan::DueWork> said_by(std::size_t count) {
    DuePlace& looker = DuePlace::take();
    std::vector<plan::DueWork> seen;
    wait_until([&] {
        seen.clear();
        looker.add_others(seen);
        return seen.size() == count;
    });
    looker.leave();
    return seen;
}

TEST(StandbyTogether, one_that_has_failed_or_stopped_is_not_counted) {
    Together files(2);
    files.submit(0, 10.0);
    {
        Fixture gone({.compress_threads = 0, .standby = true}, files.clock);
        gone.max_delay_s = 9.0;
        gone.submit(0, 5, 1.0);
        said_by(2);
    }
    said_by(1);
    files.all[0]->executor.report({StatusCode::internal, "injected"});
    said_by(0);
    files.submit(1, 10.0);
    EXPECT_NEAR(said_by(1)[0].left_s, files.left_s(), 1e-9);
    files.set(8.0 - 2.0 * files.left_s() + 0.01);
    wait_until([&] { return files.all[1]->last->phase.load() == DumpPhase::finished; });
    EXPECT_LE(files.finished_s(1), 8.02);
}

// Goal: the plan of a file begins as early as what is due after it asks for.
TEST(StandbyTogether, a_plan_reckons_with_the_other_files) {
    Together files(3);
    files.submit(0, 10.0);
    files.submit(1, 11.0);
    said_by(2);
    // Somebody who never gives the core back: nothing is done before the standby thread begins.
    Observer& observer = files.all[2]->executor.observer();
    observer.begin_iteration(-100.0);
    observer.enter(Observer::Lane::compress, -100.0);
    observer.leave(Observer::Lane::compress, 0.0);
    observer.end_iteration(0.0);
    observer.begin_iteration(0.0);
    files.submit(2, 9.8);
    const double begin_s = std::min(0.8 * 10.0 - 4.0 * files.left_s(),  // and not 0.8 * 9.8 - 1.2
                                    0.8 * 11.0 - 6.0 * files.left_s());
    const Plan& seed = files.all[2]->last->plans[0];
    EXPECT_NEAR(seed.times[seed.compress_order[0]].compress_begin_s, begin_s, 1e-9);
    EXPECT_NEAR(seed.end_s, begin_s + 2.0 * k_blocks * k_block_s, 0.01);
    files.set(8.8);
    files.wait();
}

// Goal: many come, are due and go, all at once, and nothing is lost or done twice.
TEST(StandbyTogether, files_come_and_go_while_others_look_at_them) {
    for (int round = 0; round < 20; ++round) {
        std::vector<std::unique_ptr<Fixture>> all;
        std::vector<MemorySink*> sinks;
        for (std::size_t i = 0; i < 6; ++i) {
            all.push_back(
                std::make_unique<Fixture>(ExecutorOptions{.compress_threads = 1, .standby = true}));
            all.back()->max_delay_s = 1e-3 * static_cast<double>(i % 3);
            sinks.push_back(all.back()->submit(0, 8, 1e-4));
            if (i % 2 == 1) {
                wait_until([&] { return sinks[i - 1]->finished.load(); });
                all[i - 1]->executor.stop();
            }
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            wait_until([&] { return sinks[i]->finished.load(); });
            all[i]->executor.stop();
            ASSERT_EQ(sinks[i]->order.size(), 8u);
            all[i]->expect_exact(*sinks[i], 0, 8);
        }
    }
}

}  // namespace
}  // namespace caesura::run
