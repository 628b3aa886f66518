// Chunks of a file as they were read last. A selection of less than a chunk costs the whole chunk,
// and a program that reads plane by plane asks for the same one many times.
//
// Invariants:
//  - A chunk is known by its dataset's `version`, which no other dataset has, and which is another
//    one as soon as anything of the dataset has changed.
//  - All of a file's together have at most k_most_bytes; the one that was asked for longest ago
//    goes first.
#pragma once

#include <list>
#include <map>

#include "base/buffer.hpp"

namespace caesura::vol {

class DecodedChunks {
  public:
    static constexpr std::uint64_t k_most_bytes = 64u << 20;

    /// Its values, dense; null: it is not here.
    const std::byte* find(std::uint64_t version, std::uint64_t number);
    /// @param values  of at most k_most_bytes. @return  where they lie from now on.
    const std::byte* keep(std::uint64_t version, std::uint64_t number, base::Buffer values);
    void clear();

  private:
    using Key = std::pair<std::uint64_t, std::uint64_t>;
    struct Chunk {
        Key key;
        base::Buffer values;
    };
    std::list<Chunk> chunks_;  ///< the one that was asked for last first
    std::map<Key, std::list<Chunk>::iterator> by_key_;
    std::uint64_t bytes_ = 0;
};

}  // namespace caesura::vol
