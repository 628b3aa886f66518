// A stock HDF5 reads what the codecs make: chunks are written as they are, with their filter mask,
// and come back through H5Dread and the filter machinery of HDF5 itself.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>

#include "codec/bound/bound.hpp"
#include "hdf5/hdf5_filter_plugin.hpp"
#include "hdf5/known_filters.hpp"
#include "hdf5/test_blocks.hpp"
#include "hdf5/test_plugins.hpp"

namespace caesura::hdf5 {
namespace {

class StockRead : public testing::Test {
  protected:
    void SetUp() override {
        CAESURA_NEEDS_PLUGINS();
        path_ = testing::TempDir() + fmt::format("caesura_stock_read_{}.h5", getpid());
    }
    void TearDown() override { std::filesystem::remove(path_); }

    std::string path_;
};

std::size_t never_called(unsigned, std::size_t, const unsigned*, std::size_t, std::size_t*,
                         void**) {
    return 0;
}

/// Creating a dataset runs the filters' set_local again, which SZ3 refuses for cd_values that are
/// final already. So it happens under classes that have none; they are gone before the reading.
class StandInFilters {
  public:
    explicit StandInFilters(std::span<const FilterSpec> pipeline) : pipeline_(pipeline) {
        for (const FilterSpec& filter : pipeline_) {
            const H5Z_class2_t stand_in = {H5Z_CLASS_T_VERS,
                                           static_cast<H5Z_filter_t>(filter.id),
                                           1,
                                           1,
                                           "stand-in",
                                           nullptr,
                                           nullptr,
                                           never_called};
            EXPECT_GE(H5Zregister(&stand_in), 0);
        }
    }
    ~StandInFilters() {
        for (const FilterSpec& filter : pipeline_) {
            EXPECT_GE(H5Zunregister(static_cast<H5Z_filter_t>(filter.id)), 0);
        }
    }

  private:
    std::span<const FilterSpec> pipeline_;
};

hid_t native(DType dtype) { return dtype == DType::float32 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE; }

void write_file(const std::string& path, const TestBlock& block, const BlockCodec& codec,
                const EncodedBlock& encoded) {
    const StandInFilters stand_ins(codec.pipeline());
    const std::vector<hsize_t> dims(block.chunk.data(), block.chunk.data() + block.chunk.rank());
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(list, block.chunk.rank(), dims.data());
    for (const FilterSpec& filter : codec.pipeline()) {
        H5Pset_filter(list, static_cast<H5Z_filter_t>(filter.id),
                      filter.optional ? H5Z_FLAG_OPTIONAL : H5Z_FLAG_MANDATORY,
                      filter.cd_values.size(), filter.cd_values.data());
    }
    const hid_t space = H5Screate_simple(block.chunk.rank(), dims.data(), nullptr);
    const hid_t dataset =
        H5Dcreate2(file, "x", native(block.dtype), space, H5P_DEFAULT, list, H5P_DEFAULT);
    EXPECT_GE(dataset, 0);
    const std::vector<hsize_t> origin(dims.size(), 0);
    EXPECT_GE(H5Dwrite_chunk(dataset, H5P_DEFAULT, encoded.filter_mask, origin.data(),
                             encoded.bytes.size(), encoded.bytes.data()),
              0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(list);
    H5Fclose(file);
}

std::vector<std::byte> read_file(const std::string& path, const TestBlock& block) {
    std::vector<std::byte> values(block.bytes.size());
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "x", H5P_DEFAULT);
    EXPECT_GE(H5Dread(dataset, native(block.dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
              0);
    H5Dclose(dataset);
    H5Fclose(file);
    return values;
}

TEST_F(StockRead, every_codec_and_every_filter_mask) {
    const char* codecs[] = {"none", "sz3", "zfp", "zstd", "blosc2", "round+zstd", "round+blosc2"};
    std::set<std::pair<std::string, std::uint32_t>> seen;
    for (unsigned seed = 1000; seed < 1140; ++seed) {
        std::mt19937_64 random(seed);
        TestBlock block = random_block(random, 6000);
        block.valid = block.chunk;
        const ErrorBound bound = absolute(block.what == "huge" ? 1e34 : 1e-3);
        const CodecSpec spec{.name = codecs[seed % std::size(codecs)]};
        SCOPED_TRACE(fmt::format("seed {}: {}, {} {} {}", seed, spec.name, block.what,
                                 to_string(block.dtype), to_string(block.chunk)));
        const auto codec = make_block_codec(spec, block.dtype, block.chunk, bound);
        ASSERT_TRUE(codec.ok()) << codec.status().message();
        const auto encoded = (*codec)->encode(block.bytes, block.valid);
        ASSERT_TRUE(encoded.ok()) << encoded.status().message();
        write_file(path_, block, **codec, *encoded);
        const std::vector<std::byte> read = read_file(path_, block);
        EXPECT_TRUE(
            codec::check_bound(block.bytes, read, block.dtype, block.chunk, block.valid, bound)
                .holds);
        seen.emplace(spec.name, encoded->filter_mask);
        if (HasFailure()) break;
    }
    // Lossy alone, Zstd alone, raw.
    for (const std::uint32_t mask : {0b10u, 0b01u, 0b11u}) {
        EXPECT_TRUE(seen.contains({"sz3", mask}) || seen.contains({"zfp", mask})) << mask;
    }
}

TEST_F(StockRead, final_cd_values_are_those_hdf5_itself_would_store) {
    for (const char* name : {"sz3", "zfp", "zstd", "blosc2"}) {
        for (const DType dtype : {float32, float64}) {
            SCOPED_TRACE(name);
            const FilterTraits traits = *find_traits(name);
            const auto user = *bound_to_cd_values(traits.id, absolute(0.1));
            const auto ours =
                (*FilterPlugin::find(traits.id, name))->final_cd_values(user, dtype, {7, 8, 9});
            ASSERT_TRUE(ours.ok()) << ours.status().message();
            const hsize_t dims[] = {7, 8, 9};
            const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
            H5Pset_fapl_core(access, 1 << 16, false);
            const hid_t file = H5Fcreate("scratch", H5F_ACC_TRUNC, H5P_DEFAULT, access);
            const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
            H5Pset_chunk(list, 3, dims);
            const auto id = static_cast<H5Z_filter_t>(traits.id);
            H5Pset_filter(list, id, H5Z_FLAG_OPTIONAL, user.size(), user.data());
            const hid_t space = H5Screate_simple(3, dims, nullptr);
            const hid_t dataset =
                H5Dcreate2(file, "x", native(dtype), space, H5P_DEFAULT, list, H5P_DEFAULT);
            ASSERT_GE(dataset, 0);
            const hid_t stored = H5Dget_create_plist(dataset);
            unsigned flags = 0;
            std::size_t count = 32;
            std::vector<unsigned> theirs(count);
            H5Pget_filter_by_id2(stored, id, &flags, &count, theirs.data(), 0, nullptr, nullptr);
            theirs.resize(count);
            EXPECT_EQ(*ours, theirs);
            for (const hid_t plist : {stored, list, access}) H5Pclose(plist);
            H5Dclose(dataset);
            H5Sclose(space);
            H5Fclose(file);
        }
    }
}

}  // namespace
}  // namespace caesura::hdf5
