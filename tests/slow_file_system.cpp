#include "slow_file_system.hpp"

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/forwarding_file.hpp"
#include "base/host.hpp"
#include "predict/times.hpp"

namespace caesura::testing {
namespace {

class SlowFile final : public base::ForwardingFile {
  public:
    SlowFile(std::unique_ptr<base::File> inner, double bytes_per_s)
        : ForwardingFile(std::move(inner)), bytes_per_s_(bytes_per_s) {}

    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        take(bytes.size());
        return ForwardingFile::write_at(offset, bytes);
    }
    Status write_at(std::uint64_t offset,
                    std::span<const std::span<const std::byte>> buffers) override {
        for (const auto& buffer : buffers) take(buffer.size());
        return ForwardingFile::write_at(offset, buffers);
    }

  private:
    void take(std::size_t bytes) const {
        std::this_thread::sleep_for(
            std::chrono::duration<double>(static_cast<double>(bytes) / bytes_per_s_));
    }
    double bytes_per_s_;
};

}  // namespace

Result<std::unique_ptr<base::File>> SlowFileSystem::open(const std::string& path, Mode mode) {
    auto file = base::FileSystem::posix().open(path, mode);
    if (!file.ok()) return file.status();
    return std::unique_ptr<base::File>(std::make_unique<SlowFile>(std::move(*file), bytes_per_s_));
}

std::string slow_profile(const std::string& path, double bytes_per_s) {
    predict::CompressCurve compress;
    compress.form = predict::CompressCurve::Form::points;
    compress.bits = {1.0};
    compress.s_per_byte = {1e-9};
    predict::Profile profile;
    profile.host_class = host_class().name;
    for (const char* mode : {"fast", "strong", "planes"})
        profile.compress.push_back({"caesura", mode, float32, compress, 0.0, 1});
    const predict::WriteCurve write{1e-4, {0.0}, {1.0 / bytes_per_s}};
    profile.write.push_back(
        {file_system_type(std::filesystem::path(path).parent_path()), false, write, 0.0, 1});
    return predict::to_json(profile);
}

}  // namespace caesura::testing
