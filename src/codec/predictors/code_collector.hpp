// Codes kept as they come, for looking at a piece's.
#pragma once

#include <vector>

#include "codec/predictors/codes.hpp"

namespace caesura::codec {

class CodeCollector final : public CodeSink {
  public:
    void clear() { codes_.clear(); }
    void put_chunk(const std::uint32_t* codes, std::size_t n) override {
        codes_.insert(codes_.end(), codes, codes + n);
    }
    const std::vector<std::uint32_t>& codes() const { return codes_; }

  private:
    std::vector<std::uint32_t> codes_;
};

}  // namespace caesura::codec
