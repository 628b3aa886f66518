#include "limited_file_system.hpp"

#include "base/forwarding_file.hpp"

namespace caesura::testing {
namespace {

class LimitedFile final : public base::ForwardingFile {
  public:
    LimitedFile(std::unique_ptr<base::File> inner, std::atomic<std::int64_t>& left)
        : ForwardingFile(std::move(inner)), left_(left) {}

    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        const std::span<const std::byte> one[] = {bytes};
        return write_at(offset, one);
    }
    Status write_at(std::uint64_t offset,
                    std::span<const std::span<const std::byte>> buffers) override {
        std::int64_t bytes = 0;
        for (const auto& buffer : buffers) bytes += static_cast<std::int64_t>(buffer.size());
        if (left_.fetch_sub(bytes) < bytes) {
            left_.fetch_add(bytes);  // what was refused takes no room: less may still fit
            return {StatusCode::no_space, "No space left on device (limited for the test)"};
        }
        return ForwardingFile::write_at(offset, buffers);
    }

  private:
    std::atomic<std::int64_t>& left_;
};

}  // namespace

Result<std::unique_ptr<base::File>> LimitedFileSystem::open(const std::string& path, Mode mode) {
    auto file = base::FileSystem::posix().open(path, mode);
    if (!file.ok()) return file.status();
    return std::unique_ptr<base::File>(
        std::make_unique<LimitedFile>(std::move(*file), left_bytes_));
}

}  // namespace caesura::testing
