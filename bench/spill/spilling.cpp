// What keeping checkpoints in a file costs, beside what the disk itself takes for the same bytes.
//
//   spilling [--directory D] [--megabytes M] [--cache-mb MB] [--rounds R]
//
// Checkpoints of 2 and 16 MB, sent raw and compressed, on an emulated device: copying and
// compressing are real work of the host, and all times are of its own clock. In each round every
// way has its turn, and a plain write() and fdatasync(), or pread(), of as many bytes. What is read
// is not in the page cache. Prints all samples as JSON. A checkpoint that comes back wrong ends the
// program with 1.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "caesura/checkpoint_file.hpp"
#include "caesura/checkpointer.hpp"

namespace {

using caesura::CheckpointerOptions;
using caesura::CheckpointFile;
using caesura::plan::CheckpointProfile;
using nlohmann::json;

void require(const caesura::Status& status) {
    if (!status.ok()) throw std::runtime_error(status.message());
}

template <class T>
T value_of(caesura::Result<T>&& result) {
    require(result.status());
    return *std::move(result);
}

double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

struct Options {
    std::string directory = ".";
    std::map<std::string, std::uint64_t> numbers = {
        {"--megabytes", 1024}, {"--cache-mb", 64}, {"--rounds", 5}};
    std::uint64_t operator[](const std::string& name) const { return numbers.at(name); }
};

Options parse(int argc, char** argv) {
    Options options;
    if (argc % 2 == 0) throw std::invalid_argument(std::string(argv[argc - 1]) + " needs a value");
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string name = argv[i];
        if (name == "--directory")
            options.directory = argv[i + 1];
        else if (options.numbers.count(name) == 0)
            throw std::invalid_argument("unknown option '" + name + "'");
        else if ((options.numbers[name] = std::strtoull(argv[i + 1], nullptr, 10)) == 0)
            throw std::invalid_argument(name + " must be a positive number");
    }
    return options;
}

/// Checkpoints of one size that are all sent raw, or all compressed, to a quarter of their size.
struct Workload {
    std::uint64_t bytes = 0, count = 0;
    bool compressed = false;
    std::vector<std::vector<std::byte>> data;  ///< checkpoint id is data[id % data.size()]

    Workload(std::uint64_t checkpoint_bytes, bool compress, std::uint64_t total_bytes)
        : bytes(checkpoint_bytes), count(total_bytes / checkpoint_bytes), compressed(compress) {
        std::mt19937_64 random(checkpoint_bytes);
        for (int n = 0; n < 8; ++n) {
            std::vector<std::byte> one(bytes);
            for (std::uint64_t at = 0; at < (compress ? bytes / 4 : bytes); at += 8) {
                const std::uint64_t bits = random();
                std::memcpy(one.data() + at, &bits, 8);
            }
            data.push_back(std::move(one));
        }
    }
    const std::vector<std::byte>& of(std::uint64_t id) const { return data[id % data.size()]; }
};

/// A link that has time for everything, or for what is compressed only.
CheckpointProfile machine_of(const Workload& work, std::uint64_t cache_bytes) {
    CheckpointProfile profile;
    profile.checkpoint_bytes = work.bytes;
    profile.cache_bytes = cache_bytes;
    profile.link_bytes_per_s = work.compressed ? 5e9 : 100e9;
    profile.copy_bytes_per_s = 500e9;
    for (const double bytes : {1e5, 2e9})
        profile.compress_curve.push_back({bytes, 32e-6 + bytes / 550e9});
    return profile;
}

constexpr double k_made_bytes_per_s = 10e9;  // of the emulated clock

caesura::device::EmulatedDevice device_of(const CheckpointProfile& profile) {
    caesura::device::EmulatedMachine machine;
    machine.memory_bytes = profile.cache_bytes;
    machine.link_bytes_per_s = profile.link_bytes_per_s;
    machine.copy_bytes_per_s = profile.copy_bytes_per_s;
    machine.compress_s = [curve = profile.compress_curve](double bytes) {
        return caesura::plan::compress_s(curve, bytes);
    };
    return value_of(caesura::device::EmulatedDevice::create(std::move(machine)));
}

/// A file of the operating system's that is gone at the end.
class PlainFile {
  public:
    PlainFile(std::string path, int flags) : path_(std::move(path)) {
        fd_ = ::open(path_.c_str(), flags | O_CLOEXEC, 0666);
        if (fd_ < 0) throw std::runtime_error(path_ + ": " + std::strerror(errno));
    }
    ~PlainFile() { ::close(fd_); }
    PlainFile(const PlainFile&) = delete;
    PlainFile& operator=(const PlainFile&) = delete;

    void write(const std::vector<std::byte>& bytes) {
        for (std::size_t done = 0; done < bytes.size();) {
            const ssize_t n = ::write(fd_, bytes.data() + done, bytes.size() - done);
            if (n < 0) throw std::runtime_error(path_ + ": " + std::strerror(errno));
            done += static_cast<std::size_t>(n);
        }
    }
    void read_at(std::uint64_t offset, std::vector<std::byte>& bytes) {
        for (std::size_t done = 0; done < bytes.size();) {
            const ssize_t n = ::pread(fd_, bytes.data() + done, bytes.size() - done,
                                      static_cast<off_t>(offset + done));
            if (n <= 0) throw std::runtime_error(path_ + ": cannot be read");
            done += static_cast<std::size_t>(n);
        }
    }
    void sync() {
        if (::fdatasync(fd_) != 0) throw std::runtime_error(path_ + ": " + std::strerror(errno));
    }
    /// Of what is on the disk nothing stays in memory.
    void drop_from_memory() {
        sync();
        (void)::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    }

  private:
    std::string path_;
    int fd_ = -1;
};

/// `total_bytes` in pieces to a new file and back, last first, by system calls alone.
json by_hand(const std::string& path, std::uint64_t piece_bytes, std::uint64_t total_bytes) {
    const std::uint64_t count = std::max<std::uint64_t>(total_bytes / piece_bytes, 1);
    std::vector<std::byte> piece(piece_bytes, std::byte{0x5a});
    ::unlink(path.c_str());
    PlainFile file(path, O_RDWR | O_CREAT);
    double begin_s = now_s();
    for (std::uint64_t i = 0; i < count; ++i) file.write(piece);
    file.sync();
    const double write_s = now_s() - begin_s;
    file.drop_from_memory();
    begin_s = now_s();
    for (std::uint64_t i = count; i-- > 0;) file.read_at(i * piece_bytes, piece);
    const double read_s = now_s() - begin_s;
    ::unlink(path.c_str());
    const auto bytes = static_cast<double>(count * piece_bytes);
    return {{"write_bytes_per_s", bytes / write_s}, {"read_bytes_per_s", bytes / read_s}};
}

/// One run of a Checkpointer, which may have a file.
class Run {
  public:
    Run(const Workload& work, const CheckpointProfile& profile, const CheckpointerOptions& options)
        : work_(work),
          device_(device_of(profile)),
          checkpointer_(value_of(caesura::Checkpointer::create(device_, profile, options))) {}

    /// Makes all. @return seconds in checkpoint() and flush().
    double make() {
        const double begin_s = now_s();
        for (std::uint64_t id = 0; id < work_.count; ++id) {
            device_.work(static_cast<double>(work_.bytes) / k_made_bytes_per_s);
            require(checkpointer_->checkpoint(id, work_.of(id).data()));
        }
        require(checkpointer_->flush());
        return now_s() - begin_s;
    }
    double save() {
        const double begin_s = now_s();
        require(checkpointer_->save());
        return now_s() - begin_s;
    }
    /// All, last first, and every 16th looked at. @return seconds without the looking.
    double restore() {
        std::vector<std::byte> back(work_.bytes);
        const double begin_s = now_s();
        double looking_s = 0.0;
        for (std::uint64_t id = work_.count; id-- > 0;) {
            require(checkpointer_->restore(id, back.data()));
            if (id % 16 != 0) continue;
            const double look_s = now_s();
            if (back != work_.of(id))
                throw std::runtime_error(fmt::format("checkpoint {} differs", id));
            looking_s += now_s() - look_s;
        }
        return now_s() - begin_s - looking_s;
    }
    caesura::CheckpointerReport report() const { return checkpointer_->report(); }

  private:
    const Workload& work_;
    caesura::device::EmulatedDevice device_;
    std::unique_ptr<caesura::Checkpointer> checkpointer_;
};

/// Every way once.
json round_of(const Workload& work, const CheckpointProfile& profile, const std::string& path) {
    const std::uint64_t total_bytes = work.bytes * work.count;
    json out;
    std::uint64_t link_bytes = 0;
    {
        Run memory(work, profile, {});
        out["memory"]["make_s"] = memory.make();
        link_bytes = memory.report().link_bytes;
        out["word"] = memory.report().word;
        out["memory"]["restore_s"] = memory.restore();
    }
    out["link_bytes"] = link_bytes;
    const std::uint64_t pieces = work.compressed ? work.count / 4 : work.count;
    out["by_hand"] =
        by_hand(path + ".plain", link_bytes / std::max<std::uint64_t>(pieces, 1), link_bytes);
    for (const char* way : {"roomy", "write_all", "tight"}) {
        const bool is_tight = std::string(way) == "tight";
        CheckpointerOptions options;
        options.store = value_of(CheckpointFile::create(path));
        options.host_bytes = is_tight ? 3 * profile.cache_bytes : 4 * total_bytes;
        options.write_all = std::string(way) == "write_all";
        Run run(work, profile, options);
        options.store.reset();
        json& here = out[way];
        here["make_s"] = run.make();
        here["written_before_save_bytes"] = run.report().written_bytes;
        here["save_s"] = run.save();
        here["store_wait_s"] = run.report().store_wait_s;
        here["peak_host_bytes"] = run.report().peak_host_bytes;
    }
    PlainFile(path, O_RDONLY).drop_from_memory();
    CheckpointerOptions options;
    options.store = value_of(CheckpointFile::open(path));
    options.host_bytes = 3 * profile.cache_bytes;
    Run later(work, profile, options);
    options.store.reset();
    PlainFile(path, O_RDONLY).drop_from_memory();  // opening has looked at it
    out["file"]["restore_s"] = later.restore();
    out["file"]["read_ahead"] = later.report().read_ahead;
    out["file"]["reads"] = later.report().reads;
    out["file"]["store_wait_s"] = later.report().store_wait_s;
    ::unlink(path.c_str());
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const Options options = parse(argc, argv);
        const std::string path =
            fmt::format("{}/caesura_spilling_{}.h5", options.directory, ::getpid());
        json workloads = json::array();
        for (const std::uint64_t bytes : {2'000'000u, 16'000'000u})
            for (const bool compressed : {false, true}) {
                const Workload work(bytes, compressed, options["--megabytes"] * 1'000'000);
                const CheckpointProfile profile =
                    machine_of(work, options["--cache-mb"] * 1'000'000);
                json rounds = json::array();
                for (std::uint64_t n = 0; n < options["--rounds"]; ++n)
                    rounds.push_back(round_of(work, profile, path));
                workloads.push_back({{"checkpoint_bytes", bytes},
                                     {"compressed", compressed},
                                     {"raw_bytes", work.bytes * work.count},
                                     {"cache_bytes", profile.cache_bytes},
                                     {"rounds", rounds}});
            }
        fmt::print("{}\n", json({{"emulated_device", true}, {"workloads", workloads}}).dump(1));
        return 0;
    } catch (const std::exception& error) {
        fmt::print(stderr, "spilling: {}\n", error.what());
        return 1;
    }
}
