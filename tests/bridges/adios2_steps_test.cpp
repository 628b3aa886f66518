// Goal: what ranks define, put and leave out in any way, as ADIOS2 lets them, lies in the file, and
// errors of one rank are errors of all.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <mutex>

#include "adios2/steps.hpp"
#include "base/thread_communicator.hpp"
#include "caesura/reader.hpp"

namespace caesura::adios {
namespace {

class Adios2Steps : public ::testing::Test {
  protected:
    std::string path_ =
        ::testing::TempDir() + "caesura_adios2_" + std::to_string(::getpid()) + ".h5";
    void TearDown() override { std::filesystem::remove(path_); }

    /// Each rank's program; what it returns is expected to be well.
    void on_ranks(int ranks, const std::function<Status(Steps&)>& program, bool append = false) {
        auto others = base::make_thread_communicators(ranks);
        std::mutex mutex;
        base::run_ranks(ranks, [&](std::unique_ptr<Communicator> comm) {
            auto exchange = std::move(others[static_cast<std::size_t>(comm->rank())]);
            Settings settings;
            settings.file = path_;
            settings.options.durable = false;
            settings.options.bound = absolute(1e-3);
            settings.bounds["exact"] = lossless();
            auto steps = Steps::open(settings, append, std::move(comm), std::move(exchange));
            Status status = steps.status();
            if (status.ok()) status = program(**steps);
            if (status.ok()) status = (*steps)->close();
            const std::lock_guard lock(mutex);
            EXPECT_TRUE(status.ok()) << status.message();
        });
    }
    std::vector<double> read(const std::string& name, std::uint64_t step) {
        const auto reader = Reader::open(path_).value();
        const auto field = reader->find(name, step).value();
        const Shape shape = reader->fields()[field].shape;
        std::vector<double> values(shape.count());
        const Status status = reader->read(field, {Shape::filled(shape.rank(), 0), shape},
                                           std::as_writable_bytes(std::span(values)));
        EXPECT_TRUE(status.ok()) << status.message();
        return values;
    }
};

/// A row of each rank in an array of `columns`.
Part row(const Steps& steps, const std::string& name, std::uint64_t columns) {
    const auto rank = static_cast<std::uint64_t>(steps.rank());
    return {name,
            float64,
            {static_cast<std::uint64_t>(steps.size()), columns},
            {{rank, 0}, {1, columns}}};
}

TEST_F(Adios2Steps, ranks_may_put_in_any_order_and_leave_variables_out) {
    constexpr int k_ranks = 3;
    on_ranks(k_ranks, [](Steps& steps) -> Status {
        for (int n = 0; n < 3; ++n) {
            if (Status s = steps.begin(); !s.ok()) return s;
            const double base = 100.0 * n + 10.0 * steps.rank();
            std::vector<double> a{base, base + 0.25}, b{-base}, kept{base + 1};
            std::vector<std::function<Status()>> puts{
                [&] { return steps.put(row(steps, "a", 2), a.data()); },
                [&] { return steps.put(row(steps, "exact", 1), b.data()); }};
            // The variable of one rank alone, and from the second step on.
            if (steps.rank() == 1 && n > 0)
                puts.emplace_back([&] { return steps.put(row(steps, "late", 1), kept.data()); });
            if (steps.rank() == 1) std::swap(puts[0], puts[1]);
            for (const auto& put : puts)
                if (Status s = put(); !s.ok()) return s;
            for (auto* values : {&a, &b, &kept}) values->assign(values->size(), 1e9);
            if (Status s = steps.end(); !s.ok()) return s;
        }
        return {};
    });
    for (int n = 0; n < 3; ++n) {
        const auto step = static_cast<std::uint64_t>(n);
        const auto a = read("a", step), b = read("exact", step);
        for (std::size_t r = 0; r < k_ranks; ++r) {
            const double base = 100.0 * n + 10.0 * static_cast<double>(r);
            EXPECT_NEAR(a[2 * r], base, 1e-3);
            EXPECT_NEAR(a[2 * r + 1], base + 0.25, 1e-3);
            EXPECT_EQ(b[r], -base);
        }
        if (n == 0) continue;
        const auto late = read("late", step);
        EXPECT_TRUE(std::isnan(late[0]));
        EXPECT_NEAR(late[1], 100.0 * n + 11.0, 1e-3);
        EXPECT_TRUE(std::isnan(late[2]));
    }
}

TEST_F(Adios2Steps, shapes_may_change_from_step_to_step) {
    on_ranks(2, [](Steps& steps) -> Status {
        for (std::uint64_t n = 1; n < 4; ++n) {
            const std::vector<double> values(n, 0.5 * static_cast<double>(n));
            (void)steps.begin();
            if (Status s = steps.put(row(steps, "a", n), values.data()); !s.ok()) return s;
            if (Status s = steps.end(); !s.ok()) return s;
        }
        return {};
    });
    for (std::uint64_t n = 1; n < 4; ++n) {
        const auto values = read("a", n - 1);
        ASSERT_EQ(values.size(), 2 * n);
        for (const double value : values) EXPECT_NEAR(value, 0.5 * static_cast<double>(n), 1e-3);
    }
}

TEST_F(Adios2Steps, values_may_lie_between_others) {
    on_ranks(2, [](Steps& steps) -> Status {
        for (int n = 0; n < 3; ++n) {
            // 1 x 3 values in an array of 3 x 5; what is around them must not be taken.
            std::vector<double> array(15, 1e30);
            for (std::size_t i = 0; i < 3; ++i)
                array[6 + i] = n + 10.0 * steps.rank() + 0.25 * static_cast<double>(i);
            Part part = row(steps, "a", 3);
            part.within = Box{{1, 1}, {3, 5}};
            (void)steps.begin();
            if (Status s = steps.put(part, array.data()); !s.ok()) return s;
            std::fill(array.begin(), array.end(), -1e30);  // ours again
            if (Status s = steps.end(); !s.ok()) return s;
        }
        Part outside = row(steps, "a", 3);
        outside.within = Box{{1, 3}, {3, 5}};
        const std::vector<double> array(15, 0.0);
        (void)steps.begin();
        const Status status = steps.put(outside, array.data());
        EXPECT_NE(status.message().find("variable 'a', memory selection"), std::string::npos)
            << status.message();
        EXPECT_FALSE(steps.end().ok());
        return {};
    });
    for (std::uint64_t n = 0; n < 3; ++n) {
        const auto values = read("a", n);
        for (std::size_t i = 0; i < 6; ++i)
            EXPECT_NEAR(values[i],
                        static_cast<double>(n) + 10.0 * static_cast<double>(i / 3) +
                            0.25 * static_cast<double>(i % 3),
                        1e-3);
    }
}

TEST_F(Adios2Steps, single_values_and_attributes_are_attributes) {
    on_ranks(2, [](Steps& steps) -> Status {
        const std::vector<double> values(4, 1.0);
        for (int n = 0; n < 2; ++n) {
            (void)steps.begin();
            (void)steps.put(row(steps, "deep/er/a", 4), values.data());
            if (steps.rank() == 1) (void)steps.put_value("count", std::int64_t{7 + n});
            (void)steps.put_value("time", 0.5 * n);  // a name of openPMD's
            (void)steps.put_value("by_rank", std::int64_t{steps.rank()});
            steps.set_attribute("", "code", std::string("gray scott"));
            steps.set_attribute("", "Du", 0.2);
            steps.set_attribute("deep/er/a", "unit", std::string("K"));
            if (n == 1) steps.set_attribute("", "late", std::vector<double>{1.0, 2.0});
            if (Status s = steps.end(); !s.ok()) return s;
        }
        return {};
    });
    const auto reader = Reader::open(path_).value();
    const auto find = [](const std::vector<store::Attribute>& all, const std::string& name) {
        for (const auto& one : all)
            if (one.name == name) return one.value;
        ADD_FAILURE() << name;
        return store::AttributeValue{};
    };
    EXPECT_EQ(std::get<std::string>(find(reader->attributes(), "code")), "gray scott");
    EXPECT_EQ(std::get<double>(find(reader->attributes(), "Du")), 0.2);
    for (std::size_t n = 0; n < 2; ++n) {
        const auto& step = reader->dumps()[n];
        EXPECT_EQ(std::get<std::int64_t>(find(step.attributes, "count")),
                  7 + static_cast<std::int64_t>(n));
        EXPECT_EQ(std::get<double>(find(step.attributes, "adios2_time")),
                  0.5 * static_cast<double>(n));
        EXPECT_EQ(std::get<std::int64_t>(find(step.attributes, "by_rank")), 0);
        const auto& field = reader->fields()[reader->find("deep.er/a", n).value()];
        EXPECT_EQ(std::get<std::string>(find_attribute(field, "unit")->value), "K");
        EXPECT_EQ(std::get<std::string>(find_attribute(field, "adios2_name")->value), "deep/er/a");
    }
    EXPECT_EQ(std::get<std::vector<double>>(find(reader->dumps()[1].attributes, "late")),
              (std::vector<double>{1.0, 2.0}));
}

TEST_F(Adios2Steps, a_step_without_values_is_no_dump_and_the_next_says_its_attributes) {
    on_ranks(2, [](Steps& steps) -> Status {
        const std::vector<double> values(2, 1.0);
        for (int n = 0; n < 4; ++n) {
            (void)steps.begin();
            // In the third on one rank alone.
            if (n == 1 || n == 3 || (n == 2 && steps.rank() == 1))
                if (Status s = steps.put(row(steps, "a", 2), values.data()); !s.ok()) return s;
            if (n == 0) steps.set_attribute("", "code", std::string("gray scott"));
            if (Status s = steps.end(); !s.ok()) return s;
        }
        (void)steps.begin();
        return steps.end();
    });
    const auto reader = Reader::open(path_).value();
    std::vector<std::uint64_t> there;
    for (const auto& dump : reader->dumps()) there.push_back(dump.iteration);
    EXPECT_EQ(there, (std::vector<std::uint64_t>{1, 2, 3}));
    const auto& all = reader->attributes();
    const auto code =
        std::find_if(all.begin(), all.end(), [](const auto& one) { return one.name == "code"; });
    ASSERT_NE(code, all.end());
    EXPECT_EQ(std::get<std::string>(code->value), "gray scott");
}

TEST_F(Adios2Steps, a_step_in_which_all_put_no_values_is_no_dump) {
    on_ranks(2, [](Steps& steps) -> Status {
        const std::vector<double> values(2, 1.0);
        for (int n = 0; n < 4; ++n) {
            (void)steps.begin();
            Part part = row(steps, "a", 2);
            if (n == 1 || n == 2) part.box.extent = {0, 2};
            // In the second step on one rank alone.
            if (n != 1 || steps.rank() == 0)
                if (Status s = steps.put(part, values.data()); !s.ok()) return s;
            if (Status s = steps.end(); !s.ok()) return s;
        }
        return {};
    });
    const auto reader = Reader::open(path_).value();
    ASSERT_EQ(reader->dumps().size(), 2u);
    EXPECT_EQ(reader->dumps()[1].iteration, 3u);
}

TEST_F(Adios2Steps, what_a_failed_step_has_said_the_next_one_says) {
    on_ranks(2, [](Steps& steps) -> Status {
        const std::vector<double> values(8, 1.0);
        for (const bool fails : {true, false}) {
            (void)steps.begin();
            (void)steps.put(row(steps, "a", fails && steps.rank() == 1 ? 3 : 2), values.data());
            steps.set_attribute("", "code", std::string("gray scott"));
            EXPECT_EQ(steps.end().ok(), !fails);
        }
        return {};
    });
    const auto reader = Reader::open(path_).value();
    ASSERT_EQ(reader->dumps().size(), 1u);
    bool found = false;
    for (const auto& one : reader->attributes()) found |= one.name == "code";
    EXPECT_TRUE(found);
}

TEST_F(Adios2Steps, an_error_of_one_rank_is_one_of_all_and_later_steps_go_on) {
    on_ranks(3, [](Steps& steps) -> Status {
        const std::vector<double> values(8, 1.0);
        const auto step = [&](std::uint64_t columns, DType dtype) {
            (void)steps.begin();
            Part part = row(steps, "a", columns);
            part.dtype = dtype;
            (void)steps.put(part, values.data());
            return steps.end();
        };
        Status status = step(steps.rank() == 2 ? 3 : 2, float64);
        EXPECT_NE(status.message().find("variable 'a' is float64 [3, 2] on rank 0 and float64 "
                                        "[3, 3] on rank 2"),
                  std::string::npos)
            << status.message();
        if (Status s = step(2, float64); !s.ok()) return s;
        status = step(2, steps.rank() == 1 ? float32 : float64);
        EXPECT_NE(status.message().find("'a' on rank 1: was float64, is float32"),
                  std::string::npos)
            << status.message();
        return step(2, float64);
    });
    const auto reader = Reader::open(path_).value();
    std::vector<std::uint64_t> there;
    for (const auto& dump : reader->dumps()) there.push_back(dump.iteration);
    EXPECT_EQ(there, (std::vector<std::uint64_t>{1, 3}));
}

TEST_F(Adios2Steps, a_file_is_gone_on_with) {
    const auto one_step = [](Steps& steps) -> Status {
        const std::vector<double> values(2, static_cast<double>(steps.number()));
        (void)steps.begin();
        if (Status s = steps.put(row(steps, "a", 2), values.data()); !s.ok()) return s;
        return steps.end();
    };
    on_ranks(2, one_step);
    on_ranks(2, one_step, true);
    EXPECT_NEAR(read("a", 0)[0], 0.0, 1e-3);
    EXPECT_NEAR(read("a", 1)[0], 1.0, 1e-3);
}

TEST(Adios2Names, become_names_of_fields) {
    EXPECT_EQ(field_name("U"), "U");
    EXPECT_EQ(field_name("velocity/x"), "velocity/x");
    EXPECT_EQ(field_name("/data/fields/E/x"), "data.fields.E/x");
    EXPECT_EQ(field_name("Y(H2) k"), "Y_H2__k");
    EXPECT_EQ(field_name("a/"), "a.");
}

}  // namespace
}  // namespace caesura::adios
