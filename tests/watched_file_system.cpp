#include "watched_file_system.hpp"

#include <chrono>
#include <thread>

#include "base/forwarding_file.hpp"

namespace caesura::testing {
namespace {

std::size_t different(const std::multiset<std::string>& names) {
    std::size_t n = 0;
    for (auto at = names.begin(); at != names.end(); at = names.upper_bound(*at)) ++n;
    return n;
}

}  // namespace

class WatchedFileSystem::Watched final : public base::ForwardingFile {
  public:
    Watched(WatchedFileSystem& all, std::string path, std::unique_ptr<base::File> inner)
        : ForwardingFile(std::move(inner)), all_(all), path_(std::move(path)) {
        all_.count(path_, true);
    }
    ~Watched() override { all_.count(path_, false); }

    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        if (Status status = take(bytes.size()); !status.ok()) return status;
        return ForwardingFile::write_at(offset, bytes);
    }
    Status write_at(std::uint64_t offset,
                    std::span<const std::span<const std::byte>> buffers) override {
        std::size_t n = 0;
        for (const auto& buffer : buffers) n += buffer.size();
        if (Status status = take(n); !status.ok()) return status;
        return ForwardingFile::write_at(offset, buffers);
    }

  private:
    Status take(std::size_t bytes) const {
        const double rate = all_.bytes_per_s.load();
        if (rate > 0.0)
            std::this_thread::sleep_for(
                std::chrono::duration<double>(static_cast<double>(bytes) / rate));
        return all_.before_write ? all_.before_write(path_) : Status{};
    }
    WatchedFileSystem& all_;
    std::string path_;
};

Result<std::unique_ptr<base::File>> WatchedFileSystem::open(const std::string& path, Mode mode) {
    auto file = posix().open(path, mode);
    if (!file.ok()) return file.status();
    return std::unique_ptr<base::File>(std::make_unique<Watched>(*this, path, std::move(*file)));
}

void WatchedFileSystem::count(const std::string& path, bool open) {
    const std::lock_guard lock(mutex_);
    if (open)
        open_.insert(path);
    else
        open_.erase(open_.find(path));
    most_ = std::max(most_, different(open_));
}

std::size_t WatchedFileSystem::open_files() const {
    const std::lock_guard lock(mutex_);
    return different(open_);
}

std::size_t WatchedFileSystem::most_open_files() const {
    const std::lock_guard lock(mutex_);
    return most_;
}

}  // namespace caesura::testing
