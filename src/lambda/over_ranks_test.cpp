// Analyses over ranks: each has some regions, all get the result of the whole.
#include "lambda/over_ranks.hpp"

#include "base/thread_communicator.hpp"
#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

// Goal: regions dealt out over ranks in any way give every rank the same result, which is that of
// the whole array; a rank may have none.
TEST(OverRanks, analyses_say_what_they_say_of_the_whole) {
    const Registry registry;
    std::mt19937_64 random(31);
    for (const char* call : {"stats", "histogram(bins=8)", "entropy", "clusters(above=0.3)"}) {
        auto object = random_object<double>({12, 15}, random);
        object.cut(5, random);
        const Results wanted = take(registry.run(call, object.whole()));
        std::vector<Results> found(4);
        base::run_ranks(4, [&](std::unique_ptr<Communicator> comm) {
            std::vector<RegionView> mine;
            const auto rank = static_cast<std::size_t>(comm->rank());
            for (std::size_t i = rank; i < object.regions.size(); i += 3)
                if (rank < 3) mine.push_back(object.region(i));
            ListedRegions regions(mine);
            found[rank] = take(run_over_ranks(registry, call, regions, *comm));
        });
        for (const Results& one : found) {
            EXPECT_EQ(one, found[0]) << call;
            ASSERT_EQ(one.entries().size(), wanted.entries().size());
            for (const auto& [name, value] : wanted.entries()) {
                if (const auto* x = std::get_if<double>(&value)) {
                    EXPECT_NEAR(number(one, name), *x, 1e-12 * std::max(1.0, std::abs(*x))) << name;
                } else {
                    EXPECT_TRUE(*one.find(name) == value) << call << " " << name;
                }
            }
        }
    }
}

// Goal: what goes wrong on one rank is the error of all, and nobody waits.
TEST(OverRanks, an_error_of_one_is_the_error_of_all) {
    const Registry registry;
    std::mt19937_64 random(32);
    auto object = random_object<float>({10}, random);
    object.cut(1, random);
    std::vector<std::string> told(3);
    base::run_ranks(3, [&](std::unique_ptr<Communicator> comm) {
        RegionView wrong = object.region(0);
        if (comm->rank() == 1) wrong.values = wrong.values.subspan(4);
        ListedRegions regions({&wrong, 1});
        const auto result = run_over_ranks(registry, "stats", regions, *comm);
        EXPECT_FALSE(result.ok());
        told[static_cast<std::size_t>(comm->rank())] = result.status().message();
    });
    EXPECT_NE(told[0], "");
    EXPECT_EQ(told[0], told[1]);
    EXPECT_EQ(told[0], told[2]);
}

}  // namespace
}  // namespace caesura::lambda
