// Files that are open because somebody has asked about their datasets: the latest few stay so.
//
// Invariant: at most so many are kept, and those that somebody reads from just now. A service has
// a limited number of descriptors, and its clients need theirs.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "read/source.hpp"

namespace caesura::transit {

/// One thread at a time.
class OpenSources {
  public:
    explicit OpenSources(std::size_t most) : most_(most) {}
    /// Null: it is not open.
    std::shared_ptr<const read::Source> find(const std::string& key) {
        for (auto it = open_.begin(); it != open_.end(); ++it) {
            if (it->first != key) continue;
            open_.splice(open_.end(), open_, it);
            return it->second;
        }
        return nullptr;
    }
    /// In the place of one of this key.
    void add(const std::string& key, std::shared_ptr<const read::Source> source) {
        open_.remove_if([&](const auto& one) { return one.first == key; });
        open_.emplace_back(key, std::move(source));
        while (open_.size() > most_) open_.pop_front();
    }
    std::size_t size() const { return open_.size(); }

  private:
    const std::size_t most_;
    std::list<std::pair<std::string, std::shared_ptr<const read::Source>>> open_;  ///< latest last
};

}  // namespace caesura::transit
