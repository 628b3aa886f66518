// Goal: a pointer is known for what it points into, a device's memory or the host's, as long as it
// is allocated; what is fetched is what lies there.
#include <gtest/gtest.h>

#include <cstring>

#include "caesura/device.hpp"

namespace caesura::device {
namespace {

EmulatedDevice make_device() {
    EmulatedMachine machine;
    machine.memory_bytes = 1 << 20;
    machine.link_bytes_per_s = machine.copy_bytes_per_s = 1e9;
    machine.compress_s = [](double) { return 0.0; };
    auto made = EmulatedDevice::create(std::move(machine));
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
}

TEST(Pointers, into_an_emulated_device_are_known_until_they_are_given_back) {
    EmulatedDevice first = make_device();
    std::byte* const memory = *first.allocate(100);
    std::byte* const other = *first.allocate(1);
    EmulatedDevice device = std::move(first);  // its memory stays where it is
    for (const std::byte* at : {memory, memory + 99, other}) EXPECT_TRUE(owns_memory(at));
    std::byte here{};
    EXPECT_FALSE(owns_memory(&here));
    EXPECT_FALSE(owns_memory(nullptr));
    ASSERT_TRUE(device.release(memory).ok());
    EXPECT_TRUE(owns_memory(other));
    ASSERT_TRUE(device.release(other).ok());
    EXPECT_FALSE(owns_memory(other));
}

TEST(Pointers, of_a_device_that_is_gone_are_nobodys) {
    const std::byte* memory = nullptr;
    {
        EmulatedDevice device = make_device();
        memory = *device.allocate(64);
        EXPECT_TRUE(owns_memory(memory));
    }
    EXPECT_FALSE(owns_memory(memory));
}

TEST(Pointers, give_what_lies_there_and_nothing_beyond) {
    EmulatedDevice device = make_device();
    std::byte* const memory = *device.allocate(64);
    for (int i = 0; i < 64; ++i) memory[i] = static_cast<std::byte>(i);
    std::vector<std::byte> host(10);
    ASSERT_TRUE(fetch(host, memory + 50).ok());
    EXPECT_EQ(std::memcmp(host.data(), memory + 50, 10), 0);
    EXPECT_EQ(fetch(host, memory + 60).code(), StatusCode::invalid_argument);
    EXPECT_FALSE(fetch(host, host.data()).ok());
}

TEST(Pointers, into_cudas_memory_are_known_where_there_is_a_gpu) {
    auto device = create_cuda_device();
    if (!device.ok()) GTEST_SKIP() << device.status().message();
    ASSERT_TRUE(has_cuda());
    const auto memory = (*device)->allocate(1000);
    ASSERT_TRUE(memory.ok());
    std::vector<std::byte> there(1000), back(1000);
    for (std::size_t i = 0; i < there.size(); ++i) there[i] = static_cast<std::byte>(i * 7);
    const auto sent = (*device)->to_device(*memory, there);
    ASSERT_TRUE(sent.ok());
    ASSERT_TRUE((*device)->wait(*sent).ok());
    EXPECT_TRUE(owns_memory(*memory));
    EXPECT_TRUE(owns_memory(*memory + 999));
    EXPECT_FALSE(owns_memory(there.data()));
    const Status status = fetch(back, *memory);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(back, there);
    ASSERT_TRUE((*device)->release(*memory).ok());
}

}  // namespace
}  // namespace caesura::device
