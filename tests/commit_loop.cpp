// A program to be killed inside its commits, and to be looked at from outside meanwhile: one
// process makes small dumps as fast as they are committed. tests/openings.py starts it. It can kill
// itself, which hits a commit more surely than another process does.
//
// The first byte of a file that it shares says where it is: 1 while a commit changes what readers
// look at (from its journal's first byte to the last of its clearing), else 0. The 8 bytes behind
// it say how many dumps were reported as committed.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/forwarding_file.hpp"
#include "caesura/writer.hpp"
#include "store/region_format.hpp"

namespace {

using namespace caesura;

struct Shared {
    volatile char in_place;
    volatile std::uint64_t committed;
};
Shared* shared = nullptr;

class Marked final : public base::ForwardingFile {
  public:
    using ForwardingFile::ForwardingFile;
    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override {
        const bool journal = offset == store::k_journal_address;
        const bool clears = journal && bytes[0] == std::byte{0};
        if (journal && !clears) shared->in_place = 1;
        Status status = ForwardingFile::write_at(offset, bytes);
        if (clears) shared->in_place = 0;
        return status;
    }
    using ForwardingFile::write_at;
};

class MarkedFiles final : public base::FileSystem {
  public:
    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override {
        auto file = posix().open(path, mode);
        if (!file.ok()) return file.status();
        return std::unique_ptr<base::File>(std::make_unique<Marked>(std::move(*file)));
    }
    Status sync_directory_of(const std::string& path) override {
        return posix().sync_directory_of(path);
    }
};

template <class T>
T expect(Result<T> result) {
    if (result.ok()) return std::move(*result);
    std::fprintf(stderr, "commit_loop: %s\n", result.status().message().c_str());
    std::exit(1);
}

void expect(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "commit_loop: %s\n", status.message().c_str());
    std::exit(1);
}

/// Wait for the first commit after so many others, and so much longer. Then SIGKILL.
void kill_inside_a_commit(std::uint64_t after, std::chrono::nanoseconds later) {
    while (shared->committed < after || shared->in_place == 0) {
    }
    const auto until = std::chrono::steady_clock::now() + later;
    while (std::chrono::steady_clock::now() < until) {
    }
    ::kill(::getpid(), SIGKILL);
}

void share(const char* path) {
    const int file = ::open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ::ftruncate(file, sizeof(Shared)) != 0) std::exit(1);
    void* const at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) std::exit(1);
    shared = static_cast<Shared*>(at);
}

void run(const std::string& path, std::uint64_t dumps, bool durable) {
    MarkedFiles files;
    WriterOptions options;
    options.codec.name = "none";
    options.file_system = &files;
    options.durable = durable;
    options.idle_priority = false;
    options.calibration_path = "none";
    auto writer = expect(Writer::create(path, Communicator::self(), options));
    const Field field = expect(writer->define_field("n", float32, {16, 16, 16}, lossless()));
    std::vector<float> values(16 * 16 * 16);
    std::vector<std::uint64_t> dumped;  // iterations
    for (std::uint64_t n = 0; shared->committed < dumps; ++n) {
        auto iteration = writer->begin_iteration(n);
        // One dump is committed while the next one is written; others would become one commit.
        if (dumped.size() < shared->committed + 2) {
            std::fill(values.begin(), values.end(), static_cast<float>(n));
            auto dump = iteration.begin_dump(static_cast<double>(n));
            expect(dump.put(field, {{0, 0, 0}, {16, 16, 16}}, values.data()));
            dumped.push_back(n);
        }
        expect(iteration.end());
        while (shared->committed < dumped.size() && writer->committed() &&
               dumped[shared->committed] <= *writer->committed())
            shared->committed = shared->committed + 1;
        std::this_thread::yield();
    }
    expect(writer->close());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 5 && argc != 7) {
        std::fprintf(stderr, "commit_loop FILE SHARED DUMPS DURABLE [COMMITS NANOSECONDS]\n");
        return 2;
    }
    const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
    share(argv[2]);
    if (argc == 7)
        std::thread(kill_inside_a_commit, number(5), std::chrono::nanoseconds(number(6))).detach();
    run(argv[1], number(3), number(4) != 0);
    return 0;
}
