// A damaged chunk is an error that names it, and of it alone; nothing damaged ends the program.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>

#include "base/whole_file.hpp"
#include "caesura/writer.hpp"
#include "decompositions.hpp"
#include "read_fixture.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

using testing::whole_box;

const Shape k_damage_shape{600, 470};
constexpr const char* k_damage_path = "/data/0/meshes/rho";

class ReadDamage : public testing::ReadTest {
  protected:
    void write(const std::string& codec, int kind) {
        WriterOptions options;
        options.codec.name = codec;
        options.chunk_bytes = 256u << 10;
        options.durable = false;
        auto writer = Writer::create(path_, nullptr, options);
        ASSERT_TRUE(writer.ok()) << writer.status().message();
        auto field = (*writer)->define_field("rho", float32, k_damage_shape, absolute(0.01));
        ASSERT_TRUE(field.ok()) << field.status().message();
        auto iteration = (*writer)->begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        const auto values = testing::make_field<float>(k_damage_shape, 5, kind);
        ASSERT_TRUE(dump.put(*field, whole_box(k_damage_shape), values.data()).ok());
        ASSERT_TRUE(iteration.end().ok());
        ASSERT_TRUE((*writer)->close().ok());
    }
    /// Changes up to `most` bytes of a chunk, at least one.
    void damage(const store::ChunkRecord& chunk, std::mt19937& random, unsigned most) {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        for (unsigned n = 1 + random() % most; n > 0; --n) {
            const auto at = static_cast<std::streamoff>(chunk.address + random() % chunk.bytes);
            file.seekg(at);
            const int old = file.get();
            file.seekp(at);
            file.put(static_cast<char>(old ^ static_cast<int>(1 + random() % 255)));
        }
    }
    static Status read_all(const read::Source& source, const Box& box,
                           const read::ReadOptions& options) {
        std::vector<std::byte> bytes(box.extent.count() * 4);
        return source.read(0, box, bytes, options);
    }
};

// Goal: whatever the codec, one changed byte is found by the checksum, named with dataset and chunk
// by reading and ranges, and leaves other chunks readable.
TEST_F(ReadDamage, a_changed_byte_is_found_and_its_chunk_named) {
    const std::pair<const char*, unsigned> codecs[] = {
        {"none", 0}, {"caesura", 0}, {"zstd", 32015}, {"sz3", 32024}, {"zfp", 32013}};
    std::vector<std::string> skipped;
    for (const auto& [codec, filter] : codecs) {
        if (filter != 0 && !testing::filter_available(filter)) {
            skipped.push_back(codec);
            continue;
        }
        write(codec, 0);
        const auto sound = base::get_file(path_);
        for (unsigned seed = 1; seed <= 8; ++seed) {
            SCOPED_TRACE(fmt::format("codec {} seed {}", codec, seed));
            std::mt19937 random(seed);
            ASSERT_TRUE(base::put_file(path_, sound));
            auto source = read::Source::open(path_);
            ASSERT_TRUE(source.ok());
            const store::DatasetInfo& dataset = (*source)->datasets()[0];
            ASSERT_GT(dataset.chunks.size(), 2u);
            const std::size_t which = random() % dataset.chunks.size();
            const auto blocks = (*source)->blocks(0, whole_box(k_damage_shape));
            ASSERT_TRUE(blocks.ok());
            damage(dataset.chunks[which], random, 3);
            const std::string name = fmt::format("dataset {} chunk {}: ", k_damage_path, which);
            const auto named = [&](const Status& status) {
                EXPECT_EQ(status.code(), StatusCode::corrupt);
                EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
            };
            const read::ReadOptions options{.threads = static_cast<int>(1 + random() % 3)};
            named(read_all(**source, whole_box(k_damage_shape), options));
            named((*source)->value_range(0, whole_box(k_damage_shape), options).status());
            for (std::size_t i = 0; i < blocks->size(); ++i) {
                if (i == which) continue;
                const Status status = read_all(**source, (*blocks)[i].box, options);
                EXPECT_TRUE(status.ok()) << status.message();
            }
        }
    }
    if (!skipped.empty())
        GTEST_SKIP() << fmt::format("no plugin for {}; set HDF5_PLUGIN_PATH",
                                    fmt::join(skipped, ", "));
}

// Goal: also without its checksum a damaged frame of ours is an error, by itself.
TEST_F(ReadDamage, a_damaged_frame_is_an_error_also_where_no_checksum_is_looked_at) {
    const char* const codecs[] = {"caesura:fast", "caesura:strong", "caesura:planes"};
    std::vector<std::byte> sound;
    for (unsigned seed = 0; seed < 240; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        std::mt19937 random(seed);
        if (seed % 20 == 0) {
            write(codecs[seed / 20 % 3], static_cast<int>(seed / 60));
            sound = base::get_file(path_);
        }
        ASSERT_TRUE(base::put_file(path_, sound));
        auto source = read::Source::open(path_);
        ASSERT_TRUE(source.ok());
        damage((*source)->datasets()[0].chunks[1], random, seed % 2 ? 1 : 500);
        const Status status = read_all(**source, whole_box(k_damage_shape), {.verify = false});
        EXPECT_TRUE(status.code() == StatusCode::corrupt ||
                    status.code() == StatusCode::unsupported)
            << to_string(status.code()) << status.message();
        EXPECT_NE(status.message().find(std::string(k_damage_path) + " chunk 1"), std::string::npos)
            << status.message();
        (void)(*source)->blocks(0, whole_box(k_damage_shape), {.verify = false});
    }
}

TEST_F(ReadDamage, a_file_that_is_cut_while_it_is_open_is_an_error_of_the_chunks_it_lacks) {
    for (const char* codec : {"none", "caesura"}) {
        write(codec, 2);
        auto source = read::Source::open(path_);
        ASSERT_TRUE(source.ok());
        const auto& chunks = (*source)->datasets()[0].chunks;
        const auto blocks = (*source)->blocks(0, whole_box(k_damage_shape));
        const auto last = std::max_element(chunks.begin(), chunks.end(),
                                           [](auto& a, auto& b) { return a.address < b.address; });
        std::filesystem::resize_file(path_, last->address + last->bytes / 2);
        for (const read::Block& block : *blocks) {
            const Status status = read_all(**source, block.box, {});
            EXPECT_EQ(status.code(),
                      block.chunk == last->chunk ? StatusCode::corrupt : StatusCode::ok);
            const std::string name = fmt::format("{} chunk {}: ", k_damage_path, block.chunk);
            if (!status.ok()) {
                EXPECT_NE(status.message().find(name), std::string::npos) << status.message();
            }
        }
    }
}

TEST_F(ReadDamage, a_file_that_is_none_is_corrupt) {
    std::ofstream(path_) << "this is not HDF5, whatever its name says";
    EXPECT_EQ(read::Source::open(path_).status().code(), StatusCode::corrupt);
    std::ofstream(path_, std::ios::trunc).close();
    EXPECT_EQ(read::Source::open(path_).status().code(), StatusCode::corrupt);
}

}  // namespace
}  // namespace caesura
