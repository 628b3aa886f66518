// Goal: the stand-in for CUDA's runtime finds the mistakes that it is there to find.
#include "device/cuda/on_host/on_host.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "device/cuda/on_host/kernels.hpp"

namespace caesura::device::on_host {
namespace {

constexpr std::uint64_t k_bytes = 100'000;

/// A stream that it is given to goes no further until it is opened.
class Gate {
  public:
    explicit Gate(cudaStream_t stream) {
        EXPECT_EQ(give(stream, [open = open_] { open->wait(false); }), cudaSuccess);
    }
    void open() {
        *open_ = true;
        open_->notify_all();
    }

  private:
    std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);
};

/// A pool, two streams of device 0 and an event.
class OnHost : public ::testing::TestWithParam<std::uint64_t> {
  protected:
    void SetUp() override {
        begin({.seed = GetParam(), .delay_ns = 2'000'000});
        cudaMemPoolProps properties{};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        ok(cudaMemPoolCreate(&pool_, &properties));
        for (cudaStream_t* stream : {&first_, &second_})
            ok(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
        ok(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
        ok(cudaHostAlloc(&pinned_, k_bytes, cudaHostAllocDefault));
    }
    void TearDown() override { begin({.devices = 0}); }  // frees what is left
    static void ok(cudaError_t code) { ASSERT_EQ(code, cudaSuccess) << cudaGetErrorName(code); }
    unsigned char* take(cudaStream_t stream, std::uint64_t bytes = k_bytes) {
        void* memory = nullptr;
        EXPECT_EQ(cudaMallocFromPoolAsync(&memory, bytes, pool_, stream), cudaSuccess);
        return static_cast<unsigned char*>(memory);
    }
    unsigned char* pinned() const { return static_cast<unsigned char*>(pinned_); }

    cudaMemPool_t pool_ = nullptr;
    cudaStream_t first_ = nullptr, second_ = nullptr;
    cudaEvent_t event_ = nullptr;
    void* pinned_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Seeds, OnHost, ::testing::Range<std::uint64_t>(0, 4));

TEST_P(OnHost, pinned_memory_is_read_when_the_copy_is_carried_out) {
    unsigned char* const memory = take(first_);
    Gate gate(first_);
    std::memset(pinned_, 1, k_bytes);
    ok(cudaMemcpyAsync(memory, pinned_, k_bytes, cudaMemcpyHostToDevice, first_));
    std::memset(pinned_, 2, k_bytes);
    gate.open();
    std::vector<unsigned char> pageable(k_bytes, 3);
    ok(cudaMemcpyAsync(pageable.data(), memory, k_bytes, cudaMemcpyDefault, first_));
    EXPECT_EQ(pageable[0], 2);
    EXPECT_EQ(pageable[k_bytes - 1], 2);
    // Pageable memory is free when the call returns, either way.
    ok(cudaMemcpyAsync(memory, pageable.data(), k_bytes, cudaMemcpyDefault, first_));
    std::fill(pageable.begin(), pageable.end(), static_cast<unsigned char>(4));
    ok(cudaMemcpyAsync(pinned_, memory, k_bytes, cudaMemcpyDefault, first_));
    ok(cudaStreamSynchronize(first_));
    EXPECT_EQ(pinned()[k_bytes - 1], 2);
    EXPECT_EQ(take_faults(), std::vector<std::string>{});
}

TEST_P(OnHost, only_events_order_streams) {
    std::atomic<int> done = 0;
    Gate gate(first_);
    ok(give(first_, [&] { done = 1; }));
    int early = -1, late = -1;
    ok(give(second_, [&] { early = done; }));
    ok(cudaStreamSynchronize(second_));
    EXPECT_EQ(early, 0);
    ok(cudaEventRecord(event_, first_));
    EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
    ok(cudaStreamWaitEvent(second_, event_, 0));
    ok(give(second_, [&] { late = done; }));
    gate.open();
    ok(cudaStreamSynchronize(second_));
    EXPECT_EQ(late, 1);
}

TEST_P(OnHost, stream_0_and_blocking_streams_wait_for_each_other) {
    cudaStream_t blocking = nullptr;
    ok(cudaStreamCreate(&blocking));
    for (const auto& [before, after] : {std::pair{blocking, cudaStream_t{}}, {{}, blocking}}) {
        std::atomic<int> done = 0;
        int seen = -1;
        Gate gate(before);
        ok(give(before, [&] { done = 1; }));
        ok(give(after, [&] { seen = done; }));
        ok(cudaStreamSynchronize(first_));  // has nothing to do with them
        EXPECT_EQ(cudaStreamQuery(after), cudaErrorNotReady);
        gate.open();
        ok(cudaStreamSynchronize(after));
        EXPECT_EQ(seen, 1);
    }
}

TEST_P(OnHost, a_copy_before_its_memory_is_there_or_after_it_has_gone_is_a_fault) {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "AddressSanitizer ends the process";
#endif
    Gate before(first_);
    unsigned char* const memory = take(first_);
    ok(cudaMemcpyAsync(pinned_, memory, k_bytes, cudaMemcpyDefault, second_));
    ok(cudaStreamSynchronize(second_));
    EXPECT_EQ(take_faults().size(), 1u);
    before.open();

    Gate after(second_);
    ok(cudaMemcpyAsync(pinned_, memory, k_bytes, cudaMemcpyDefault, second_));
    ok(cudaFreeAsync(memory, first_));
    EXPECT_NE(take(second_), memory);
    EXPECT_EQ(take(first_), memory);  // its own again, at once
    ok(cudaStreamSynchronize(first_));
    after.open();
    ok(cudaStreamSynchronize(second_));
    EXPECT_EQ(take_faults().size(), 1u);
}

TEST_P(OnHost, copies_that_cannot_be_are_refused_and_faults) {
    unsigned char* const memory = take(first_);
    EXPECT_EQ(cudaMemcpyAsync(pinned_, memory + 1, k_bytes, cudaMemcpyDefault, first_),
              cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpyAsync(pinned_, memory, k_bytes, cudaMemcpyHostToDevice, first_),
              cudaErrorInvalidValue);
    EXPECT_EQ(take_faults().size(), 2u);
}

TEST_P(OnHost, pinned_memory_that_a_copy_needs_must_not_be_freed) {
    unsigned char* const memory = take(first_);
    Gate gate(first_);
    ok(cudaMemcpyAsync(pinned_, memory, k_bytes, cudaMemcpyDefault, first_));
    ok(cudaFreeHost(pinned_));
    EXPECT_EQ(take_faults().size(), 1u);
    gate.open();
    ok(cudaStreamSynchronize(first_));
    ok(cudaFreeHost(pinned_));
    EXPECT_EQ(take_faults().size(), 0u);
}

TEST_P(OnHost, the_hosts_code_dies_where_it_touches_memory_of_a_device) {
    if (!protects()) GTEST_SKIP() << "this processor has no protection keys";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    unsigned char* const memory = take(first_);
    ok(give(first_, [=] { memory[5] = 7; }));
    ok(cudaStreamSynchronize(first_));
    EXPECT_DEATH({ *static_cast<volatile unsigned char*>(memory + 5) = 8; }, "");
    ok(cudaMemcpy(pinned_, memory, k_bytes, cudaMemcpyDeviceToHost));
    EXPECT_EQ(pinned()[5], 7);
}

TEST_P(OnHost, what_is_written_behind_a_piece_is_a_fault) {
#if defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "AddressSanitizer ends the process";
#endif
    unsigned char* const memory = take(first_, 1000);
    ok(give(first_, [=] { memory[1000] = 7; }));
    ok(cudaFreeAsync(memory, first_));
    ok(cudaStreamSynchronize(first_));
    EXPECT_EQ(take_faults().size(), 1u);
}

TEST_P(OnHost, errors_come_when_they_are_asked_for) {
    fail_call(2, cudaErrorInvalidValue);
    ok(cudaStreamSynchronize(first_));
    EXPECT_EQ(cudaStreamSynchronize(first_), cudaErrorInvalidValue);
    std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    unsigned char* const memory = take(first_);
    fail_operation(1, cudaErrorIllegalAddress);
    (void)cudaMemsetAsync(memory, 1, k_bytes, first_);
    EXPECT_EQ(cudaStreamSynchronize(first_), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaStreamSynchronize(second_), cudaErrorIllegalAddress);
    (void)cudaGetLastError();
    EXPECT_EQ(cudaMemcpyAsync(pinned_, memory, 1, cudaMemcpyDefault, second_),
              cudaErrorIllegalAddress);
    EXPECT_EQ(cudaStreamDestroy(second_), cudaErrorIllegalAddress);  // and it is destroyed
    EXPECT_EQ(left().streams, 1u);
}

TEST_P(OnHost, each_thread_has_its_device_and_streams_are_of_one) {
    ok(cudaSetDevice(1));
    int device = -1;
    std::thread([&] { (void)cudaGetDevice(&device); }).join();
    EXPECT_EQ(device, 0);
    EXPECT_EQ(give(first_, [] {}), cudaErrorInvalidResourceHandle);
    cudaEvent_t event = nullptr;
    ok(cudaEventCreate(&event));
    EXPECT_EQ(cudaEventRecord(event, first_), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
}

// ----------------------------------------------------------------------------------------- kernels

__global__ void add_up(const std::uint32_t* values, std::uint64_t* sums) {
    __shared__ std::uint64_t of_warps[4];
    std::uint64_t mine = values[blockIdx.x * blockDim.x + threadIdx.x];
    for (unsigned step = 16; step > 0; step /= 2) mine += __shfl_down_sync(~0u, mine, step);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x != 0) return;
    sums[blockIdx.x] = of_warps[0] + of_warps[1] + of_warps[2] + of_warps[3];
}

__global__ void some_do_not_come(int threads) {
    if (static_cast<int>(threadIdx.x) < threads) __syncthreads();
}

template <class... Arguments>
cudaError_t launch_kernel(void (*kernel)(Arguments...), unsigned blocks, unsigned threads,
                          cudaStream_t stream, Arguments... values) {
    void* arguments[] = {&values...};
    return cudaLaunchKernel(kernel, dim3(blocks), dim3(threads), arguments, 0, stream);
}

TEST_P(OnHost, threads_of_a_block_meet_at_barriers_and_in_shuffles) {
    std::vector<std::uint32_t> values(3 * 128);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint32_t>(i * i);
    auto* const in = reinterpret_cast<std::uint32_t*>(take(first_, 4 * values.size()));
    auto* const out = reinterpret_cast<std::uint64_t*>(take(first_, 24));
    ok(cudaMemcpyAsync(in, values.data(), 4 * values.size(), cudaMemcpyDefault, first_));
    ok(launch_kernel(add_up, 3, 128, first_, static_cast<const std::uint32_t*>(in), out));
    std::uint64_t sums[3] = {};
    ok(cudaMemcpyAsync(sums, out, sizeof sums, cudaMemcpyDefault, first_));
    for (std::size_t b = 0; b < 3; ++b) {
        std::uint64_t sum = 0;
        for (std::size_t i = 128 * b; i < 128 * (b + 1); ++i) sum += values[i];
        EXPECT_EQ(sums[b], sum) << b;
    }
    EXPECT_EQ(take_faults(), std::vector<std::string>{});
}

TEST_P(OnHost, a_barrier_that_not_all_threads_reach_is_a_fault) {
    ok(launch_kernel(some_do_not_come, 1, 64, first_, 64));
    ok(cudaStreamSynchronize(first_));
    EXPECT_EQ(take_faults().size(), 0u);
    ok(launch_kernel(some_do_not_come, 1, 64, first_, 63));
    ok(cudaStreamSynchronize(first_));
    EXPECT_EQ(take_faults().size(), 1u);
}

}  // namespace
}  // namespace caesura::device::on_host
