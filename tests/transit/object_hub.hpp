// For tests of objects: a service with clients, and random objects.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "lambda/test_objects.hpp"
#include "transit/client/objects.hpp"
#include "transit/loopback.hpp"

namespace caesura::transit {

class ObjectHub : public ::testing::Test {
  protected:
    void SetUp() override {
        place_ = ::testing::TempDir() + "caesura_objects_" + std::to_string(::getpid());
        std::filesystem::create_directories(place_ + "/sink");
        options_.root = place_;
        options_.service.press.threads = 2;
        options_.service.press.idle_priority = false;
    }
    void TearDown() override {
        hub_.reset();
        std::filesystem::remove_all(place_);
    }
    void start() { hub_ = std::make_unique<Loopback>(options_); }
    std::unique_ptr<Objects> connect() {
        if (!hub_) start();
        ClientOptions options;
        options.share_memory = false;
        return std::make_unique<Objects>(lambda::take(Client::make(hub_->connect(), options)));
    }

    template <class T>
    ObjectNumber create(Objects& objects, const lambda::TestObject<T>& object,
                        const std::string& name = "rho", ErrorBound bound = lossless()) {
        return lambda::take(objects.create(
            {"run", name, sizeof(T) == 4 ? float32 : float64, object.shape, 1.5, bound}));
    }
    template <class T>
    static void put_all(Objects& objects, ObjectNumber id, const lambda::TestObject<T>& object) {
        std::vector<Ticket> tickets;
        for (const auto& region : object.regions)
            tickets.push_back(objects.put(id, region.box, region.values.data()));
        for (const Ticket& ticket : tickets) {
            const Status status = ticket.wait();
            ASSERT_TRUE(status.ok()) << status.message();
        }
    }
    static Box random_box(const Shape& shape, std::mt19937_64& random) {
        Box box{shape, shape};
        for (int axis = 0; axis < shape.rank(); ++axis) {
            box.offset[axis] = random() % shape[axis];
            box.extent[axis] = 1 + random() % (shape[axis] - box.offset[axis]);
        }
        return box;
    }
    /// The largest difference of a box from what was put, NaN and infinities aside, which are the
    /// same.
    template <class T>
    static double off_by(Objects& objects, ObjectNumber id, const lambda::TestObject<T>& object,
                         const Box& box) {
        std::vector<T> got(box.extent.count()), put(got.size());
        const Status status = objects.get(id, box, got.data()).wait();
        EXPECT_TRUE(status.ok()) << status.message();
        copy_box(box, {Shape::filled(object.shape.rank(), 0), object.shape},
                 reinterpret_cast<const std::byte*>(object.values.data()), box,
                 reinterpret_cast<std::byte*>(put.data()), sizeof(T));
        double most = 0.0;
        for (std::size_t i = 0; i < put.size(); ++i) {
            if (std::isfinite(put[i]))
                most = std::max(
                    most, std::abs(static_cast<double>(put[i]) - static_cast<double>(got[i])));
            else if (std::memcmp(&put[i], &got[i], sizeof(T)) != 0)
                return std::numeric_limits<double>::infinity();
        }
        return most;
    }
    static Box whole(const Shape& shape) { return {Shape::filled(shape.rank(), 0), shape}; }

    Loopback::Options options_;
    std::string place_;
    std::unique_ptr<Loopback> hub_;
};

/// Every analysis that is built in, with parameters that fit random_object().
inline const std::vector<std::string>& all_calls() {
    static const std::vector<std::string> calls = {"min",
                                                   "max",
                                                   "mean",
                                                   "variance(ddof=1)",
                                                   "stats",
                                                   "histogram(bins=16)",
                                                   "histogram(bins=32, low=-1, high=1)",
                                                   "entropy",
                                                   "quantiles(size=262144)",
                                                   "spectrum",
                                                   "clusters(above=0.5)"};
    return calls;
}

/// The same results; sums differ by rounding, as they depend on the order of regions.
inline void expect_same(const lambda::Results& found, const lambda::Results& wanted,
                        double tolerance, const std::string& call) {
    ASSERT_EQ(found.entries().size(), wanted.entries().size()) << call;
    for (const auto& [name, value] : wanted.entries()) {
        const lambda::Value* const other = found.find(name);
        ASSERT_NE(other, nullptr) << call << " " << name;
        const auto near = [&](double a, double b) {
            return a == b || (std::isnan(a) && std::isnan(b)) ||
                   std::abs(a - b) <= tolerance * std::max({1.0, std::abs(a), std::abs(b)});
        };
        if (const auto* number = std::get_if<double>(&value)) {
            EXPECT_TRUE(near(std::get<double>(*other), *number))
                << call << " " << name << " " << std::get<double>(*other) << " " << *number;
        } else if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
            const auto& others = std::get<std::vector<double>>(*other);
            ASSERT_EQ(others.size(), numbers->size()) << call << " " << name;
            for (std::size_t i = 0; i < numbers->size(); ++i)
                EXPECT_TRUE(near(others[i], (*numbers)[i])) << call << " " << name << " " << i;
        } else {
            EXPECT_TRUE(*other == value) << call << " " << name;
        }
    }
}

}  // namespace caesura::transit
