// Datasets of many arrays, as AMReX writes its levels: box after box, in each box all quantities,
// chunks cut anywhere.
#include <fmt/format.h>

#include <cstring>

#include "application_file.hpp"
#include "read_fixture.hpp"
#include "stock_reader.hpp"
#include "writer/composition.hpp"

namespace caesura::writer {
namespace {

using testing::ApplicationFile, testing::require;

class ReadBundle : public testing::ReadTest {};

/// Boxes of a level, and what its dataset looks like.
struct Level {
    explicit Level(std::mt19937& random) {
        std::vector<Component> components = {
            {"density", absolute(0.01)}, {"momentum", absolute(0.5)}, {"flag", lossless()}};
        for (auto n = 1 + random() % 5; n > 0; --n)
            boxes.push_back(Shape{1 + random() % 9, 1 + random() % 9, 1 + random() % 9});
        definition.composition = Composition::arrays(components, boxes);
        definition.path = "/level_0/data:datatype=0";
        definition.dtype = random() % 2 ? float32 : float64;
        definition.dims = Shape{definition.composition->count()};
        definition.chunk = Shape{1 + random() % definition.dims[0]};
        definition.codec.name = "caesura";
        for (std::uint64_t i = 0; i < definition.dims[0]; ++i)
            values.push_back(0.001 * static_cast<double>(random() % 100000));
    }
    std::vector<Shape> boxes;
    DatasetDefinition definition;
    std::vector<double> values;
};

void write(const Level& level, const std::string& path) {
    const DatasetDefinition& definition = level.definition;
    testing::run_application(1, [&](auto of_file, auto of_writer) {
        ApplicationFile file(base::FileSystem::posix(), path, *of_file, true);
        WriterOptions options;
        options.durable = false;
        const auto target = file.target(*of_writer);
        auto writer = OpenWriter::make(target, std::move(of_writer), options, nullptr, {});
        require(writer.status());
        const auto field = (*writer)->define(definition);
        require(field.status());
        file.create_dataset(definition, definition.dims, (*writer)->pipeline(*field));
        const std::vector<float> narrow(level.values.begin(), level.values.end());
        const void* data = definition.dtype == float32 ? static_cast<const void*>(narrow.data())
                                                       : level.values.data();
        require(
            (*writer)->put(*field, testing::whole_box(definition.dims), data, definition.dtype));
        require((*writer)->flush());
        require((*writer)->close());
    });
}

TEST_F(ReadBundle, boxes_are_what_stock_hdf5_reads_and_blocks_say_which_arrays_they_hold) {
    std::size_t bundles = 0;
    for (unsigned seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        std::mt19937 random(seed);
        const Level level(random);
        write(level, path_);
        auto source = read::Source::open(path_);
        ASSERT_TRUE(source.ok()) << source.status().message();
        ASSERT_EQ((*source)->datasets().size(), 1u);
        const auto stock = testing::read_dataset(path_, level.definition.path);
        testing::compare_boxes(**source, 0, stock.values, random);
        const auto blocks = (*source)->blocks(0, testing::whole_box(level.definition.dims));
        ASSERT_TRUE(blocks.ok()) << blocks.status().message();
        for (const read::Block& block : *blocks) {
            const auto parts = level.definition.composition->parts(block.box);
            if (block.filter_mask == 1) {  // raw: the composition alone says what it holds
                EXPECT_TRUE(block.frames.empty());
                continue;
            }
            ++bundles;
            ASSERT_EQ(block.frames.size(), parts.size());
            for (std::size_t i = 0; i < parts.size(); ++i) {
                EXPECT_EQ(block.frames[i].component, parts[i].component);
                EXPECT_EQ(block.frames[i].info.shape, parts[i].shape);
            }
        }
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(bundles, 20u);
}

}  // namespace
}  // namespace caesura::writer
