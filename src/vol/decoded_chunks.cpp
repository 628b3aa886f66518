#include "vol/decoded_chunks.hpp"

namespace caesura::vol {

const std::byte* DecodedChunks::find(std::uint64_t version, std::uint64_t number) {
    const auto found = by_key_.find({version, number});
    if (found == by_key_.end()) return nullptr;
    chunks_.splice(chunks_.begin(), chunks_, found->second);
    return found->second->values.data();
}

const std::byte* DecodedChunks::keep(std::uint64_t version, std::uint64_t number,
                                     base::Buffer values) {
    bytes_ += values.size();
    while (bytes_ > k_most_bytes && !chunks_.empty()) {
        bytes_ -= chunks_.back().values.size();
        by_key_.erase(chunks_.back().key);
        chunks_.pop_back();
    }
    chunks_.push_front({{version, number}, std::move(values)});
    by_key_[chunks_.front().key] = chunks_.begin();
    return chunks_.front().values.data();
}

void DecodedChunks::clear() {
    by_key_.clear();
    chunks_.clear();
    bytes_ = 0;
}

}  // namespace caesura::vol
