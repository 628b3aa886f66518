// The emulated file system, seen from outside: programs run under libpfs.so, and the bucket's
// counters and clock say what was charged.
//
// Bounds on time are lower bounds, which no load on the machine can break.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "bucket.h"

namespace {

namespace fs = std::filesystem;
using Environment = std::map<std::string, std::string>;

uint64_t load(const uint64_t& counter) { return __atomic_load_n(&counter, __ATOMIC_RELAXED); }

// A directory inside and one outside the emulated file system, and a bucket of its own.
class Pfs : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "pfs_test_XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        base_ = pattern;
        fs::create_directory(root_ = base_ / "pfs");
        fs::create_directory(outside_ = base_ / "pfs-not");  // shares the root's name as a prefix
        const std::string name = base_.filename().string();
        setenv("PFS_BUCKET", name.c_str(), 1);
        bucket_ = pfs_bucket_open();
        ASSERT_NE(bucket_, nullptr);
        environment_ = {{"PFS_BUCKET", name},
                        {"PFS_ROOT", root_.string()},
                        {"PFS_BANDWIDTH", "10G"},
                        {"LD_PRELOAD", PFS_LIBRARY}};
    }

    void TearDown() override {
        pfs_bucket_remove();
        fs::remove_all(base_);
    }

    pid_t start(const std::vector<std::string>& command, const Environment& more = {}) const {
        std::vector<char*> arguments;
        for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
        arguments.push_back(nullptr);
        Environment all = environment_;
        for (const auto& [name, value] : more) all[name] = value;
        const pid_t pid = fork();
        if (pid == 0) {
            for (const auto& [name, value] : all) setenv(name.c_str(), value.c_str(), 1);
            execvp(arguments[0], arguments.data());
            _exit(126);
        }
        return pid;
    }

    static int finish(pid_t pid) {
        int status = 0;
        waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    pid_t start_probe(const fs::path& file, const std::string& call, uint64_t bytes, int count,
                      const Environment& more = {}) const {
        return start({PFS_PROBE, file.string(), call, std::to_string(bytes), std::to_string(count)},
                     more);
    }

    uint64_t charged_bytes() const {
        uint64_t total = 0;
        for (const uint64_t& bytes : bucket_->bytes) total += load(bytes);
        return total;
    }

    // Until the bucket has seen `bytes`; false if `pid` ended before that.
    bool wait_for_bytes(uint64_t bytes, pid_t pid) const {
        siginfo_t info{};
        while (charged_bytes() < bytes) {
            if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
                info.si_pid == pid) {
                return false;
            }
            sched_yield();
        }
        return true;
    }

    fs::path base_, root_, outside_;
    pfs_bucket* bucket_ = nullptr;
    Environment environment_;
};

// Goal: two writers share one link; together they get its bandwidth and not twice that.
TEST_F(Pfs, two_processes_share_the_bandwidth) {
    const Environment slow = {{"PFS_BANDWIDTH", "100M"}};
    const uint64_t begin_ns = pfs_now_ns();
    const pid_t a = start_probe(root_ / "a", "pwrite", 4'000'000, 5, slow);
    const pid_t b = start_probe(root_ / "b", "write", 20'000'000, 1, slow);
    EXPECT_EQ(finish(a), 0);
    EXPECT_EQ(finish(b), 0);
    EXPECT_GE(pfs_now_ns() - begin_ns, 380'000'000u);
    EXPECT_EQ(charged_bytes(), 40'000'000u);
}

// Goal: no call of the family slips through, each is charged once, and the bytes are really there.
// Goal: a process gets its own share and no more, however wide the link is.
TEST_F(Pfs, a_client_with_a_limit_gets_no_more_of_a_wide_link) {
    const Environment limited = {{"PFS_CLIENT_BANDWIDTH", "20M"}};
    const uint64_t begin_ns = pfs_now_ns();
    EXPECT_EQ(finish(start_probe(root_ / "a", "pwrite", 2'000'000, 2, limited)), 0);
    EXPECT_GE(pfs_now_ns() - begin_ns, 200'000'000u);
    EXPECT_EQ(finish(start_probe(root_ / "a", "pwrite", 1, 1, {{"PFS_CLIENT_BANDWIDTH", "no"}})),
              127);
}

TEST_F(Pfs, every_call_of_the_family_is_charged_once) {
    const uint64_t bytes = 3'000'001;  // odd, and more than one slice
    for (int kind = PFS_WRITE; kind <= PFS_PWRITEV64V2; ++kind) {
        const std::string call = pfs_kind_name(static_cast<pfs_kind>(kind));
        SCOPED_TRACE(call);
        const uint64_t before = charged_bytes();
        ASSERT_EQ(finish(start_probe(root_ / call, call, bytes, 2)), 0);
        EXPECT_EQ(load(bucket_->calls[kind]), 2u);
        EXPECT_EQ(load(bucket_->bytes[kind]), 2 * bytes);
        EXPECT_EQ(charged_bytes() - before, 2 * bytes);
        std::ifstream in(root_ / call, std::ios::binary);
        const std::string content((std::istreambuf_iterator<char>(in)), {});
        ASSERT_EQ(content.size(), 2 * bytes);
        for (size_t i = 0; i < content.size(); ++i) {
            ASSERT_EQ(static_cast<unsigned char>(content[i]), i % 251) << "at byte " << i;
        }
    }
}

// Goal: only what lies under a root is slow: not a neighbour whose name begins alike, not a pipe.
TEST_F(Pfs, what_lies_outside_the_root_is_free) {
    const Environment slow = {{"PFS_BANDWIDTH", "1"}};  // a single byte charged would take a second
    ASSERT_EQ(finish(start_probe(outside_ / "a", "pwrite", 1'000'000, 3, slow)), 0);
    ASSERT_EQ(finish(start_probe("/dev/null", "write", 1'000'000, 3, slow)), 0);
    EXPECT_EQ(charged_bytes(), 0u);
    EXPECT_EQ(load(bucket_->next_free_ns), 0u);
}

// Goal: several roots, and a path that reaches one of them through a symbolic link.
TEST_F(Pfs, roots_are_a_list_and_links_lead_into_them) {
    fs::create_directory(base_ / "second");
    fs::create_directory_symlink(base_ / "second", outside_ / "link");
    const Environment two = {{"PFS_ROOT", root_.string() + ":" + (base_ / "second").string()}};
    ASSERT_EQ(finish(start_probe(outside_ / "link" / "a", "write", 1000, 1, two)), 0);
    ASSERT_EQ(finish(start_probe(root_ / "b", "write", 100, 1, two)), 0);
    EXPECT_EQ(charged_bytes(), 1100u);
}

// Goal: a writer killed in the middle leaves at most one slice of time behind, and no lock.
TEST_F(Pfs, a_killed_process_does_not_block_the_others) {
    const Environment slow = {{"PFS_BANDWIDTH", "4M"}};  // 64 MB would take 16 s
    const pid_t victim = start_probe(root_ / "a", "pwrite", 64'000'000, 1, slow);
    ASSERT_TRUE(wait_for_bytes(1, victim));
    kill(victim, SIGKILL);
    ASSERT_EQ(finish(victim), 128 + SIGKILL);
    const uint64_t slice_ns = 1'000'000'000ull * (1 << 20) / 4'000'000;
    EXPECT_LE(load(bucket_->next_free_ns), pfs_now_ns() + slice_ns);
    EXPECT_EQ(finish(start_probe(root_ / "b", "write", 1, 1)), 0);
    EXPECT_LE(charged_bytes(), 64'000'000u / 2);
}

// Goal: a small write does not wait for the whole of a large one that came first.
TEST_F(Pfs, a_small_write_passes_between_the_slices_of_a_large_one) {
    const Environment slow = {{"PFS_BANDWIDTH", "8M"}};
    const pid_t large = start_probe(root_ / "a", "pwrite", 64 << 20, 1, slow);  // 8 s
    ASSERT_TRUE(wait_for_bytes(1, large));
    ASSERT_EQ(finish(start_probe(root_ / "b", "write", 1000, 1, slow)), 0);
    EXPECT_LT(charged_bytes(), 64u << 20);
    int status = 0;
    EXPECT_EQ(waitpid(large, &status, WNOHANG), 0) << "the large write was over before the small";
    kill(large, SIGKILL);
    finish(large);
}

// Goal: fsync costs nothing by default, since the emulated system has stored what was written.
TEST_F(Pfs, fsync_is_skipped_unless_asked_for) {
    ASSERT_EQ(finish(start_probe(root_ / "a", "fsync", 0, 3)), 0);
    ASSERT_EQ(finish(start_probe(root_ / "a", "fdatasync", 0, 2)), 0);
    EXPECT_EQ(load(bucket_->syncs_skipped), 5u);
    ASSERT_EQ(finish(start_probe(root_ / "a", "fsync", 0, 4, {{"PFS_FSYNC", "pass"}})), 0);
    EXPECT_EQ(load(bucket_->syncs_passed), 4u);
    ASSERT_EQ(finish(start_probe(outside_ / "a", "fsync", 0, 4)), 0);
    EXPECT_EQ(load(bucket_->syncs_skipped), 5u);
}

// Goal: each call takes at least the latency, however few its bytes are.
TEST_F(Pfs, every_call_takes_the_latency) {
    const uint64_t begin_ns = pfs_now_ns();
    ASSERT_EQ(finish(start_probe(root_ / "a", "write", 1, 20, {{"PFS_LATENCY", "0.005"}})), 0);
    EXPECT_GE(pfs_now_ns() - begin_ns, 100'000'000u);
}

// Goal: a setting that makes no sense ends the program; nothing runs uncharged by mistake.
TEST_F(Pfs, nonsense_settings_are_refused) {
    for (const Environment& wrong :
         {Environment{{"PFS_BANDWIDTH", "fast"}}, Environment{{"PFS_BANDWIDTH", "0"}},
          Environment{{"PFS_BANDWIDTH", "-5M"}}, Environment{{"PFS_LATENCY", "1 s"}},
          Environment{{"PFS_FSYNC", "maybe"}}}) {
        SCOPED_TRACE(wrong.begin()->first + "=" + wrong.begin()->second);
        EXPECT_EQ(finish(start_probe(root_ / "a", "write", 1, 1, wrong)), 127);
    }
    EXPECT_EQ(charged_bytes(), 0u);
}

TEST(PfsNumber, takes_exponents_and_suffixes) {
    EXPECT_EQ(pfs_parse_number("150e6"), 150e6);
    EXPECT_EQ(pfs_parse_number("150M"), 150e6);
    EXPECT_EQ(pfs_parse_number("0.15G"), 0.15e9);
    EXPECT_EQ(pfs_parse_number("7k"), 7000);
    for (const char* wrong : {"", "M", "1X", "1MB", "-1", "1 M", "nan"}) {
        EXPECT_LT(pfs_parse_number(wrong), 0) << wrong;
    }
    EXPECT_LT(pfs_parse_number(nullptr), 0);
}

#ifdef PFS_MPI_PROBE
class PfsUnderMpi : public Pfs {
  protected:
    static constexpr uint64_t k_bytes = 1 << 20;  // per rank

    // Two ranks of the probe; how many bytes were charged, or 0 after a failure.
    uint64_t run(const std::string& mode, const std::string& io, const Environment& more = {}) {
        const uint64_t before = charged_bytes();
        Environment environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                   {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                   {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                   {"OMPI_MCA_mpi_yield_when_idle", "1"},
                                   {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"}};
        if (!io.empty()) environment["OMPI_MCA_io"] = io;
        environment.insert(more.begin(), more.end());
        const int code = finish(start({PFS_MPIEXEC, "-n", "2", PFS_MPI_PROBE, mode,
                                       (root_ / mode).string(), std::to_string(k_bytes)},
                                      environment));
        EXPECT_EQ(code, 0);
        return code == 0 ? charged_bytes() - before : 0;
    }
};

// Goal: what the synchronous baselines write is charged, in both MPI-IO implementations.
TEST_F(PfsUnderMpi, collective_writes_are_charged_in_full) {
    for (const std::string io : {"ompio", "^ompio"}) {
        SCOPED_TRACE("OMPI_MCA_io=" + io);
        EXPECT_EQ(run("mpiio", io), 2 * k_bytes);
        EXPECT_EQ(fs::file_size(root_ / "mpiio"), 2 * k_bytes);
        const uint64_t hdf5_bytes = run("hdf5", io);
        EXPECT_GE(hdf5_bytes, 2 * k_bytes);
        EXPECT_LE(hdf5_bytes, 2 * k_bytes + 65536) << "metadata is a few KB";
        const uint64_t filtered_bytes = run("filter", io);
        EXPECT_GT(filtered_bytes, 0u);
        EXPECT_LT(filtered_bytes, 2 * k_bytes);
    }
}

// Goal: messages share the link when asked to, counted once on the sender, and only then.
TEST_F(PfsUnderMpi, messages_are_charged_on_request) {
    const Environment both = {{"LD_PRELOAD", std::string(PFS_LIBRARY) + ":" + PFS_MPI_LIBRARY}};
    Environment charged = both;
    charged["PFS_CHARGE_MPI"] = "1";
    EXPECT_EQ(run("message", "", both), 0u) << "not asked for";
    run("message", "", charged);
    EXPECT_EQ(load(bucket_->bytes[PFS_MPI_POINT_TO_POINT]), 2 * 2 * k_bytes);
    EXPECT_EQ(load(bucket_->calls[PFS_MPI_POINT_TO_POINT]), 4u);
    EXPECT_EQ(load(bucket_->bytes[PFS_MPI_COLLECTIVE]), 2 * k_bytes / 2);
}

// Goal: a receiver cannot have a message before the link has passed it.
TEST_F(PfsUnderMpi, messages_take_the_time_of_the_link) {
    const Environment slow = {{"LD_PRELOAD", std::string(PFS_LIBRARY) + ":" + PFS_MPI_LIBRARY},
                              {"PFS_CHARGE_MPI", "1"},
                              {"PFS_BANDWIDTH", "50M"}};
    const uint64_t begin_ns = pfs_now_ns();
    const uint64_t bytes = run("message", "", slow);
    EXPECT_GE(pfs_now_ns() - begin_ns, bytes * 1'000'000'000 / 50'000'000);
}
#endif

}  // namespace
