// One dump of one client in the service: its blocks on their way from values to the file.
//
// Invariants:
//  - Belongs to the session's lane, but for what a worker does inside ServedBlock::compute().
//  - It lives until its client has been told how it ended (or is gone) and no worker has one of its
//    blocks.
//  - Every block is answered once. Results come before the Finished.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "run/encode.hpp"
#include "transit/messages.hpp"
#include "transit/service/dispatch.hpp"
#include "transit/service/dump_notes.hpp"
#include "transit/service/lane.hpp"
#include "writer/region_sink.hpp"

namespace caesura::transit {

class ServedDump;

/// A block from its message to its result.
class ServedBlock final : public Encoding, public DoneWork {
  public:
    ServedBlock(ServedDump& dump, Lane& lane, base::BufferPool& pool)
        : Encoding(pool), dump_(dump), lane_(lane) {}

    void take_up() override;

    std::uint32_t number = 0;
    std::uint64_t raw_bytes = 0;  ///< of the client's credits
    base::Buffer payload;         ///< values that came with the message
    bool compressed_before = false;
    DumpNotes::Seen seen;

  protected:
    bool is_wanted() const override;
    void look() override;
    void ready() override;

  private:
    ServedDump& dump_;
    Lane& lane_;
};

/// What a dump tells its session; on the lane.
class DumpListener {
  public:
    virtual ~DumpListener() = default;
    virtual bool is_alive() const = 0;  ///< any thread
    virtual void taken(ServedDump& dump, ServedBlock& block) = 0;
    /// So long it took to write so much.
    virtual void wrote(std::uint64_t bytes, double seconds) = 0;
    virtual void result(ServedDump& dump, BlockResult result, base::Buffer stored) = 0;
    /// What it has found that the client wants; before it has ended.
    virtual void found(ServedDump& dump, const FoundInDump& found) = 0;
    /// All is answered: the listener may free the dump.
    virtual void ended(ServedDump& dump, std::optional<Finished> finished) = 0;
};

class ServedDump {
  public:
    /// @param file  of the client, outlives the dump.
    ServedDump(BeginDump order, std::vector<std::shared_ptr<const BlockCodec>> codecs,
               store::SharedFile& file, DumpListener& listener);

    const BeginDump& order() const { return order_; }
    const BlockCodec* codec(std::uint32_t number) const { return codecs_[number].get(); }
    /// Of the steady clock: when all of it should be written. It is no promise of the service.
    double due_s() const { return due_s_; }
    bool has_blocks() const { return n_came_ > 0; }
    /// Before its first block: what is to be noted of them.
    void take_notes(std::unique_ptr<DumpNotes> notes) { notes_ = std::move(notes); }
    /// A block comes. Null: it has come before, or the dump is finished or dropped.
    ServedBlock* add(std::uint32_t number, Lane& lane, base::BufferPool& pool);
    void finish(std::uint64_t request);
    void end_spill() { sink_.end_spill(); }
    /// Nothing of it is written from now on.
    void drop();
    bool is_dropped() const { return dropped_; }

  private:
    friend class ServedBlock;
    void take_up(ServedBlock& block);
    void write(ServedBlock& block);
    void end_if_over();

    BeginDump order_;
    const double due_s_;
    std::vector<std::shared_ptr<const BlockCodec>> codecs_;
    DumpListener& listener_;
    writer::RegionSink sink_;
    std::vector<std::unique_ptr<ServedBlock>> blocks_;  ///< by number; null again once answered
    std::vector<bool> came_;
    std::uint32_t open_ = 0;  ///< come and not answered
    std::uint32_t n_came_ = 0;
    std::unique_ptr<DumpNotes> notes_;  ///< null: it was not described
    std::optional<std::uint64_t> finish_request_;
    Status error_;        ///< the first
    bool ended_ = false;  ///< it is told once
    bool dropped_ = false;
};

}  // namespace caesura::transit
