// Files that are open because somebody has asked about their datasets: the latest few stay so.
//
// Invariant: at most so many are kept, and those that somebody reads from just now. A service has
// a limited number of descriptors, and its clients need theirs. What is known of their chunks takes
// at most so many bytes, but for the file that was used last.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <string>

#include "read/source.hpp"

namespace caesura::transit {

/// One thread at a time.
class OpenSources {
  public:
    OpenSources(std::size_t most, std::uint64_t most_bytes)
        : most_(most), most_bytes_(most_bytes) {}
    /// Null: it is not open.
    std::shared_ptr<const read::Source> find(const std::string& key) {
        for (auto it = open_.begin(); it != open_.end(); ++it) {
            if (it->key != key) continue;
            open_.splice(open_.end(), open_, it);
            return it->source;
        }
        return nullptr;
    }
    /// In the place of one of this key.
    void add(const std::string& key, std::shared_ptr<const read::Source> source) {
        const auto there = std::find_if(open_.begin(), open_.end(),
                                        [&](const One& one) { return one.key == key; });
        if (there != open_.end()) close(there);
        const std::uint64_t bytes = bytes_of(*source);
        bytes_ += bytes;
        open_.push_back({key, std::move(source), bytes});
        while (open_.size() > most_ || (bytes_ > most_bytes_ && open_.size() > 1))
            close(open_.begin());
    }
    std::size_t size() const { return open_.size(); }
    std::uint64_t bytes() const { return bytes_; }

  private:
    struct One {
        std::string key;
        std::shared_ptr<const read::Source> source;
        std::uint64_t bytes = 0;
    };
    static std::uint64_t bytes_of(const read::Source& source) {
        std::uint64_t bytes = 0;
        for (const store::DatasetInfo& dataset : source.datasets())
            bytes += sizeof(dataset) + dataset.chunks.capacity() * sizeof(store::ChunkRecord);
        return bytes;
    }
    void close(std::list<One>::iterator one) {
        bytes_ -= one->bytes;
        open_.erase(one);
    }

    const std::size_t most_;
    const std::uint64_t most_bytes_;
    std::uint64_t bytes_ = 0;
    std::list<One> open_;  ///< latest last
};

}  // namespace caesura::transit
