// The other services of a group, whose memory this one uses: it is a client of each.
//
// Invariants:
//  - A service is connected to when it is first needed. One that was lost, or could not be reached,
//    is asked again after again_s.
//  - A region goes to the service that has fewest of ours, and if that has no room to the next.
//    What is on its way counts, so that one that is slow does not get all.
//  - An object that is not wanted any more is deleted wherever parts of it are. A service that
//  hears
//    that this one is gone deletes all of its own accord.
//  - Workers at idle priority use it, and take none of its locks, nor of its connections: they ask
//    by threads of its own, of each member four (decision D22). So one that is slow holds up only
//    who wants something of it.
//  - No call of a member has all the time in the world: one that does not answer is given up. An
//    analysis has the time of a slow one, by its bytes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "transit/client/objects.hpp"
#include "transit/objects/far_memory.hpp"

namespace caesura::transit {

class Members final : public FarMemory {
  public:
    using Connect = std::function<Result<std::unique_ptr<Objects>>()>;
    struct Member {
        std::string name;  ///< for people: its address
        Connect connect;
    };
    /// @param name  of this service: no other of the group has it.
    /// @param patience_s  for an answer; of an analysis, before the time that its bytes are given.
    explicit Members(std::string name, std::vector<Member> members = {}, double again_s = 5.0,
                     double patience_s = 60.0);
    ~Members() override;
    /// Before anything is put, by a thread of normal priority.
    void add(Member member);

    Result<std::shared_ptr<const FarValues>> put(std::uint64_t key, const CreateObject& object,
                                                 const Box& box,
                                                 std::span<const std::byte> values) override;
    void end() override;

    struct Counts {
        std::string name;
        std::uint64_t regions = 0, put_bytes = 0;    ///< that went there
        std::uint64_t got_bytes = 0;                 ///< that came back to be read here
        std::uint64_t passes = 0, passed_bytes = 0;  ///< analyses there, and what they have seen
    };
    std::vector<Counts> counts() const;

  private:
    struct Link;
    class Object;
    Result<std::shared_ptr<Objects>> connection(Link& link);
    Result<std::shared_ptr<Object>> object_at(Link& link, std::uint64_t key,
                                              const CreateObject& object);
    Result<std::shared_ptr<const FarValues>> put_at(Link& link, std::uint64_t key,
                                                    const CreateObject& object, const Box& box,
                                                    std::span<const std::byte> values);
    std::vector<Link*> by_load();

    const std::string name_;
    const double again_s_, patience_s_;
    std::vector<std::unique_ptr<Link>> links_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    /// An analysis at a member.
    struct Pass {
        double until_s;
        std::shared_ptr<Objects> objects;
    };
    std::uint64_t begin_pass(std::uint64_t bytes, std::shared_ptr<Objects> objects);
    void end_pass(std::uint64_t pass);
    void watch();
    std::uint64_t next_pass_ = 0;
    std::map<std::uint64_t, Pass> passes_;           ///< under way
    std::vector<std::shared_ptr<Objects>> retired_;  ///< for watch() to let go of
    bool ended_ = false;
    std::thread watcher_;  ///< from the first analysis on: gives up who is late
};

}  // namespace caesura::transit
