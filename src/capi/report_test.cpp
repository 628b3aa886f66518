// Goal: C hears all that C++ hears of a run: every counter, every message, delays that are
// promised.
#include "capi/report.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <limits>
#include <thread>

namespace {

namespace fs = std::filesystem;

// The order is pinned: programs that were compiled with this header know these places.
// clang-format off
#define CAESURA_REPORT_MEMBERS(X) \
    X(raw_bytes) X(stored_bytes) X(reserved_bytes) X(spare_bytes) X(overflow_bytes) \
    X(overflow_blocks) X(superseded_bytes) X(fallback_blocks) X(raw_blocks) X(blocks) \
    X(writes) X(dumps) X(recalled_blocks) X(helped_blocks) X(helped_bytes) \
    X(taken_back_blocks) X(compress_s) X(write_s) X(plan_s) X(predicted_compress_s) X(put_s) \
    X(end_s) X(close_s) X(put_wait_s) X(over_budget_bytes) X(peak_memory_bytes) \
    X(max_error_over_bound) X(write_interference_s) X(seen_computing_s) \
    X(seen_communicating_s) X(seen_waiting_s) X(seen_spinning_s) X(seen_intervals) X(cores) \
    X(compress_interference_s) X(replans) X(taken_over_blocks) X(taken_over_s) \
    X(longest_to_written_s) X(longest_to_committed_s) X(planned_dumps) X(planned_end_s) \
    X(actual_end_s) X(planned_iteration_s) X(actual_iteration_s) X(plan_deviation) \
    X(lost_dumps) X(lost_bytes) X(lost_services) X(regained_services) \
    X(files) X(file_wait_s)
// clang-format on

// A one-dimensional field of 16 chunks in a file of its own, by default stored as it is.
class OneField {
  public:
    static constexpr std::uint64_t k_values = 16 * 16384, k_chunks = 16;

    explicit OneField(const char* name)
        : path_(::testing::TempDir() + name + std::to_string(::getpid()) + ".h5") {
        options.codec = "none";
        options.chunk_bytes = 65536;
        options.calibration_path = "none";
    }
    ~OneField() {
        caesura_writer_abandon(writer);
        fs::remove(path_);
    }
    caesura_code create() {
        const caesura_code code = caesura_writer_create(path_.c_str(), nullptr, &options, &writer);
        if (code != CAESURA_OK) return code;
        return caesura_define_field(writer, "rho", CAESURA_FLOAT32, 1, &k_values, CAESURA_LOSSLESS,
                                    0.0, &field_);
    }
    void dump(std::uint64_t number) {
        const std::uint64_t offset = 0;
        const std::vector<float> values(k_values, 1.0f + static_cast<float>(number));
        ASSERT_EQ(caesura_begin_iteration(writer, number), CAESURA_OK);
        ASSERT_EQ(caesura_begin_dump(writer, 0.1, 0.1), CAESURA_OK);
        ASSERT_EQ(
            caesura_put(writer, field_, &offset, &k_values, values.data(), CAESURA_FLOAT32, 0),
            CAESURA_OK);
        ASSERT_EQ(caesura_end_iteration(writer), CAESURA_OK) << caesura_last_error();
    }
    caesura_writer_report report() {
        caesura_writer_report now = {};
        now.struct_bytes = sizeof now;
        EXPECT_EQ(caesura_writer_get_report(writer, &now), CAESURA_OK) << caesura_last_error();
        return now;
    }
    caesura_writer_report close() {
        caesura_writer_report last = {};
        last.struct_bytes = sizeof last;
        EXPECT_EQ(caesura_writer_close_and_report(std::exchange(writer, nullptr), &last),
                  CAESURA_OK)
            << caesura_last_error();
        return last;
    }

    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    caesura_writer* writer = nullptr;

  private:
    std::string path_;
    std::uint32_t field_ = 0;
};

std::string last_error() { return caesura_last_error(); }

TEST(CReport, members_of_the_struct_are_pinned_and_come_from_their_namesakes) {
    caesura::WriterReport from;
    std::size_t place = 0;
#define CAESURA_SET(name) from.name = static_cast<decltype(from.name)>(++place);
    CAESURA_REPORT_MEMBERS(CAESURA_SET)
#undef CAESURA_SET
    const caesura_writer_report to = caesura::capi::c_report(from);
    EXPECT_EQ(to.struct_bytes, sizeof to);
    place = 0;
#define CAESURA_CHECK(name)                                                       \
    EXPECT_EQ(offsetof(caesura_writer_report, name), 8 * ++place) << #name;       \
    static_assert(std::is_same_v<decltype(to.name), decltype(from.name)>, #name); \
    EXPECT_EQ(static_cast<std::size_t>(to.name), place) << #name;
    CAESURA_REPORT_MEMBERS(CAESURA_CHECK)
#undef CAESURA_CHECK
    EXPECT_EQ(sizeof to, 8 * (place + 1)) << "a member is missing from the list";
    EXPECT_EQ(sizeof from, 8 * place);
}

TEST(CReport, counts_what_was_handed_over_and_after_the_close_what_it_took) {
    OneField run("caesura_c_report_");
    ASSERT_EQ(run.create(), CAESURA_OK) << last_error();
    EXPECT_EQ(run.report().dumps, 0u);
    for (std::uint64_t number = 0; number < 3; ++number) run.dump(number);
    const caesura_writer_report before = run.report();
    EXPECT_EQ(before.dumps, 3u);
    EXPECT_GT(before.put_s, 0.0);
    EXPECT_GT(before.end_s, 0.0);
    EXPECT_EQ(before.close_s, 0.0);
    const caesura_writer_report after = run.close();
    EXPECT_EQ(after.blocks, 3 * OneField::k_chunks);
    EXPECT_EQ(after.raw_bytes, 3 * OneField::k_values * sizeof(float));
    EXPECT_EQ(after.stored_bytes, after.raw_bytes) << "stored as they are";
    EXPECT_GE(after.writes, 3u);
    EXPECT_EQ(after.put_s, before.put_s);
    EXPECT_GT(after.close_s, 0.0);
    EXPECT_GT(after.longest_to_written_s, 0.0);
    EXPECT_GE(after.longest_to_committed_s, after.longest_to_written_s);
    EXPECT_GT(after.peak_memory_bytes, 0u);
}

TEST(CReport, fills_no_more_than_the_caller_has_and_what_it_does_not_know_with_0) {
    OneField run("caesura_c_report_sizes_");
    ASSERT_EQ(run.create(), CAESURA_OK) << last_error();
    run.dump(0);
    struct {
        caesura_writer_report known;
        std::uint64_t newer[2], beyond;
    } caller;
    std::memset(&caller, 0xab, sizeof caller);
    caller.known.struct_bytes = offsetof(caesura_writer_report, recalled_blocks);
    ASSERT_EQ(caesura_writer_get_report(run.writer, &caller.known), CAESURA_OK);
    EXPECT_EQ(caller.known.struct_bytes, offsetof(caesura_writer_report, recalled_blocks));
    EXPECT_EQ(caller.known.dumps, 1u);
    EXPECT_EQ(caller.known.recalled_blocks, 0xababababababababu) << "an older caller has none";
    caller.known.struct_bytes = offsetof(decltype(caller), beyond);
    ASSERT_EQ(caesura_writer_get_report(run.writer, &caller.known), CAESURA_OK);
    EXPECT_EQ(caller.known.recalled_blocks, 0u);
    EXPECT_EQ(caller.newer[0], 0u);
    EXPECT_EQ(caller.newer[1], 0u);
    EXPECT_EQ(caller.beyond, 0xababababababababu);
    caller.known.struct_bytes = 0;
    EXPECT_EQ(caesura_writer_get_report(run.writer, &caller.known), CAESURA_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("struct_bytes is 0; set it to"), std::string::npos) << last_error();
    EXPECT_EQ(caesura_writer_get_report(run.writer, nullptr), CAESURA_INVALID_ARGUMENT);
    EXPECT_EQ(caesura_writer_get_report(nullptr, &caller.known), CAESURA_INVALID_ARGUMENT);
}

/// What a Writer has to say.
struct Heard {
    std::vector<std::string> messages;

    explicit Heard(caesura_options& options) {
        options.on_message = [](void* context, const char* message) {
            static_cast<Heard*>(context)->messages.push_back(message);
        };
        options.message_context = this;
    }
    std::size_t with(const char* text) const {
        return static_cast<std::size_t>(
            std::count_if(messages.begin(), messages.end(), [text](const std::string& message) {
                return message.find(text) != std::string::npos;
            }));
    }
};

TEST(CReport, messages_reach_the_function_with_its_context) {
    OneField run("caesura_c_messages_");
    const Heard heard(run.options);
    run.options.calibration_path = "/nonexistent/calibration.json";
    ASSERT_EQ(run.create(), CAESURA_OK) << last_error();
    run.dump(0);
    run.close();
    EXPECT_EQ(heard.with("/nonexistent/calibration.json"), 1u)
        << ::testing::PrintToString(heard.messages);
}

// A cooperative writer has no compress threads, so what it compresses without being let was due.
TEST(CMaxDelay, blocks_that_are_due_are_taken_over_and_the_report_says_so) {
    OneField run("caesura_c_due_");
    run.options.cooperative = 1;
    run.options.max_delay_s = 1e-6;
    ASSERT_EQ(run.create(), CAESURA_OK) << last_error();
    run.dump(0);
    while (run.report().taken_over_blocks < OneField::k_chunks) std::this_thread::yield();
    const caesura_writer_report report = run.close();
    EXPECT_EQ(report.taken_over_blocks, OneField::k_chunks);
    EXPECT_GT(report.taken_over_s, 0.0);
    EXPECT_EQ(report.blocks, OneField::k_chunks);
}

TEST(CMaxDelay, what_was_taken_over_is_said_once_with_what_to_do) {
    OneField run("caesura_c_due_said_");
    const Heard heard(run.options);
    run.options.cooperative = 1;
    run.options.max_delay_s = 1e-6;
    ASSERT_EQ(run.create(), CAESURA_OK) << last_error();
    for (std::uint64_t number = 0; number < 3; ++number) {
        run.dump(number);
        while (run.report().taken_over_blocks < (number + 1) * OneField::k_chunks)
            std::this_thread::yield();
    }
    run.close();
    EXPECT_EQ(heard.with("rank 0: compress threads get too little time: "), 1u)
        << ::testing::PrintToString(heard.messages);
    EXPECT_EQ(heard.with("allow a longer max_delay_s"), 1u);
}

TEST(CMaxDelay, nothing_is_taken_over_where_there_is_no_delay_to_keep) {
    for (const int cooperative : {0, 1}) {
        OneField run("caesura_c_never_due_");
        run.options.cooperative = cooperative;
        run.options.max_delay_s = std::numeric_limits<double>::infinity();
        ASSERT_EQ(run.create(), CAESURA_OK) << last_error();
        for (std::uint64_t number = 0; number < 3; ++number) run.dump(number);
        const caesura_writer_report report = run.close();
        EXPECT_EQ(report.taken_over_blocks, 0u);
        EXPECT_EQ(report.taken_over_s, 0.0);
        EXPECT_EQ(report.blocks, 3 * OneField::k_chunks);
    }
}

TEST(CMaxDelay, values_that_cannot_be_are_named) {
    for (const auto& [value, said] :
         {std::pair(-1.0, "max_delay_s is -1; it must be 0 or more"),
          std::pair(std::nan(""), "max_delay_s is nan; it must be 0 or more")}) {
        OneField run("caesura_c_no_delay_");
        run.options.max_delay_s = value;
        EXPECT_EQ(run.create(), CAESURA_INVALID_ARGUMENT);
        EXPECT_EQ(run.writer, nullptr);
        EXPECT_NE(last_error().find(said), std::string::npos) << last_error();
    }
}

// A program that was compiled before there was a delay to ask for gets the default, also where
// whatever lies behind its struct is no number.
TEST(CMaxDelay, a_caller_that_does_not_know_it_gets_the_default) {
    OneField run("caesura_c_older_");
    run.options.struct_bytes = offsetof(caesura_options, max_delay_s);
    run.options.max_delay_s = -1.0;
    EXPECT_EQ(run.create(), CAESURA_OK) << last_error();
}

}  // namespace
