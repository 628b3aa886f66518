#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

/// By flooding, cell by cell.
template <class T>
std::vector<std::int64_t> flooded_sizes(const TestObject<T>& object, double above, bool periodic) {
    const int rank = object.shape.rank();
    std::vector<bool> seen(object.values.size());
    std::vector<std::int64_t> sizes;
    for (std::size_t start = 0; start < seen.size(); ++start) {
        if (seen[start] || !(object.values[start] > above)) continue;
        std::vector<std::size_t> open{start};
        seen[start] = true;
        std::int64_t size = 0;
        while (!open.empty()) {
            const std::size_t at = open.back();
            open.pop_back();
            ++size;
            std::size_t stride = 1;
            for (int axis = rank - 1; axis >= 0; --axis) {
                const std::uint64_t n = object.shape[axis], i = at / stride % n;
                for (const bool forwards : {false, true}) {
                    if (!periodic && (forwards ? i + 1 == n : i == 0)) continue;
                    const std::uint64_t next = (i + (forwards ? 1 : n - 1)) % n;
                    const std::size_t there = at - i * stride + next * stride;
                    if (seen[there] || !(object.values[there] > above)) continue;
                    seen[there] = true;
                    open.push_back(there);
                }
                stride *= n;
            }
        }
        sizes.push_back(size);
    }
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    return sizes;
}

template <class T>
void check(int rank, std::uint64_t most, std::mt19937_64& random, int round) {
    const Registry registry;
    auto object = random_object<T>(random_shape(rank, most, random), random, 0.02);
    object.cut(1 + random() % 20, random);
    const double above = 0.1 * static_cast<double>(random() % 8) - 0.2;
    for (const bool periodic : {false, true}) {
        const std::string call = "clusters(above=" + text(Argument(above)) +
                                 ", largest=100000, periodic=" + (periodic ? "true" : "false");
        const auto wanted = flooded_sizes(object, above, periodic);
        const Results found = take(in_parts(registry, call + ")", object, random));
        EXPECT_EQ(list<std::int64_t>(found, "largest"), wanted)
            << "seed 91 round " << round << " " << to_string(object.shape) << " in "
            << object.regions.size() << (periodic ? " periodic" : "");
        EXPECT_EQ(number(found, "clusters"), static_cast<double>(wanted.size()));
        EXPECT_EQ(number(found, "complete"), 1.0);
        const Results large = take(in_parts(registry, call + ", least_cells=4)", object, random));
        const auto n = std::count_if(wanted.begin(), wanted.end(), [](auto s) { return s >= 4; });
        EXPECT_EQ(number(large, "clusters"), static_cast<double>(n));
        EXPECT_EQ(number(large, "smaller"), static_cast<double>(wanted.size()) - double(n));
    }
}

TEST(Clusters, of_parts_in_any_order_are_those_of_a_flood) {
    std::mt19937_64 random(91);
    for (int round = 0; round < 60; ++round) {
        check<float>(1 + round % 3, 14, random, round);
        check<double>(1 + round % 3, 14, random, round);
    }
    for (int round = 0; round < 3; ++round) check<float>(2, 300, random, 100 + round);
}

// Goal: marks that a device has made give the same components as the values, at any place in a
// word.
TEST(Clusters, of_marks_are_those_of_the_values) {
    const Registry registry;
    std::mt19937_64 random(95);
    for (int round = 0; round < 60; ++round) {
        auto object = random_object<double>(random_shape(1 + round % 3, 200, random), random, 0.02);
        object.cut(1 + random() % 6, random);
        const double above = 0.1 * static_cast<double>(random() % 8) - 0.2;
        const std::string call = "clusters(above=" + text(Argument(above)) + ", largest=1000)";
        auto by_values = take(registry.start(call)), by_marks = take(registry.start(call));
        ASSERT_EQ(by_marks.reduction().kind, Reduction::Kind::marks);
        for (std::size_t i = 0; i < object.regions.size(); ++i) {
            const auto& values = object.regions[i].values;
            Reduced reduced;
            reduced.marks.resize((values.size() + 63) / 64);
            for (std::size_t n = 0; n < values.size(); ++n)
                if (values[n] > by_marks.reduction().threshold)
                    reduced.marks[n / 64] |= std::uint64_t{1} << (n % 64);
            ASSERT_TRUE(by_values.add(object.region(i)).ok());
            ASSERT_TRUE(by_marks.add_reduced(object.region(i), reduced).ok());
        }
        EXPECT_EQ(by_marks.bytes(), by_values.bytes()) << "seed 95 round " << round;
    }
    auto object = random_object<float>({100}, random);
    object.cut(1, random);
    auto state = take(registry.start("clusters(above=0)"));
    EXPECT_EQ(state.add_reduced(object.region(0), {}).code(), StatusCode::invalid_argument);
}

// What has met all its neighbours is forgotten.
TEST(Clusters, the_state_of_a_whole_object_keeps_no_faces) {
    const Registry registry;
    std::mt19937_64 random(92);
    auto object = random_object<float>({40, 40, 40}, random);
    object.cut(60, random);
    for (const char* call : {"clusters(above=0)", "clusters(above=0, periodic=true)"}) {
        auto state = take(registry.start(call));
        std::size_t most = 0;
        for (std::size_t i = 0; i < object.regions.size(); ++i) {
            ASSERT_TRUE(state.add(object.region(i)).ok());
            most = std::max(most, state.bytes().size());
        }
        EXPECT_LT(state.bytes().size(), 400u);
        EXPECT_GT(most, 10000u);
    }
}

TEST(Clusters, regions_that_overlap_are_noticed) {
    const Registry registry;
    std::mt19937_64 random(93);
    auto object = random_object<float>({8, 8}, random);
    auto state = take(registry.start("clusters(above=0)"));
    ASSERT_TRUE(state.add(object.whole()).ok());
    EXPECT_EQ(state.add(object.whole()).code(), StatusCode::invalid_argument);
    EXPECT_EQ(registry.start("clusters").status().code(), StatusCode::invalid_argument);
    const auto four = random_object<float>({2, 2, 2, 2}, random);
    EXPECT_EQ(registry.run("clusters(above=0)", four.whole()).status().code(),
              StatusCode::unsupported);
}

}  // namespace
}  // namespace caesura::lambda
