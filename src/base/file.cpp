#include "base/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/page.hpp"
#include "base/process.hpp"

namespace caesura::base {
namespace {

Status os_error(const std::string& path, std::string_view operation, int error) {
    const bool full = error == ENOSPC || error == EDQUOT || error == ENOMEM;
    return {full ? StatusCode::no_space : StatusCode::io,
            fmt::format("{}: {}: {}", path, operation, std::strerror(error))};
}

class PosixFile final : public File {
  public:
    PosixFile(int fd, std::string path, FileLocking locking)
        : fd_(fd), path_(std::move(path)), locking_(locking) {}
    PosixFile(const PosixFile&) = delete;
    PosixFile& operator=(const PosixFile&) = delete;
    ~PosixFile() override {
        // A forked child has the file open too, and would keep the lock.
        if (locked_ && !process_.is_forked()) unlock();
        ::close(fd_);
    }

    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        const std::span<const std::byte> one[] = {bytes};
        return write_at(offset, one);
    }

    Status write_at(std::uint64_t offset,
                    std::span<const std::span<const std::byte>> buffers) override {
        std::vector<iovec> parts;
        parts.reserve(buffers.size());
        for (const auto& buffer : buffers)
            if (!buffer.empty())
                parts.push_back({const_cast<std::byte*>(buffer.data()), buffer.size()});
        std::size_t first = 0;
        while (first < parts.size()) {
            const int count =
                static_cast<int>(std::min<std::size_t>(parts.size() - first, k_max_parts));
            const ssize_t written =
                ::pwritev(fd_, parts.data() + first, count, static_cast<off_t>(offset));
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) return os_error(path_, fmt::format("write at {}", offset), errno);
            // A write of nothing would loop for ever; the disk gives no other sign of being full.
            if (written == 0) return os_error(path_, fmt::format("write at {}", offset), ENOSPC);
            offset += static_cast<std::uint64_t>(written);
            advance(parts, first, static_cast<std::size_t>(written));
        }
        return {};
    }

    Status write_early(std::uint64_t offset,
                       std::span<const std::span<const std::byte>> buffers) override {
        std::vector<std::span<const std::byte>> part;
        std::uint64_t bytes = 0;
        const auto put = [&] {
            Status status = write_at(offset, part);
            if (status.ok()) begin_sync(offset, bytes);
            offset += std::exchange(bytes, 0);
            part.clear();
            return status;
        };
        for (auto buffer : buffers)
            while (!buffer.empty()) {
                part.push_back(buffer.first(std::min(buffer.size(), k_early_bytes - bytes)));
                buffer = buffer.subspan(part.back().size());
                bytes += part.back().size();
                if (bytes < k_early_bytes) continue;
                if (Status status = put(); !status.ok()) return status;
            }
        return part.empty() ? Status{} : put();
    }

    Status read_at(std::uint64_t offset, std::span<std::byte> bytes) override {
        std::size_t done = 0;
        while (done < bytes.size()) {
            const ssize_t got = ::pread(fd_, bytes.data() + done, bytes.size() - done,
                                        static_cast<off_t>(offset + done));
            if (got < 0 && errno == EINTR) continue;
            if (got < 0) return os_error(path_, fmt::format("read at {}", offset + done), errno);
            if (got == 0)
                return {StatusCode::insufficient_data,
                        fmt::format("{}: ends at byte {}, {} more expected", path_, offset + done,
                                    bytes.size() - done)};
            done += static_cast<std::size_t>(got);
        }
        return {};
    }

    void will_read(std::uint64_t offset, std::uint64_t bytes) override {
        // A kernel reads no more for one hint than it reads ahead of a reader, 128 KiB as a rule.
        constexpr std::uint64_t k_hint_bytes = 128u << 10;
        for (std::uint64_t at = 0; at < bytes; at += k_hint_bytes)
            (void)::posix_fadvise(fd_, static_cast<off_t>(offset + at),
                                  static_cast<off_t>(std::min(k_hint_bytes, bytes - at)),
                                  POSIX_FADV_WILLNEED);
    }

    std::uint64_t next_data(std::uint64_t offset) override {
        const off_t found = ::lseek(fd_, static_cast<off_t>(offset), SEEK_DATA);
        if (found >= 0) return static_cast<std::uint64_t>(found);
        return errno == ENXIO ? ~std::uint64_t{0} : offset;  // else it is not known
    }
    Status sync() override {
        return ::fdatasync(fd_) == 0 ? Status{} : os_error(path_, "fdatasync", errno);
    }
    Status truncate(std::uint64_t bytes) override {
        return ::ftruncate(fd_, static_cast<off_t>(bytes)) == 0
                   ? Status{}
                   : os_error(path_, fmt::format("truncate to {}", bytes), errno);
    }
    Status extend(std::uint64_t bytes) override {
        auto now = size();
        if (!now.ok() || *now >= bytes) return now.status();
        // Beyond the process's limit there would be a signal, which ends a program by default.
        struct rlimit limit {};
        if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur)
            return {StatusCode::unsupported, path_ + ": ulimit -f does not allow it"};
        // Never shorter, whatever others write meanwhile, as ftruncate could make it.
        int failed = 0;
        do {
            failed = ::fallocate(fd_, 0, static_cast<off_t>(bytes - 1), 1);
        } while (failed != 0 && errno == EINTR);
        if (failed == 0) return {};
        if (errno == EOPNOTSUPP || errno == ENOSYS)
            return {StatusCode::unsupported, path_ + ": this file system has no fallocate"};
        return os_error(path_, fmt::format("fallocate up to {}", bytes), errno);
    }
    Result<std::uint64_t> size() override {
        struct stat info {};
        if (::fstat(fd_, &info) != 0) return os_error(path_, "fstat", errno);
        return static_cast<std::uint64_t>(info.st_size);
    }
    Status lock(bool exclusive) override {
        const FileLocking locking = file_locking(locking_);
        if (locking == FileLocking::off) return {};
        // Alone with a file nobody needs a mark; where flock() is fcntl() it would be in the way.
        set_mark(exclusive ? F_UNLCK : F_RDLCK);
        if (exclusive && is_marked()) return in_use(EWOULDBLOCK);
        locked_ = true;  // or marked
        if (::flock(fd_, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0) return {};
        if (errno == EWOULDBLOCK)
            return locking == FileLocking::yielding ? Status{} : in_use(errno);
        const bool unknown =
            errno == ENOTSUP || errno == ENOSYS || errno == ENOLCK || errno == EINVAL;
        if (unknown && locking != FileLocking::on) return {};
        return os_error(path_, "flock", errno);
    }
    void unlock() override {
        if (file_locking(locking_) == FileLocking::off) return;
        locked_ = false;
        (void)::flock(fd_, LOCK_UN);
        set_mark(F_UNLCK);
    }
    const int* descriptor() const override { return &fd_; }

  private:
    static constexpr std::size_t k_max_parts = 1024;
    // Large enough for the disk, small enough that it begins soon.
    static constexpr std::size_t k_early_bytes = 8u << 20;

    static struct flock mark_of(short kind) {
        constexpr off_t k_beyond_all_data = off_t{1} << 62;
        struct flock mark {};
        mark.l_type = kind;
        mark.l_whence = SEEK_SET;
        mark.l_start = k_beyond_all_data;
        mark.l_len = 1;
        return mark;
    }
    /// A file system that knows no such locks keeps no marks.
    void set_mark(short kind) {
        struct flock mark = mark_of(kind);
        (void)::fcntl(fd_, F_OFD_SETLK, &mark);
    }
    bool is_marked() {
        struct flock mark = mark_of(F_WRLCK);
        return ::fcntl(fd_, F_OFD_GETLK, &mark) == 0 && mark.l_type != F_UNLCK;
    }
    /// As HDF5 says it: h5py makes BlockingIOError of the number.
    Status in_use(int error) const {
        return {StatusCode::io,
                fmt::format("{}: is in use by another process (errno = {}, error message = '{}')",
                            path_, error, std::strerror(error))};
    }

    /// A hint: what goes wrong is sync()'s to tell. A last page that is not full is the next
    /// part's.
    void begin_sync(std::uint64_t offset, std::uint64_t bytes) {
#ifdef SYNC_FILE_RANGE_WRITE
        const std::uint64_t begin = offset / k_page_bytes * k_page_bytes;
        const std::uint64_t end = (offset + bytes) / k_page_bytes * k_page_bytes;
        if (end > begin)  // 0 bytes would mean: to the end
            (void)::sync_file_range(fd_, static_cast<off_t>(begin), static_cast<off_t>(end - begin),
                                    SYNC_FILE_RANGE_WRITE);
#endif
    }

    static void advance(std::vector<iovec>& parts, std::size_t& first, std::size_t written) {
        while (first < parts.size() && written >= parts[first].iov_len) {
            written -= parts[first].iov_len;
            ++first;
        }
        if (written == 0) return;
        parts[first].iov_base = static_cast<char*>(parts[first].iov_base) + written;
        parts[first].iov_len -= written;
    }

    int fd_;
    std::string path_;
    FileLocking locking_;
    Process process_;
    std::atomic<bool> locked_{false};
};

class PosixFileSystem final : public FileSystem {
  public:
    explicit PosixFileSystem(FileLocking locking) : locking_(locking) {}

    Result<std::unique_ptr<File>> open(const std::string& path, Mode mode) override {
        int flags = O_CLOEXEC | (mode == Mode::read ? O_RDONLY : O_RDWR);
        if (mode == Mode::create) flags |= O_CREAT;
        const int fd = ::open(path.c_str(), flags, 0666);
        if (fd < 0) return os_error(path, mode == Mode::create ? "create" : "open", errno);
        return std::unique_ptr<File>(std::make_unique<PosixFile>(fd, path, locking_));
    }

    Result<std::unique_ptr<File>> open_for(FileLocking asked, const std::string& path,
                                           Mode mode) override {
        return posix(asked).open(path, mode);
    }

    Status sync_directory_of(const std::string& path) override {
        std::error_code error;  // a link leads to where the name was made
        const std::filesystem::path file = std::filesystem::canonical(path, error);
        if (error) return os_error(path, "resolve", error.value());
        const std::string directory = file.parent_path().string();
        const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 && errno == EACCES) return {};
        if (fd < 0) return os_error(directory, "open", errno);
        const int failed = ::fsync(fd) == 0 ? 0 : errno;
        ::close(fd);
        const bool unknown = failed == EINVAL || failed == ENOTSUP || failed == ENOSYS;
        return failed == 0 || unknown ? Status{} : os_error(directory, "fsync", failed);
    }

  private:
    FileLocking locking_;
};

}  // namespace

std::unique_ptr<File> file_of_descriptor(int descriptor, std::string path, FileLocking asked) {
    return std::make_unique<PosixFile>(descriptor, std::move(path), asked);
}

FileLocking file_locking(FileLocking asked) {
    const char* const set = std::getenv("HDF5_USE_FILE_LOCKING");
    const std::string_view word = set == nullptr ? "" : set;
    if (word == "FALSE" || word == "0") return FileLocking::off;
    if (asked == FileLocking::yielding) return asked;  // it asks for no lock that could be refused
    if (word == "TRUE" || word == "1") return FileLocking::on;
    return word == "BEST_EFFORT" ? FileLocking::best_effort : asked;
}

Status FileSystem::remove(const std::string& path) {
    if (::unlink(path.c_str()) == 0) return {};
    return os_error(path, "remove", errno);
}

FileSystem& FileSystem::posix(FileLocking asked) {
    static auto& off = *new PosixFileSystem(FileLocking::off);
    static auto& on = *new PosixFileSystem(FileLocking::on);
    static auto& best_effort = *new PosixFileSystem(FileLocking::best_effort);
    static auto& yielding = *new PosixFileSystem(FileLocking::yielding);
    if (asked == FileLocking::off) return off;
    if (asked == FileLocking::yielding) return yielding;
    return asked == FileLocking::on ? on : best_effort;
}

}  // namespace caesura::base
