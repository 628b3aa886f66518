// The sink of a dump whose blocks the service compresses and writes: the write lane hands it their
// values, or their stored bytes where they have been compressed before.
//
// Invariants:
//  - write() and finish() are the write lane's; taken(), result(), finished() and lost() the
//    channel's thread's. What both touch is atomic or under the mutex.
//  - A job that was given gets its state once more, by one of result(), finished() or lost(); or,
//    if the client writes by itself, by nobody: gives_back() says so, and the lane takes it back.
#pragma once

#include <condition_variable>
#include <mutex>

#include "transit/client/client.hpp"

namespace caesura::transit {

class RemoteSink final : public writer::DumpSink {
  public:
    RemoteSink(std::shared_ptr<Client> client, writer::SinkOrder order, run::DumpTask& task,
               writer::Lanes lanes);
    ~RemoteSink() override;

    Status write(std::span<run::Job* const> jobs) override;
    /// Blocks of the service are no other rank's to write.
    Result<std::optional<run::Placement>> place(const run::Job& job, std::span<std::byte> front,
                                                std::span<std::byte> back) override {
        if (here_) return here_->place(job, front, back);
        return Status(StatusCode::unsupported, "the service writes its blocks itself");
    }
    Status finish() override;
    std::shared_ptr<run::Overflow> overflow() override;
    bool gives_back() const override;
    void end_spill() override;
    const std::vector<store::ChunkRecord>& records() const override {
        return here_ ? here_->records() : records_;
    }
    std::vector<ledger::Extent> tails() const override { return here_ ? here_->tails() : tails_; }
    std::uint64_t used_end() const override { return here_ ? here_->used_end() : used_end_; }
    std::vector<writer::Finding> findings() const override;

    // ---- the channel's thread
    void taken(std::uint32_t job);
    void result(const BlockResult& result, std::span<const std::byte> stored);
    /// False: it is another dump's.
    bool finished(const Finished& finished);
    void found(const FoundInDump& found);
    void lost();

  private:
    Status begin();
    void write_here();
    Status describe_dump();
    void ask_to_finish();
    Status give(run::Job& job);
    Status give_stored(run::Job& job);
    /// What the message points to and has to live as long as it is under way.
    struct Values {
        std::vector<std::span<const std::byte>> spans;
        std::vector<base::Buffer> copies;
    };
    Status describe(const run::Job& job, Block& message, Values& values) const;
    void overflow_all(std::span<run::Job* const> jobs);
    void settle_open();

    const std::shared_ptr<Client> kept_;  ///< alive
    Client& client_;
    writer::SinkOrder order_;
    run::DumpTask& task_;
    const writer::Lanes lanes_;
    const std::uint64_t number_;  ///< of the dump, between client and service
    bool begun_ = false;
    /// The service does not take the dump, or its file: its blocks are compressed and written here,
    /// and the service stays for others. From then on its jobs and places are this sink's.
    std::unique_ptr<writer::RegionSink> here_;
    std::uint32_t n_given_ = 0;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint32_t sending_ = 0;  ///< messages whose values are still being sent
    std::uint64_t finish_request_ = 0;
    std::optional<Finished> finished_;
    std::vector<FoundInDump> found_;
    Status error_;  ///< of the channel's thread

    std::vector<store::ChunkRecord> records_;
    std::vector<ledger::Extent> tails_;
    std::uint64_t used_end_ = 0;
};

}  // namespace caesura::transit
