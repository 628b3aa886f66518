// Objects of a service: put values, get them, find them, have them analysed where they are.
// docs/reference/objects.md says what objects are.
//
// intro      Connect to a service. A container is a file that Writers write, or any name.
// simple     connect, create, put, get, find, run.
// advanced   tickets, tags, value ranges, boxes.
//
//     auto objects = transit::Objects::connect("service:unix:/run/user/1000/caesura.sock");
//     auto found = (*objects)->find({.container = "/scratch/me/run.h5", .name = "*density"});
//     auto stats = (*objects)->run(found->objects[0].id, "stats").wait();
//
// Invariants:
//  - Calls may come from any threads. None waits but wait(), create, remove, find and functions,
//    put and run where the service has as much of this client as it takes, the first put or get of
//    an object that this client has not created, and gets of an object whose chain is the client's:
//    that runs on the caller's thread, in put as well.
//  - Memory that is given to put or get is the call's until its ticket is done. A ticket may be
//    dropped; the call goes on.
// Errors: io (the service is gone), besides what stands beside each call.
// Source: S4 §III-A.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>

#include "lambda/results.hpp"
#include "transit/client/client.hpp"
#include "transit/client/object_chains.hpp"

namespace caesura::transit {

using ObjectNumber = std::uint64_t;

/// Something that goes on in the service.
class Ticket {
  public:
    /// Until it is done. Any number of times, any thread.
    Status wait() const;
    bool is_done() const;
    /// At most so long. @return  is it done?
    bool wait_for(double seconds) const;

  protected:
    friend class Objects;
    struct State {
        mutable std::mutex mutex;
        mutable std::condition_variable changed;
        std::size_t left = 1;            ///< pieces
        Status status;                   ///< the first error
        std::vector<std::byte> payload;  ///< its own: a ticket may outlive the client and its pool
        void end(const Status& of_piece, base::Buffer came = {});
    };
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

/// An analysis that runs.
class RunTicket : private Ticket {
  public:
    Result<lambda::Results> wait() const;
    using Ticket::is_done;

  private:
    friend class Objects;
};

/// What this client encrypts with: the transform aead of chains that it applies itself.
struct Encryption {
    std::string key_file = {};  ///< 32 bytes, which its owner alone may read; empty: no key
    bool only = false;          ///< put and get nothing but what is encrypted by a client
};

class Objects {
  public:
    /// @param service  "service:ADDRESS", as WriterOptions::transport.
    /// Errors: invalid_argument (the address, the key), io; the service's refusal.
    static Result<std::unique_ptr<Objects>> connect(const std::string& service,
                                                    const std::string& application = "objects",
                                                    const Encryption& encryption = {});
    /// Over a connection that is there.
    explicit Objects(std::shared_ptr<Client> client, lambda::Operator by = {},
                     bool encrypted_only = false);
    /// Waits for what is under way.
    ~Objects();
    /// How long a call waits for its answer before it gives the service up; 0, the default: for
    /// ever, as the connection says whether it lives. Tickets are not calls.
    void set_patience(double patience_s) { patience_s_.store(patience_s); }
    Objects(const Objects&) = delete;
    Objects& operator=(const Objects&) = delete;

    /// What an object is to be; see CreateObject.
    struct NewObject {
        std::string container, name;
        DType dtype = float32;
        Shape shape;
        double time = 0.0;
        ErrorBound bound = {};
        bool keep = false;
        bool guest = false;
        std::vector<Tag> tags = {};
        /// What regions go through; with one the bound is lossless. See docs/reference/objects.md.
        ObjectChain chain = {};
    };
    /// Errors: invalid_argument (another one of this name; a field; no such transform, naming what
    /// there is; a key that is needed), no_space.
    Result<ObjectNumber> create(const NewObject& object);
    /// @param values  dense, C order. Errors: invalid_argument (object, type, box, a region that is
    /// there), no_space; a key that is needed.
    template <class T>
    Ticket put(ObjectNumber object, const Box& box, const T* values) {
        static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
        return put_bytes(object, box, values, std::is_same_v<T, float> ? float32 : float64);
    }
    Ticket put_bytes(ObjectNumber object, const Box& box, const void* values, DType dtype);
    /// @param values  as many as the box has, of the object's type.
    /// Errors: invalid_argument (object, box, type; a key that is missing or another one, naming
    /// object and region), insufficient_data (values are not there), corrupt (encrypted bytes that
    /// have changed, likewise).
    template <class T>
    Ticket get(ObjectNumber object, const Box& box, T* values) {
        static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
        return get_bytes(object, box, values, std::is_same_v<T, float> ? float32 : float64);
    }
    Ticket get_bytes(ObjectNumber object, const Box& box, void* values, DType dtype);
    /// Of what was put. Errors: invalid_argument (no such object, or a dump's).
    Status remove(ObjectNumber object);

    struct Query {
        std::string container = {}, name = {};  ///< name with * and ?; empty: any
        std::vector<Tag> tags = {};
        std::optional<Range> times = {}, values = {};
        /// List them; none of an object of which more are found than an answer holds.
        bool regions = false;
    };
    struct Found {
        std::vector<ObjectInfo> objects;
        std::uint64_t regions_skipped = 0, regions_kept = 0;  ///< by Query::values
    };
    /// Errors: invalid_argument; io and others of a file that cannot be read.
    Result<Found> find(const Query& query);

    /// @param call  "histogram(bins=64)". @param box  none: all of the object.
    /// Errors: as get; what the call says.
    RunTicket run(ObjectNumber object, const std::string& call, std::optional<Box> box = {});
    /// One pass of an analysis over regions of a guest. Returns at once.
    /// @param then  on the channel's thread, or on this one: the state behind it.
    void run_pass(ObjectNumber object, std::vector<Box> boxes, std::vector<std::byte> state,
                  std::function<void(Result<std::vector<std::byte>>)> then);
    /// Nobody waits for it.
    void remove_later(ObjectNumber object);
    /// What is to be persisted: objects, or all that were put into a container.
    struct Persist {
        std::string path = {};  ///< of a new file, absolute, in the client's directories
        std::string container = {};
        std::vector<ObjectNumber> objects = {};
        CodecSpec codec = {};
        std::optional<ErrorBound> bound = {};  ///< as NewObject::bound; none: each object's own
    };
    /// Done once the file has committed them, on the disk. It has a standard dataset for each,
    /// /data/0/meshes/NAME; docs/reference/objects.md says with what attributes. From then on their
    /// regions may leave memory for it. After an error they are as before, and of the file at most
    /// the name is left.
    /// Errors: invalid_argument (no such object of the caller's, or one that was not put; a name
    /// that openPMD has not; the path, the codec, the bound; a file that has something in it),
    /// insufficient_data (values have not been put), no_space, io (the file), unsupported (the
    /// codec is not there).
    Ticket persist(const Persist& what);
    /// What can be run, as text.
    Result<std::string> functions();

    Client& client() { return *client_; }

  private:
    struct Piece;
    void pump();
    void get_piece(const std::shared_ptr<Piece>& piece);
    Result<Client::Reply> ask(std::uint64_t request, const ClientMessage& message);
    void enter();
    void begin_unbounded();
    void end_unbounded();
    void begin(std::uint64_t request, const ClientMessage& message,
               std::vector<std::span<const std::byte>> payload,
               const std::shared_ptr<Ticket::State>& state, std::shared_ptr<void> held = {});
    Ticket send_region(PutRegion message, std::span<const std::byte> payload,
                       std::shared_ptr<void> held = {});
    static Ticket ended(const Status& status);
    void read(std::vector<std::shared_ptr<Piece>> pieces);
    Ticket read_chained(ObjectNumber object, const Box& box, std::uint64_t most_bytes);
    // chained_objects.cpp
    Result<ObjectChains::Known> chain_of(ObjectNumber object);
    Result<ObjectInfo> ask_about(ObjectNumber object, bool regions);
    Ticket put_chained(const lambda::ChainedObject& chain, const Box& box, const void* values,
                       DType dtype);
    Status get_chained(const lambda::ChainedObject& chain, const Box& box, void* values,
                       DType dtype);

    std::atomic<double> patience_s_{0.0};
    std::shared_ptr<Client> client_;
    ObjectChains chains_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t under_way_ = 0;  ///< calls whose outcome is to come
    std::size_t sent_ = 0;       ///< of these, what the service has been asked
    std::uint64_t reading_bytes_ = 0;
    std::deque<std::shared_ptr<Piece>> to_read_;
};

}  // namespace caesura::transit
