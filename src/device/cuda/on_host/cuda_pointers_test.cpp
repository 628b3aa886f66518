// Goal: pointers into a GPU's memory are known, those into pinned and pageable memory of the host
// are not, and what is fetched is what a stream wrote before. CUDA's runtime is stood in for by the
// host; not a GPU.
#include <gtest/gtest.h>

#include "caesura/device.hpp"
#include "device/cuda/on_host/on_host.hpp"

namespace caesura::device {
namespace {

class CudaPointers : public ::testing::TestWithParam<std::uint64_t> {
  protected:
    void SetUp() override { on_host::begin({.seed = GetParam()}); }
    void TearDown() override {
        EXPECT_EQ(on_host::take_faults(), std::vector<std::string>{});
        EXPECT_EQ(on_host::left(), on_host::Left{});
    }
};

TEST_P(CudaPointers, are_told_by_what_they_point_into_and_fetched_after_the_default_stream) {
    ASSERT_TRUE(has_cuda());
    std::vector<std::byte> values(5000), back(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::byte>(i * 31);
    for (const int ordinal : {1, 0}) {
        ASSERT_EQ(cudaSetDevice(ordinal), cudaSuccess);
        void* memory = nullptr;
        void* pinned = nullptr;
        ASSERT_EQ(cudaMalloc(&memory, values.size()), cudaSuccess);
        ASSERT_EQ(cudaHostAlloc(&pinned, 64, cudaHostAllocDefault), cudaSuccess);
        // Not waited for: it is the default stream's.
        ASSERT_EQ(cudaMemcpyAsync(memory, values.data(), values.size(), cudaMemcpyHostToDevice, {}),
                  cudaSuccess);
        EXPECT_TRUE(owns_memory(memory));
        EXPECT_TRUE(owns_memory(static_cast<std::byte*>(memory) + values.size() - 1));
        EXPECT_FALSE(owns_memory(pinned));
        EXPECT_FALSE(owns_memory(values.data()));
        const Status status = fetch(back, memory);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(back, values);
        EXPECT_EQ(fetch(back, pinned).code(), StatusCode::invalid_argument);
        int current = -1;
        ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
        EXPECT_EQ(current, ordinal);
        ASSERT_EQ(cudaFree(memory), cudaSuccess);
        ASSERT_EQ(cudaFreeHost(pinned), cudaSuccess);
    }
}

TEST_P(CudaPointers, that_cuda_refuses_to_copy_from_are_an_error_with_its_reason) {
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, 64), cudaSuccess);
    std::vector<std::byte> back(64);
    on_host::fail_call(3, cudaErrorIllegalAddress);  // attributes, the current device, the copy
    const Status status = fetch(back, memory);
    EXPECT_EQ(status.code(), StatusCode::io);
    EXPECT_NE(status.message().find("64 bytes from a device"), std::string::npos)
        << status.message();
    on_host::fail_call(0, cudaSuccess);
    ASSERT_EQ(cudaFree(memory), cudaSuccess);
}

INSTANTIATE_TEST_SUITE_P(Seeds, CudaPointers, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace caesura::device
