// Goal: a wait for a stream ends when its work is done and not before, is seen as a pause, and says
// what became of the work.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "caesura/cuda.hpp"
#include "caesura/writer.hpp"

namespace {

namespace fs = std::filesystem;

class CudaWait : public ::testing::Test {
  protected:
    void SetUp() override {
        int devices = 0;
        const cudaError_t error = cudaGetDeviceCount(&devices);
        if (error != cudaSuccess || devices == 0)
            GTEST_SKIP() << "no GPU: " << cudaGetErrorString(error);
        ASSERT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
    }
    void TearDown() override {
        if (stream_) cudaStreamDestroy(stream_);
    }
    // The stream is busy until a thread of the host has slept this long.
    void keep_busy(std::atomic<bool>& done) const {
        const auto sleep = [](void* flag) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            static_cast<std::atomic<bool>*>(flag)->store(true);
        };
        ASSERT_EQ(cudaLaunchHostFunc(stream_, sleep, &done), cudaSuccess);
    }
    cudaStream_t stream_ = nullptr;
};

TEST_F(CudaWait, ends_when_the_stream_is_done) {
    std::atomic<bool> done{false};
    keep_busy(done);
    EXPECT_EQ(caesura::wait(stream_), cudaSuccess);
    EXPECT_TRUE(done.load());
    EXPECT_EQ(caesura::wait(stream_), cudaSuccess);  // nothing left to wait for
}

TEST_F(CudaWait, is_seen_as_a_pause) {
    const fs::path path =
        fs::temp_directory_path() / ("caesura_cuda_wait_" + std::to_string(::getpid()) + ".h5");
    auto writer = caesura::Writer::create(path.string(), nullptr);
    ASSERT_TRUE(writer.ok()) << writer.status().message();
    auto iteration = (*writer)->begin_iteration(0);
    std::atomic<bool> done{false};
    keep_busy(done);
    EXPECT_EQ(caesura::wait(stream_), cudaSuccess);
    EXPECT_TRUE(iteration.end().ok());
    EXPECT_GE((*writer)->report().seen_waiting_s, 0.010);  // it may have begun before the wait
    EXPECT_TRUE((*writer)->close().ok());
    fs::remove(path);
}

}  // namespace
