// Goal: the memory of a device of CUDA keeps copies of regions, and an error of CUDA loses none of
// what it says it has. CUDA's runtime is stood in for by the host
// (device/cuda/on_host/on_host.hpp); not a GPU.
#include <gtest/gtest.h>

#include <random>

#include "device/cuda/on_host/on_host.hpp"
#include "transit/objects/written_block.hpp"

namespace caesura::transit {
namespace {

namespace on_host = device::on_host;
constexpr std::uint64_t k_seed = 8401, k_most_bytes = 4 << 20;

class CudaMemory : public ::testing::Test {
  protected:
    void SetUp() override { on_host::begin({.seed = k_seed}); }
    void TearDown() override {
        EXPECT_EQ(on_host::take_faults(), std::vector<std::string>());
        EXPECT_EQ(on_host::left(), on_host::Left());
    }
    static std::unique_ptr<DeviceMemory> make() {
        auto device = device::create_cuda_device();
        EXPECT_TRUE(device.ok()) << device.status().message();
        return std::make_unique<DeviceMemory>(DeviceMemory::Options{"gpu", k_most_bytes, false},
                                              std::move(*device));
    }
    std::vector<std::byte> some_bytes() {
        std::vector<std::byte> bytes(1 + random_() % 600'000);
        for (std::byte& one : bytes) one = static_cast<std::byte>(random_());
        return bytes;
    }
    std::mt19937_64 random_{k_seed};
};

TEST_F(CudaMemory, gives_back_what_was_written) {
    const auto memory = make();
    struct Held {
        std::vector<std::byte> bytes;
        std::shared_ptr<const DeviceMemory::Block> block;
    };
    std::vector<Held> held;
    for (int i = 0; i < 60; ++i) {
        auto bytes = some_bytes();
        auto block = written_block(*memory, bytes);
        if (!block.ok()) {
            ASSERT_EQ(block.status().code(), StatusCode::no_space);
            held.erase(held.begin(), held.begin() + static_cast<long>(1 + held.size() / 2));
            continue;
        }
        held.push_back({std::move(bytes), std::move(*block)});
        const Held& any = held[random_() % held.size()];
        std::vector<std::byte> back(any.bytes.size());
        const Status status = any.block->read(back);
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(back, any.bytes);
    }
    EXPECT_FALSE(memory->is_lost());
}

// Calls of CUDA fail, of the device's thread and of its link's: then what was written is read as it
// was, or the device is lost.
TEST_F(CudaMemory, is_lost_with_an_error_of_cuda_and_never_reads_wrong_bytes) {
    int lost = 0;
    for (std::uint64_t nth = 1; nth < 40; ++nth) {
        const auto memory = make();
        const auto bytes = some_bytes();
        const auto kept = written_block(*memory, bytes);
        ASSERT_TRUE(kept.ok());
        on_host::fail_call(nth, cudaErrorECCUncorrectable);
        std::vector<std::byte> back(bytes.size());
        const auto more = written_block(*memory, some_bytes());
        const Status status = (*kept)->read(back);
        if (status.ok()) {
            EXPECT_EQ(back, bytes);
        }
        EXPECT_EQ(memory->is_lost(), !status.ok());
        lost += memory->is_lost() ? 1 : 0;
        on_host::fail_call(0, cudaSuccess);
    }
    EXPECT_GT(lost, 3);
}

}  // namespace
}  // namespace caesura::transit
