// The client of a service: a Writer's Transport. It sends blocks and what is done to files, and
// hears what became of them.
//
// | the service is lost | OnLoss::fail                   | OnLoss::write_here                     |
// |---------------------|--------------------------------|----------------------------------------|
// | files               | every call is an error         | go on in this process                  |
// | blocks without an   | an error of the dump           | are compressed here and go to the end  |
// | end                 |                                | of the file                            |
// | values are kept     | until the service has read them| until their dump is durable            |
//
// Invariants:
//  - Lost is lost: what comes from the service afterwards is not heard.
//  - A service that is lost may still be at work. What is written here goes where it cannot write:
//    to the end of the file, or, what it might write too (a commit's metadata), only once it has
//    stopped for certain: its process is dead, or its lease has run out (wait_for_end).
//  - A child of fork() gets an error from every call: the connection is its parent's.
//  - Files and sinks keep their client alive: the Transport may have gone over to another one.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>

#include "transit/client/arena.hpp"
#include "transit/client/channel.hpp"
#include "transit/messages.hpp"
#include "writer/transport.hpp"

namespace caesura::transit {

enum class OnLoss : std::uint8_t { fail, write_here };

struct ClientOptions {
    writer::TransportOptions writer;
    OnLoss on_loss = OnLoss::fail;
    double weight = 1.0;
    bool share_memory = true;
    bool of_this_node = false;  ///< what it has written is lost with this node alone
    /// Beyond the lease, for clocks and for what the kernel of the service's node has begun.
    double margin_s = 2.0;
};

class RemoteFiles;
class RemoteSink;

/// What outlives a client where another one follows it.
struct ClientMemory {
    base::BufferPool pool;         ///< of overflowed blocks and of what is read
    std::unique_ptr<Arena> arena;  ///< null: values are sent
    bool may_make_arena = true;    ///< no: snapshots lie elsewhere already
};

class Client final : public writer::Transport,
                     public ChannelListener,
                     public std::enable_shared_from_this<Client> {
  public:
    static constexpr double k_greeting_s = 10.0;
    /// Waits for the service's welcome. Errors: the service's refusal; io (lost, no answer).
    static Result<std::shared_ptr<Client>> make(
        std::unique_ptr<Channel> channel, const ClientOptions& options,
        std::shared_ptr<ClientMemory> memory = std::make_shared<ClientMemory>());
    /// Says hello, and goes on. Nothing else is done with it before it has been welcomed.
    static std::shared_ptr<Client> begin(std::unique_ptr<Channel> channel,
                                         const ClientOptions& options,
                                         std::shared_ptr<ClientMemory> memory);
    /// Of a service that is away: lost from the beginning.
    static std::shared_ptr<Client> absent(const ClientOptions& options,
                                          std::shared_ptr<ClientMemory> memory, const Status& why);
    /// Nothing: it has not answered yet. Errors: as those of make().
    std::optional<Status> await_welcome(double at_most_s);
    ~Client() override;

    base::FileSystem& files(base::FileLocking asked) override;
    base::PageSource* pages() override { return memory_->arena.get(); }
    Result<std::unique_ptr<writer::DumpSink>> sink(writer::SinkOrder order, run::DumpTask& task,
                                                   writer::Lanes lanes) override;
    std::string conclude(std::span<const writer::Finding> findings,
                         std::uint64_t values) const override;
    bool is_lost() const override { return lost_.load(std::memory_order_acquire); }

    Status refusal(const std::string& path) const override;

    // ---- for RemoteFiles and RemoteSink
    /// The service does not take a dump of this file, or the file, which was another client's.
    /// @param path  as it knows it.
    void note_refusal(const std::string& path, const Status& why);
    /// An answer, and what came beside it.
    struct Reply {
        Answer answer;
        base::Buffer payload;
        std::optional<FoundObjects> found;  ///< to FindObjects
    };
    /// What becomes of a request that nobody waits for. On the channel's thread, or on that which
    /// asks; it must not wait, and may ask.
    using Then = std::function<void(Result<Reply>)>;
    /// Ask, and go on. @param payload  valid until `then`.
    void ask_later(std::uint64_t request, const ClientMessage& message,
                   std::vector<std::span<const std::byte>> payload, Then then);
    /// What the service has said of itself.
    Welcome welcome() const;
    std::uint64_t next_number() { return numbers_.fetch_add(1) + 1; }
    /// Ask, and wait for the answer. @param payload  valid during the call.
    /// Errors: the answer's; io (lost).
    Result<Reply> ask(std::uint64_t request, const ClientMessage& message,
                      std::span<const std::span<const std::byte>> payload = {});
    void tell(const ClientMessage& message, std::vector<std::span<const std::byte>> payload = {},
              std::function<void()> done = {});
    /// Wait until so many bytes may be under way. False: lost.
    bool spend(std::uint64_t bytes);
    const std::vector<std::string>& analyses() const { return options_.writer.analyses; }
    bool writes_here() const { return options_.on_loss == OnLoss::write_here; }
    bool is_of_this_node() const { return options_.of_this_node; }
    /// It is lost from now on, whatever it still says.
    void give_up(const Status& why);
    /// Lost: until the service does nothing any more.
    void wait_for_end();
    Status loss() const override;
    /// The same without what becomes of the work.
    Status cause() const;
    /// What the service reads without a copy; null: nothing.
    const Arena* arena() const { return shares_ ? memory_->arena.get() : nullptr; }
    base::BufferPool& pool() { return memory_->pool; }
    void enlist(std::uint64_t dump, RemoteSink& sink);
    void delist(std::uint64_t dump);

    void on_message(std::span<const std::byte> message,
                    std::span<const std::byte> payload) override;
    void on_lost(const Status& why, bool is_dead) override;
    void on_dead() override;

  private:
    Client(const ClientOptions& options, std::shared_ptr<ClientMemory> memory);
    void share_arena();
    Status gone(const std::string& why) const;
    void take(const Welcome& message, std::span<const std::byte> payload);
    void take(const Refusal& message, std::span<const std::byte> payload);
    void take(const ServiceHeartbeat&, std::span<const std::byte>) {}
    void take(const Draining&, std::span<const std::byte>) {}
    void take(const Answer& message, std::span<const std::byte> payload);
    void take(const Taken& message, std::span<const std::byte> payload);
    void take(const Credit& message, std::span<const std::byte> payload);
    void take(const BlockResult& message, std::span<const std::byte> payload);
    void take(const Finished& message, std::span<const std::byte> payload);
    void take(const FoundObjects& message, std::span<const std::byte> payload);
    void take(const FoundInDump& message, std::span<const std::byte> payload);
    bool answer_later(std::uint64_t request, Result<Reply> reply);
    void fail_later();
    void take(const PressedBlock&, std::span<const std::byte>) {}  // a Writer asks for none
    void take(const AnalysedRegion&, std::span<const std::byte>) {}

    ClientOptions options_;
    const pid_t owner_;
    const std::shared_ptr<ClientMemory> memory_;
    bool shares_ = false;                              ///< set before it is used
    std::vector<std::unique_ptr<RemoteFiles>> files_;  ///< by what is asked of locks
    std::atomic<std::uint64_t> numbers_{0};
    std::atomic<bool> lost_{false};

    mutable std::mutex mutex_;  ///< of all that follows; no thread at idle priority takes it
    std::condition_variable changed_;
    std::optional<Welcome> welcome_;
    std::map<std::uint64_t, std::optional<Reply>> asked_;  ///< by request
    struct Later {
        Then then;
        bool sent = false;                     ///< the payload is the caller's again
        std::optional<Result<Reply>> outcome;  ///< it has come before that
    };
    std::map<std::uint64_t, Later> later_;  ///< by request
    std::uint64_t credits_bytes_ = 0, most_credits_bytes_ = 0;
    Status why_lost_, cause_;
    std::map<std::string, Status> refusals_;  ///< by the file's path
    double over_s_ = 0.0;  ///< by the clock: from then on the service does nothing
    std::mutex sinks_mutex_;
    std::map<std::uint64_t, RemoteSink*> sinks_;  ///< by the dump's number between us two

    std::unique_ptr<Channel> channel_;  ///< goes first: it calls us
};

}  // namespace caesura::transit
