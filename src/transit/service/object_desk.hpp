// A session's objects: what its client puts, gets, finds and has analysed.
//
// Invariants:
//  - All of it runs on the session's lane, but for what errands do on workers. They call nothing of
//    the store: a worker at idle priority must not hold its lock.
//  - A client has at most k_requests_limit requests under way, and puts and gets of at most his
//    credits each: what he asks for takes no more memory than that.
//  - Every request is answered once; credit for a put comes back when there is room for the next.
#pragma once

#include <algorithm>
#include <map>

#include "transit/service/persisting.hpp"
#include "transit/service/region_walk.hpp"

namespace caesura::transit {

/// What all sessions of a service use.
struct ObjectTools {
    ObjectStore& store;
    const lambda::Registry& functions;
    const lambda::Operator& by;               ///< of chains that the service applies
    const std::vector<std::string>& on_dump;  ///< calls, of every dump
    std::size_t strands = 1;                  ///< of an analysis
};

class ObjectDesk {
  public:
    struct Host {
        ErrandHost errands;
        Replies& replies;
        std::mutex& hdf5;  ///< whoever calls HDF5 holds it
        Dispatch& dispatch;
        Asker asker;
        std::uint64_t credits_bytes = 0;
    };
    ObjectDesk(const ObjectTools& tools, Host host) : tools_(tools), host_(std::move(host)) {}

    void take(const CreateObject& message);
    void take(const PutRegion& message, base::Buffer payload);
    void take(const GetRegion& message);
    void take(const DeleteObject& message);
    void take(const FindObjects& message);
    void take(const RunFunction& message);
    void take(const RunPass& message);
    void take(const ListFunctions& message);
    void take(const PersistObjects& message);
    /// The client is gone.
    void end();

    /// Of puts that have no credit back yet.
    std::uint64_t putting_bytes() const { return putting_bytes_; }
    const ObjectTools& tools() const { return tools_; }
    const Asker& asker() const { return host_.asker; }

  private:
    struct Putting;
    struct Analysing;
    /// Is there room for one more request? Else it is answered.
    bool admit(std::uint64_t request);
    void answer(std::uint64_t request, Status status, std::uint64_t number = 0,
                base::Buffer payload = {});
    void answer_bytes(std::uint64_t request, std::span<const std::byte> bytes);
    Result<std::shared_ptr<const Reading>> read(ObjectId object, const std::optional<Box>& box);
    Result<std::optional<lambda::ChainedObject>> chain_of(const CreateObject& message) const;
    void get_chained(const GetRegion& message, const std::shared_ptr<const Reading>& reading);
    void make_room(const std::shared_ptr<Putting>& put);
    void move_away(const std::shared_ptr<Putting>& put,
                   const std::shared_ptr<const ObjectStore::Victim>& victim);
    void sink(const std::shared_ptr<Putting>& put,
              const std::shared_ptr<const ObjectStore::Victim>& victim);
    void end_put(const Putting& put, const Status& status);
    void find_ranges(const std::shared_ptr<FindObjects>& query, std::vector<ObjectId> objects);
    void found(const FindObjects& query);
    void send_found(const FoundObjects& found);
    void run_by_itself(const std::shared_ptr<Analysing>& run);
    void begin_pass(const std::shared_ptr<Analysing>& run, std::vector<std::byte> from);
    void pass_here(const std::shared_ptr<Analysing>& run, std::shared_ptr<const Reading> reading);
    void pass_there(const std::shared_ptr<Analysing>& run, const Reading& part);
    void end_part(const std::shared_ptr<Analysing>& run, const Status& status);
    void merge_states(const std::shared_ptr<Analysing>& run);
    void end_run(const Analysing& run, const Result<lambda::Results>& results);

    const ObjectTools tools_;
    const Host host_;
    std::size_t open_ = 0;  ///< requests without an answer
    std::uint64_t putting_bytes_ = 0;
    std::uint64_t reading_bytes_ = 0;                                  ///< of gets under way
    std::map<std::uint64_t, std::shared_ptr<Persisting>> persisting_;  ///< by request
    static constexpr std::size_t k_persisting_limit = 4;
    static constexpr std::size_t k_kept_results_bytes = std::size_t{64} << 10;
};

}  // namespace caesura::transit
