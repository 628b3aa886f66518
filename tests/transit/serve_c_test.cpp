// The C face with a service: the same file, and what is wrong is said. Linked as an application is,
// with caesura::caesura alone.
#include <algorithm>
#include <cmath>
#include <functional>

#include "caesura/caesura.h"
#include "stock_reader.hpp"
#include "transit/serve_process.hpp"

namespace caesura {
namespace {

class ServeC : public testing::Serve {
  protected:
    static constexpr std::uint64_t k_n = 64;
    static std::vector<float> values(std::uint64_t dump) {
        std::vector<float> all(k_n * k_n * k_n);
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = static_cast<float>(std::sin(1e-3 * static_cast<double>(i + 977 * dump)));
        return all;
    }
    // @param at  asked before each dump.
    caesura_code run(const std::string& transport, std::uint64_t dumps,
                     const std::function<void(std::uint64_t, caesura_writer*)>& at = {}) {
        caesura_options options = CAESURA_OPTIONS_DEFAULT;
        options.transport = transport.c_str();
        options.chunk_bytes = 256u << 10;
        options.memory_bytes = 64u << 20;
        caesura_writer* writer = nullptr;
        caesura_code code = caesura_writer_create(path().c_str(), nullptr, &options, &writer);
        if (code != CAESURA_OK) return code;
        const std::uint64_t shape[3] = {k_n, k_n, k_n}, offset[3] = {0, 0, 0};
        std::uint32_t field = 0;
        code = caesura_define_field(writer, "f", CAESURA_FLOAT32, 3, shape, CAESURA_LOSSLESS, 0,
                                    &field);
        for (std::uint64_t n = 0; n < dumps && code == CAESURA_OK; ++n) {
            if (at) at(n, writer);
            code = caesura_begin_iteration(writer, n);
            if (code == CAESURA_OK) code = caesura_begin_dump(writer, 0.0, 1.0);
            if (code == CAESURA_OK)
                code =
                    caesura_put(writer, field, offset, shape, values(n).data(), CAESURA_FLOAT32, 0);
            if (code == CAESURA_OK) code = caesura_end_iteration(writer);
        }
        said_ = caesura_last_error();
        const caesura_code closed = caesura_writer_close(writer);
        if (code != CAESURA_OK) return code;
        said_ = caesura_last_error();
        return closed;
    }
    void expect_dumps(std::uint64_t dumps) const {
        for (std::uint64_t n = 0; n < dumps; ++n) {
            const auto read =
                testing::read_dataset(path(), "/data/" + std::to_string(n) + "/meshes/f");
            const std::vector<float> wanted = values(n);
            ASSERT_TRUE(
                std::equal(wanted.begin(), wanted.end(), read.values.begin(), read.values.end()))
                << "dump " << n;
        }
    }
    std::string said_;
};

TEST_F(ServeC, writes_what_a_c_program_hands_over) {
    start("unix:" + place_ + "/socket");
    ASSERT_EQ(run(address_, 4), CAESURA_OK) << said_;
    expect_dumps(4);
}

TEST_F(ServeC, goes_on_by_itself_where_the_service_is_killed) {
    lease_s_ = 3600;  // nobody waits for that
    start("unix:" + place_ + "/socket");
    ASSERT_EQ(run(address_ + ",on_loss=write", 6,
                  [&](std::uint64_t n, caesura_writer*) {
                      if (n == 3) stop(SIGKILL);
                  }),
              CAESURA_OK)
        << said_;
    expect_dumps(6);
}

TEST_F(ServeC, says_that_the_service_is_gone) {
    start("unix:" + place_ + "/socket");
    EXPECT_EQ(run(address_, 6,
                  [&](std::uint64_t n, caesura_writer* writer) {
                      if (n != 3) return;
                      EXPECT_EQ(caesura_finish_by(writer, 60.0), CAESURA_OK);
                      stop(SIGKILL);
                  }),
              CAESURA_IO);
    EXPECT_NE(said_.find("the service is gone"), std::string::npos) << said_;
}

TEST_F(ServeC, a_service_that_is_not_there_is_named) {
    caesura_options options = CAESURA_OPTIONS_DEFAULT;
    options.transport = "service:unix:/nowhere/at/all.sock";
    caesura_writer* writer = nullptr;
    EXPECT_EQ(caesura_writer_create(path().c_str(), nullptr, &options, &writer), CAESURA_IO);
    EXPECT_EQ(writer, nullptr);
    EXPECT_NE(std::string(caesura_last_error()).find("/nowhere/at/all.sock"), std::string::npos)
        << caesura_last_error();
}

}  // namespace
}  // namespace caesura
