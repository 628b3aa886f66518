// Memory runs out at any allocation of the application's thread: a Status, never a crash, a broken
// file or a dump that is lost without a word.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <new>

#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "failing_new.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

class WriterMemory : public ::testing::Test {
  protected:
    static constexpr std::uint64_t k_rows = 64, k_columns = 4096;
    enum class In { dump, close };

    std::string path_ =
        ::testing::TempDir() + "caesura_memory_" + std::to_string(::getpid()) + ".h5";
    std::array<std::vector<float>, 3> data_;  // by iteration

    void SetUp() override {
        for (unsigned n = 0; n < data_.size(); ++n)
            data_[n] = testing::make_field<float>({k_rows, k_columns}, n, 2);
    }
    void TearDown() override { std::filesystem::remove(path_); }

    Status dump(Writer& writer, Field field, std::uint64_t n) const {
        auto iteration = writer.begin_iteration(n);
        auto dump = iteration.begin_dump(0.0);
        const Status put = dump.put(field, {{0, 0}, {k_rows, k_columns}}, data_[n].data());
        const Status ended = iteration.end();
        return put.ok() ? ended : put;
    }
    void expect_readable(std::uint64_t n) const {
        const auto read =
            testing::read_dataset(path_, "/data/" + std::to_string(n) + "/meshes/rho");
        EXPECT_EQ(testing::broken(data_[n], read.values, 0.0), "") << "iteration " << n;
    }
    bool run(In where, long allocation) const;
};

// A run of three dumps. One allocation fails, in the second dump or in close().
// @return  false: there are not as many allocations.
bool WriterMemory::run(In where, long allocation) const {
    SCOPED_TRACE("allocation " + std::to_string(allocation));
    const WriterOptions options{.codec = {.name = "none"}, .chunk_bytes = 64u << 10};
    auto writer = Writer::create(path_, nullptr, options).value();
    const Field field = writer->define_field("rho", float32, {k_rows, k_columns}).value();
    bool failed = false;
    const auto under = [&](In here, auto&& call) -> Status {
        if (here != where) return call();
        const testing::FailingAllocation failing(allocation);
        const Status status = call();
        failed = failing.has_failed();
        return status;
    };
    const Status first = dump(*writer, field, 0);
    const Status second = under(In::dump, [&] { return dump(*writer, field, 1); });
    const Status third = dump(*writer, field, 2);
    const Status closed = under(In::close, [&] { return writer->close(); });
    EXPECT_TRUE(first.ok());
    for (const Status& status : {second, third, closed})
        EXPECT_TRUE(status.ok() || status.code() == StatusCode::no_space ||
                    status.code() == StatusCode::cancelled)
            << status.message();
    EXPECT_TRUE(closed.ok() || closed.code() == StatusCode::no_space) << closed.message();
    const auto last = writer->committed();
    if (closed.ok()) {
        EXPECT_EQ(last, third.ok() ? 2u : second.ok() ? 1u : 0u);
    }
    const std::array<bool, 3> handed_over = {true, second.ok(), third.ok()};
    for (std::uint64_t n = 0; last && n <= *last; ++n)
        if (handed_over[n]) expect_readable(n);
    return failed;
}

TEST_F(WriterMemory, running_out_of_it_at_any_allocation_of_a_dump_loses_nothing_committed) {
    long n = 0;
    while (run(In::dump, n)) ++n;
    EXPECT_GT(n, 20);
}

TEST_F(WriterMemory, running_out_of_it_at_any_allocation_of_close_loses_nothing_committed) {
    long n = 0;
    while (run(In::close, n)) ++n;
    EXPECT_GT(n, 5);
}

}  // namespace
}  // namespace caesura
