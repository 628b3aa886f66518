// Goal: nvCOMP is found where it is, and what is missing is said where it is not.
#include "nvcomp/nvcomp.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "nvcomp/nvcomp_format.hpp"

namespace caesura::device {
namespace {

TEST(NvcompLibrary, what_is_missing_is_named_and_what_to_do) {
    const auto none = Nvcomp::load(Coder::nvcomp_ans, "libnvcomp_that_is_not_there.so");
    EXPECT_EQ(none.status().code(), StatusCode::unsupported);
    for (const char* said : {"nvcomp_ans", "libnvcomp_that_is_not_there.so", "CAESURA_NVCOMP",
                             "pip install nvidia-nvcomp-cu13", "packed"})
        EXPECT_NE(none.status().message().find(said), std::string::npos)
            << said << " is not in: " << none.status().message();
    const auto other = Nvcomp::load(Coder::nvcomp_lz4, "libm.so.6");
    EXPECT_EQ(other.status().code(), StatusCode::unsupported);
    EXPECT_NE(other.status().message().find("nvcompGetProperties"), std::string::npos);
    EXPECT_NE(other.status().message().find("pip install"), std::string::npos);
    EXPECT_EQ(Nvcomp::load(Coder::packed).status().code(), StatusCode::invalid_argument);
}

TEST(NvcompLibrary, every_coder_of_the_library_answers_as_frames_need_it) {
    for (const Coder coder : k_coders) {
        if (!is_nvcomp(coder)) continue;
        const auto nvcomp = Nvcomp::load(coder);
        if (!nvcomp.ok()) GTEST_SKIP() << nvcomp.status().message();
        SCOPED_TRACE(to_string(coder));
        EXPECT_EQ((*nvcomp)->version().substr(0, 2), "6.");
        const auto most = (*nvcomp)->most_bytes(nvcomp::k_chunk_bytes);
        ASSERT_TRUE(most.ok()) << most.status().message();
        EXPECT_GE(*most, nvcomp::k_chunk_bytes);
        EXPECT_LT(*most, 3 * nvcomp::k_chunk_bytes);
        const auto compress = (*nvcomp)->compress_alignment();
        const auto decompress = (*nvcomp)->decompress_alignment();
        ASSERT_TRUE(compress.ok() && decompress.ok());
        for (const std::uint64_t wanted : {compress->from, compress->to, compress->scratch,
                                           decompress->from, decompress->to, decompress->scratch}) {
            EXPECT_GE(wanted, 1u);
            EXPECT_LE(wanted, nvcomp::k_alignment);
        }
        std::uint64_t before = 0;
        for (const std::uint64_t chunks : {1u, 7u, 64u, 1000u}) {
            const auto scratch =
                (*nvcomp)->compress_scratch_bytes(chunks, nvcomp::k_chunk_bytes, nullptr);
            ASSERT_TRUE(scratch.ok()) << scratch.status().message();
            EXPECT_GE(*scratch, before);
            before = *scratch;
            EXPECT_TRUE(
                (*nvcomp)->decompress_scratch_bytes(chunks, nvcomp::k_chunk_bytes, nullptr).ok());
        }
    }
}

}  // namespace
}  // namespace caesura::device
