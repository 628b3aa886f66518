// Goal: with nvCOMP's coders the device of CUDA and the Checkpointer on it keep their promises.
// nvCOMP is stood in for (on_host/nvcomp_stand_in.hpp), and so is CUDA's runtime; not a
// GPU, not nvCOMP.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "caesura/checkpointer.hpp"
#include "caesura/device.hpp"
#include "checkpoint/device_calibration.hpp"
#include "checkpoint/device_suite.hpp"
#include "checkpoint/small_machine.hpp"
#include "device/cuda/on_host/on_host.hpp"
#include "device/cuda/parcel_coder.hpp"
#include "nvcomp/nvcomp_frame.hpp"
#include "nvcomp/on_host/nvcomp_stand_in.hpp"
#include "nvcomp/use_nvcomp.hpp"

namespace caesura::checkpoint {
namespace {

namespace on_host = device::on_host;
using device::Coder;
using device::CudaOptions;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t k_nvcomp_on_host_seed = 23;
const std::vector<std::string> k_none;

class NvcompStoodInFor : public ::testing::TestWithParam<Coder> {
  protected:
    void SetUp() override {
        library_ = dlopen(CAESURA_NVCOMP_STAND_IN, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library_, nullptr) << dlerror();
        on_host::NvcompStandInFunction find = nullptr;
        void* const symbol = dlsym(library_, on_host::k_nvcomp_stand_in);
        ASSERT_NE(symbol, nullptr);
        std::memcpy(&find, &symbol, sizeof symbol);
        nvcomp_ = find();
        nvcomp_->give = [](void* stream, std::function<void()> work) {
            return on_host::give(static_cast<cudaStream_t>(stream), std::move(work)) == cudaSuccess
                       ? 0
                       : 1000;
        };
        wish_nothing();
        lab::use_nvcomp();
        on_host::begin({.seed = k_nvcomp_on_host_seed});
        ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
        options_.stream = stream_;
        options_.coder = GetParam();
        options_.nvcomp = CAESURA_NVCOMP_STAND_IN;
        options_.staging_bytes = 70'000;
        options_.work_bytes = 500'000;  // a few chunks at once: several batches
    }
    /// No rule of CUDA's or nvCOMP's was broken, and nothing is left.
    void TearDown() override {
        device_.reset();
        EXPECT_EQ(nvcomp_->mistakes, k_none);
        EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
        EXPECT_EQ(on_host::take_faults(), k_none);
        EXPECT_EQ(on_host::left(), on_host::Left{});
        wish_nothing();
        dlclose(library_);
    }
    void wish_nothing() {
        nvcomp_->version = 6000;
        nvcomp_->fail_call = nvcomp_->fail_chunk = 0;
        nvcomp_->lie_about_size = nvcomp_->stop_early = false;
        nvcomp_->mistakes.clear();
    }
    Status create() {
        device_.reset();
        auto made = device::create_cuda_device(options_);
        if (made.ok()) device_ = *std::move(made);
        return made.status();
    }
    std::byte* take(std::uint64_t bytes) {
        const auto memory = device_->allocate(bytes);
        EXPECT_TRUE(memory.ok()) << memory.status().message();
        return memory.ok() ? *memory : nullptr;
    }
    std::byte* take_filled(const Bytes& bytes) {
        std::byte* const memory = take(bytes.size());
        const auto transfer = device_->to_device(memory, bytes);
        EXPECT_TRUE(transfer.ok() && device_->wait(*transfer).ok());
        return memory;
    }
    Bytes back(const std::byte* memory, std::uint64_t bytes) {
        Bytes host(bytes);
        const auto transfer = device_->to_host(host, memory);
        EXPECT_TRUE(transfer.ok() && device_->wait(*transfer).ok());
        return host;
    }
    void give_back(std::initializer_list<std::byte*> memory) {
        for (std::byte* one : memory) EXPECT_TRUE(device_->release(one).ok());
    }
    /// Of these pieces.
    Result<Bytes> parcel_of(const std::vector<Bytes>& made, const device::Content& content = {}) {
        std::vector<std::byte*> memory;
        std::vector<std::span<const std::byte>> pieces;
        std::uint64_t bytes = 0;
        for (const Bytes& one : made) {
            memory.push_back(take_filled(one));
            pieces.emplace_back(memory.back(), one.size());
            bytes += one.size();
        }
        const std::uint64_t room = device_->parcel_bytes(made.size(), bytes);
        memory.push_back(take(room));
        const auto size = device_->compress(pieces, content, {memory.back(), room});
        Result<Bytes> parcel =
            size.ok() ? Result<Bytes>(back(memory.back(), *size)) : Result<Bytes>(size.status());
        for (std::byte* one : memory) EXPECT_TRUE(device_->release(one).ok());
        return parcel;
    }
    Status unpack(const Bytes& parcel, std::uint64_t index, Bytes& piece) {
        std::byte* const held = take_filled(parcel);
        std::byte* const made = take(piece.size());
        const Status status =
            device_->decompress({held, parcel.size()}, index, {made, piece.size()});
        if (status.ok()) piece = back(made, piece.size());
        give_back({held, made});
        return status;
    }

    void* library_ = nullptr;
    on_host::NvcompStandIn* nvcomp_ = nullptr;
    cudaStream_t stream_ = nullptr;
    CudaOptions options_;
    std::unique_ptr<device::Device> device_;
};
INSTANTIATE_TEST_SUITE_P(Coders, NvcompStoodInFor,
                         ::testing::Values(Coder::nvcomp_lz4, Coder::nvcomp_gdeflate,
                                           Coder::nvcomp_bitcomp, Coder::nvcomp_ans,
                                           Coder::nvcomp_cascaded),
                         [](const auto& each) { return std::string(to_string(each.param)); });

// Goal: the library has none of them until it is told to, and says how.
TEST_P(NvcompStoodInFor, is_there_when_it_was_registered) {
    device::cuda::register_nvcomp(nullptr);
    const Status status = create();
    EXPECT_EQ(status.code(), StatusCode::unsupported);
    for (const std::string_view said : {to_string(GetParam()), std::string_view("use_nvcomp()"),
                                        std::string_view("caesura_lab_nvcomp")})
        EXPECT_NE(status.message().find(said), std::string::npos) << status.message();
    lab::use_nvcomp();
    EXPECT_TRUE(create().ok());
}

TEST_P(NvcompStoodInFor, device_keeps_what_the_interface_promises) {
    options_.work_bytes = 3'000'000;
    ASSERT_TRUE(create().ok());
    EXPECT_EQ(device_->coder(), GetParam());
    for (const DeviceCheck& check : device_suite()) {
        // Ten seconds on the stand-in: once.
        const bool is_long = check.name == "ten_thousand_leave_nothing_behind";
        if (is_long && GetParam() != Coder::nvcomp_lz4) continue;
        SCOPED_TRACE(check.name);
        EXPECT_EQ(check.run(*device_), "");
    }
    EXPECT_GT(nvcomp_->compressed, 0u);
    EXPECT_GT(nvcomp_->decompressed, 0u);
}

TEST_P(NvcompStoodInFor, pieces_of_any_size_come_back_and_batches_make_no_difference) {
    std::mt19937_64 random(k_nvcomp_on_host_seed);
    for (int round = 0; round < 12; ++round) {
        std::vector<Bytes> made;
        for (std::size_t i = 0, n = 1 + random() % 5; i < n; ++i)
            made.push_back(synthetic(random, 1 + random() % (round < 6 ? 400 : 400'000),
                                     random() % 2 == 0 ? 1.0 : 8.0));
        const device::Content content{round % 2 == 0 ? float32 : float64, {}, lossless()};
        Bytes parcels[2];
        for (const bool one : {true, false}) {
            options_.work_bytes = one ? 1 : 64 << 20;
            ASSERT_TRUE(create().ok());
            const auto parcel = parcel_of(made, content);
            ASSERT_TRUE(parcel.ok()) << parcel.status().message();
            parcels[one] = *parcel;
        }
        EXPECT_EQ(parcels[0], parcels[1]) << "seed " << k_nvcomp_on_host_seed << " round " << round;
        for (std::size_t i = made.size(); i-- > 0;) {
            Bytes piece(made[i].size());
            const Status status = unpack(parcels[0], i, piece);
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_EQ(piece, made[i]) << "seed " << k_nvcomp_on_host_seed << " round " << round;
        }
        Bytes other(made[0].size() + 8);
        EXPECT_EQ(unpack(parcels[0], 0, other).code(), StatusCode::invalid_argument);
    }
}

/// nvCOMP would do what is undefined: the stand-in writes down that it was shown damage.
TEST_P(NvcompStoodInFor, damage_is_told_and_nvcomp_never_sees_it) {
    ASSERT_TRUE(create().ok());
    std::mt19937_64 random(k_nvcomp_on_host_seed + 1);
    const std::vector<Bytes> made = {synthetic(random, 150'001, 4.0), synthetic(random, 70'000, 1)};
    const auto parcel = parcel_of(made);
    ASSERT_TRUE(parcel.ok()) << parcel.status().message();
    int told = 0;
    for (int round = 0; round < 300; ++round) {
        Bytes damaged = *parcel;
        // The table, headers and lines more often than their share.
        const std::size_t at = random() % (round % 3 == 0 ? 200 : damaged.size());
        damaged[at] ^= static_cast<std::byte>(1 + random() % 255);
        if (round % 10 == 0) damaged.resize(damaged.size() - random() % 1000);
        for (std::size_t i = 0; i < made.size(); ++i) {
            Bytes piece(made[i].size());
            const Status status = unpack(damaged, i, piece);
            told += !status.ok();
            if (!status.ok()) continue;
            EXPECT_EQ(piece, made[i]) << "byte " << at << " seed " << k_nvcomp_on_host_seed;
        }
    }
    EXPECT_GT(told, 200);
}

TEST_P(NvcompStoodInFor, whatever_call_fails_is_told_and_leaves_nothing) {
    std::mt19937_64 random(k_nvcomp_on_host_seed + 2);
    const std::vector<Bytes> made = {synthetic(random, 300'000, 4.0)};
    int failed = 0;
    for (std::uint64_t nth = 1;; ++nth) {
        nvcomp_->fail_call = nth;
        Status status = create();
        if (status.ok()) {
            const auto parcel = parcel_of(made);
            Bytes piece(made[0].size());
            status = parcel.ok() ? unpack(*parcel, 0, piece) : parcel.status();
            EXPECT_EQ(device_->allocations(), 0u);
            EXPECT_TRUE(!status.ok() || piece == made[0]);
        }
        if (nvcomp_->fail_call > 0) break;  // there were fewer calls
        ASSERT_EQ(status.code(), StatusCode::io) << "call " << nth << ": " << status.message();
        EXPECT_NE(status.message().find("10000"), std::string::npos) << status.message();
        EXPECT_NE(status.message().find(to_string(GetParam())), std::string::npos);
        ++failed;
    }
    EXPECT_GT(failed, 8);
}

TEST_P(NvcompStoodInFor, a_chunk_that_fails_is_told) {
    ASSERT_TRUE(create().ok());
    std::mt19937_64 random(k_nvcomp_on_host_seed + 3);
    const std::vector<Bytes> made = {synthetic(random, 700'000, 4.0)};
    for (const std::uint64_t nth : {1u, 3u, 7u}) {
        nvcomp_->fail_chunk = nth;
        const auto refused = parcel_of(made);
        EXPECT_EQ(refused.status().code(), StatusCode::io) << nth;
        EXPECT_NE(refused.status().message().find("19"), std::string::npos);
        nvcomp_->fail_chunk = 0;
        const auto parcel = parcel_of(made);
        ASSERT_TRUE(parcel.ok());
        Bytes piece(made[0].size());
        nvcomp_->fail_chunk = nth;
        EXPECT_EQ(unpack(*parcel, 0, piece).code(), StatusCode::corrupt) << nth;
        nvcomp_->fail_chunk = 0;
        nvcomp_->stop_early = true;
        EXPECT_EQ(unpack(*parcel, 0, piece).code(), StatusCode::corrupt);
        nvcomp_->stop_early = false;
        EXPECT_TRUE(unpack(*parcel, 0, piece).ok());
        EXPECT_EQ(piece, made[0]);
    }
    nvcomp_->lie_about_size = true;
    EXPECT_EQ(parcel_of(made).status().code(), StatusCode::io);
}

TEST_P(NvcompStoodInFor, another_version_is_refused_and_what_to_install_is_said) {
    nvcomp_->version = 5102;
    const Status status = create();
    EXPECT_EQ(status.code(), StatusCode::unsupported);
    for (const char* said : {"5.1.2", "6", "pip install nvidia-nvcomp-cu13", "packed"})
        EXPECT_NE(status.message().find(said), std::string::npos) << status.message();
}

TEST_P(NvcompStoodInFor, another_coders_parcel_is_refused_and_packed_ones_are_read) {
    std::mt19937_64 random(k_nvcomp_on_host_seed + 4);
    const std::vector<Bytes> made = {synthetic(random, 100'000, 4.0)};
    ASSERT_TRUE(create().ok());
    const auto parcel = parcel_of(made);
    ASSERT_TRUE(parcel.ok());
    Bytes piece(made[0].size());
    for (const Coder other : {Coder::packed, Coder::nvcomp_lz4, Coder::nvcomp_ans}) {
        if (other == GetParam()) continue;
        options_.coder = other;
        ASSERT_TRUE(create().ok());
        const Status status = unpack(*parcel, 0, piece);
        EXPECT_EQ(status.code(), StatusCode::unsupported) << status.message();
    }
    options_.coder = Coder::packed;
    ASSERT_TRUE(create().ok());
    const auto packed = parcel_of(made);
    ASSERT_TRUE(packed.ok());
    options_.coder = GetParam();
    ASSERT_TRUE(create().ok());
    EXPECT_TRUE(unpack(*packed, 0, piece).ok());
    EXPECT_EQ(piece, made[0]);
}

/// A store, to be refused before it is asked.
class NoStore final : public CheckpointStore {
  public:
    Status begin(std::uint64_t, const device::Content&) override {
        ADD_FAILURE() << "the store was begun";
        return {};
    }
    std::vector<Kept> kept() const override { return {}; }
    Result<Work> place(std::span<const Parcel>) override { return Work(); }
    Result<Work> commit() override { return Work(); }
    Status read(std::span<const std::uint64_t>, bool, std::span<std::byte>) override { return {}; }
};

TEST_P(NvcompStoodInFor, a_checkpointer_keeps_every_byte_within_its_cap_and_takes_no_file) {
    ASSERT_TRUE(create().ok());
    plan::CheckpointProfile profile = small_machine();
    profile.checkpoint_bytes = 100'001;
    profile.header_bytes = 0;
    profile.link_bytes_per_s = 1e5;  // what is planned with: compressing is worth while
    profile.cache_bytes = 1'200'000 + device_->parcel_bytes(4, 400'004);
    CheckpointerOptions options;
    options.content.bound = absolute(1e-3);
    options.content.shape = Shape{25'000};
    profile.checkpoint_bytes = 100'000;
    const auto bounded = Checkpointer::create(*device_, profile, options);
    EXPECT_EQ(bounded.status().code(), StatusCode::unsupported);
    EXPECT_NE(bounded.status().message().find("packed"), std::string::npos);
    options = {};
    options.store = std::make_shared<NoStore>();
    const auto stored = Checkpointer::create(*device_, profile, options);
    EXPECT_EQ(stored.status().code(), StatusCode::unsupported);
    EXPECT_NE(stored.status().message().find("packed"), std::string::npos);

    profile.checkpoint_bytes = 100'001;
    options = {};
    std::mt19937_64 random(k_nvcomp_on_host_seed + 5);
    auto made = Checkpointer::create(*device_, profile, options);
    ASSERT_TRUE(made.ok()) << made.status().message();
    std::vector<Bytes> states;
    for (std::uint64_t id = 0; id < 60; ++id) {
        states.push_back(synthetic(random, 100'001, 8.0));
        std::byte* const state = take_filled(states.back());
        const Status status = (*made)->checkpoint(id, state);
        ASSERT_TRUE(status.ok()) << status.message();
        give_back({state});
        EXPECT_LE(device_->allocated_bytes(), profile.cache_bytes);
    }
    std::byte* const state = take(100'001);
    for (std::uint64_t id = 60; id-- > 0;) {
        const Status status = (*made)->restore(id, state);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(back(state, 100'001), states[id]) << id << " seed " << k_nvcomp_on_host_seed;
    }
    EXPECT_LE((*made)->report().peak_cache_bytes, profile.cache_bytes);
    EXPECT_NE((*made)->report().word.find_first_of("CX"), std::string::npos);
    give_back({state});
    made->reset();
    EXPECT_EQ(device_->allocations(), 0u);
}

TEST_P(NvcompStoodInFor, is_calibrated_like_any_coder) {
    ASSERT_TRUE(create().ok());
    CalibrationOptions sizes;
    sizes.least_bytes = 100'000;
    sizes.most_bytes = 800'000;
    sizes.repeats = 2;
    const auto measured = calibrate(*device_, sizes);
    ASSERT_TRUE(measured.ok()) << measured.status().message();
    EXPECT_EQ(measured->profile.compress_curve.size(), 4u);
    EXPECT_EQ(device_->allocations(), 0u);
}

}  // namespace
}  // namespace caesura::checkpoint
