// What a client knows of objects that it puts to and gets from: which of them go through a chain at
// its end, and with what key.
//
// Invariants:
//  - What an id is called, of what type, shape, time and chain it is, stays as this client first
//    heard it: a service that says something else later is caught.
//  - Where only encrypted objects are wanted, no values of another one pass.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "lambda/chained_object.hpp"
#include "transit/object_messages.hpp"

namespace caesura::transit {

/// Any thread.
class ObjectChains {
  public:
    /// Null: its values go as they are.
    using Known = std::shared_ptr<const lambda::ChainedObject>;

    ObjectChains(lambda::Operator by, bool encrypted_only)
        : by_(std::move(by)), encrypted_only_(encrypted_only) {}

    /// Before it is created. Errors: invalid_argument (the chain; a key that is needed; an object
    /// that is not encrypted here).
    Status check(const CreateObject& order) const;
    /// It has been created.
    void created(std::uint64_t id, const CreateObject& order);
    /// The service has told of it. Errors: corrupt (it was another one before); invalid_argument
    /// (a chain that is unknown here).
    Status learn(const ObjectInfo& info);
    /// Likewise, of one that was found among others: only what can be caught is kept.
    Status learn_found(const ObjectInfo& info);
    void forget(std::uint64_t id);
    /// None: it is not known. Errors: invalid_argument (not encrypted, a key that is needed).
    Result<std::optional<Known>> find(std::uint64_t id) const;

  private:
    Result<Known> make(const ObjectChain& chain, const lambda::RegionView& object) const;

    const lambda::Operator by_;
    const bool encrypted_only_;
    mutable std::mutex mutex_;
    std::map<std::uint64_t, Known> known_;
};

/// The parts of a box in regions that a service has named.
/// Errors: insufficient_data (values are not there); corrupt (they overlap).
Result<std::vector<std::pair<Box, Box>>> parts_of(const Box& box,
                                                  const std::vector<RegionInfo>& regions,
                                                  const std::string& name);

}  // namespace caesura::transit
