// One client of the service: its files, its dumps, and what it may have at once.
//
// Invariants:
//  - All of it but is_alive() and counters runs on the session's lane, in the order in which the
//    client sent: so a commit's write is behind the write before it, and a sync behind both.
//  - Nothing of a client is carried out once it is lost: what waits is given up, and each operation
//    looks first. (One that the kernel is in the middle of is finished by it.)
//  - Its memory in the service is what its credits allow, and one operation of a file beside it.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "base/clock.hpp"
#include "transit/service/object_desk.hpp"
#include "transit/service/pressed_work.hpp"
#include "transit/service/replies.hpp"
#include "transit/service/served_dump.hpp"

namespace caesura::transit {

/// What the operator allows a client.
struct Permit {
    std::shared_ptr<base::FileSystem> files;
    double weight = 1.0;                  ///< of its wish counts no more than this
    std::string owner = {};               ///< to whom its objects belong
    std::vector<std::string> reads = {};  ///< others whose objects it may read; "*": all
    bool shares_memory = false;           ///< it is a process of this machine whose user is trusted
    std::uint64_t credits_bytes = std::uint64_t{256} << 20;
};

/// Paths of Caesura's files that clients have open, over all sessions: the last one that goes has a
/// file recovered.
class OpenPaths {
  public:
    void add(const std::string& path);
    /// @return  was it the last? Then the caller calls recovered() when it has seen to the file.
    bool remove(const std::string& path);
    void recovered(const std::string& path);
    /// Has another than the caller, who has it open, it open, or does it recover it?
    bool is_anothers(const std::string& path) const;

  private:
    struct Users {
        int open = 0, recovering = 0;
    };
    mutable std::mutex mutex_;
    std::map<std::string, Users> users_;
};

/// What all sessions of a service use.
struct Workshop {
    Press& press;
    Dispatch& dispatch;
    Replies& replies;
    OpenPaths& paths;
    std::mutex& hdf5;  ///< whoever calls HDF5 holds it
    const ObjectTools& objects;
    /// By the clock: until then the port has seen to it who is alive. A service that was stopped
    /// for longer does nothing of what it had in hand, because its clients have given it up.
    const std::atomic<double>& valid_until_s;
    /// It ends before its clients do. They may go on by themselves, so their files are left alone.
    const std::atomic<bool>& ending;
    double lease_s = 10.0;
    Limits limits;
    bool recover = true;
};

/// For the service's status; read by any thread.
struct SessionCounters {
    std::atomic<std::uint64_t> blocks{0}, raw_bytes{0}, stored_bytes{0}, dumps{0};
    std::atomic<std::uint64_t> waiting_blocks{0}, outstanding_bytes{0};
};

struct AnalysedThere;

class Session final : public DumpListener, public std::enable_shared_from_this<Session> {
  public:
    Session(ClientId id, Permit permit, const Workshop& workshop, Lane& lane);

    /// Lane.
    void handle(const ClientMessage& message, base::Buffer payload);
    /// Any thread: from now on nothing is carried out.
    void lost() { alive_.store(false, std::memory_order_release); }
    /// Lane, after lost(): drops what it had, closes its files, recovers those that nobody else
    /// has.
    void end();

    Lane& lane() { return lane_; }
    bool is_alive() const override {
        return alive_.load(std::memory_order_acquire) &&
               base::Clock::steady().now_s() <= workshop_.valid_until_s.load();
    }
    const SessionCounters& counters() const { return counters_; }
    // Any thread.
    std::string application() const;
    double weight() const;
    double age_s() const { return base::Clock::steady().now_s() - began_s_; }

    void taken(ServedDump& dump, ServedBlock& block) override;
    void wrote(std::uint64_t bytes, double seconds) override {
        workshop_.dispatch.wrote(bytes, seconds);
    }
    void result(ServedDump& dump, BlockResult result, base::Buffer stored) override;
    void found(ServedDump& dump, const FoundInDump& found) override;
    void ended(ServedDump& dump, std::optional<Finished> finished) override;

  private:
    struct OpenedFile {
        std::string path;
        std::shared_ptr<base::File> file;
        std::unique_ptr<store::SharedFile> shared;  ///< from the first dump on
    };
    void take(const Hello& message, base::Buffer& payload);
    void take(const Share& message, base::Buffer& payload);
    void take(const Heartbeat&, base::Buffer&) {}
    void take(const Bye& message, base::Buffer& payload);
    void take(const OpenFile& message, base::Buffer& payload);
    void take(const CloseFile& message, base::Buffer& payload);
    void take(const WriteFile& message, base::Buffer& payload);
    void take(const ReadFile& message, base::Buffer& payload);
    void take(const SyncFile& message, base::Buffer& payload);
    void take(const TruncateFile& message, base::Buffer& payload);
    void take(const SizeOfFile& message, base::Buffer& payload);
    void take(const LockFile& message, base::Buffer& payload);
    void take(const UnlockFile& message, base::Buffer& payload);
    void take(const SyncDirectory& message, base::Buffer& payload);
    void take(const BeginDump& message, base::Buffer& payload);
    void take(const Block& message, base::Buffer& payload);
    void take(const StoredBlock& message, base::Buffer& payload);
    void take(const FinishDump& message, base::Buffer& payload);
    void take(const EndSpill& message, base::Buffer& payload);
    void take(const DropDump& message, base::Buffer& payload);
    void take(const DescribeDump& message, base::Buffer& payload);
    void take(const CreateObject& message, base::Buffer& payload);
    void take(const PutRegion& message, base::Buffer& payload);
    void take(const GetRegion& message, base::Buffer& payload);
    void take(const DeleteObject& message, base::Buffer& payload);
    void take(const FindObjects& message, base::Buffer& payload);
    void take(const RunFunction& message, base::Buffer& payload);
    void take(const RunPass& message, base::Buffer& payload);
    void take(const ListFunctions& message, base::Buffer& payload);
    void take(const PersistObjects& message, base::Buffer& payload);
    void take(const PressBlock& message, base::Buffer& payload);
    void take(const AnalyseRegion& message, base::Buffer& payload);
    void take(const ListVersions& message, base::Buffer& payload);

    void answer(std::uint64_t request, Status status, std::uint64_t number = 0,
                base::Buffer payload = {});
    /// The client has broken the protocol.
    void refuse(const Status& why);
    OpenedFile* file_of(std::uint64_t request, std::uint32_t file);
    /// Until this time it is tried again while another client of the service has the file.
    void lock(const LockFile& message, double until_s);
    ServedDump* dump_of(std::uint64_t dump);
    Status begin(const BeginDump& message);
    Status describe(const DescribeDump& message);
    ErrandHost errand_host();
    Result<std::vector<std::shared_ptr<const BlockCodec>>> codecs_of(const BeginDump& message);
    ServedBlock* add_block(std::uint64_t dump, std::uint32_t job, std::uint64_t bytes);
    Status fill(const Block& message, ServedBlock& block, const ServedDump& dump);
    Status press(const PressBlock& message, base::Buffer& payload);
    friend class PressedWork;
    void pressed(PressedWork& work);
    void analysed(std::uint64_t request, const AnalysedThere& done);
    void close(OpenedFile file);

    const ClientId id_;
    const Permit permit_;
    const Workshop workshop_;
    Lane& lane_;
    const double began_s_ = base::Clock::steady().now_s();
    std::atomic<bool> alive_{true};
    bool greeted_ = false;
    mutable std::mutex hello_mutex_;
    Hello hello_;
    std::shared_ptr<base::SharedMemory> arena_;
    base::BufferPool& pool_ = ObjectStore::pool();  // outlives answers that the port still has
    std::map<std::uint32_t, OpenedFile> files_;
    std::uint32_t next_file_ = 1;
    std::map<std::uint64_t, std::unique_ptr<ServedDump>> dumps_;
    std::map<std::uint64_t, std::unique_ptr<PressedWork>> pressed_;  ///< by request
    std::uint64_t outstanding_bytes_ = 0;
    std::size_t analysing_ = 0;  ///< regions of another service that are here
    SessionCounters counters_;
    ObjectDesk desk_;
    std::shared_ptr<Session> self_;  ///< while it is to live on and is no client's any more
};

}  // namespace caesura::transit
