// Entropy coders: a block's residual codes become one section of bytes and come back.
//
// Invariants:
//  - begin() to finish() append a section that open() reads back to the same codes, given the same
//  tables.
//  - The section's bytes do not depend on the instruction set.
//  - A decoder never reads outside its section, whatever the bytes; it reports a broken section by
//    open() or close(), and gives zeros meanwhile.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "caesura/codec.hpp"
#include "codec/codes.hpp"
#include "codec/output.hpp"

namespace caesura::codec {

/// What a frame says about its code section.
enum class Coding : std::uint8_t { rans = 0, huffman = 1, planes = 2 };

class EntropyEncoder : public CodeSink {
  public:
    /// Start a block, whose section is appended to `out` from now on; nobody else may write there
    /// before finish(). `tables` must outlive the block (planes: ignored). `statistics`: null, or
    /// counts to add to at finish(). `expected_bytes`: a guess, for the size of units.
    virtual void begin(std::uint64_t n_codes, const TableSet& tables, TableStatistics* statistics,
                       std::uint64_t expected_bytes, Output& out) = 0;
    /// After the last chunk: complete the section.
    /// @return  whether the section carries its own tables, because `tables` fitted the block
    ///          badly; then it decodes with any set.
    virtual bool finish() = 0;
    /// Off: `tables` are used however badly they fit. On at first.
    void set_drift_check(bool on) { drift_check_ = on; }

  protected:
    bool drift_check() const { return drift_check_; }

  private:
    bool drift_check_ = true;
};

class EntropyDecoder : public CodeSource {
  public:
    /// Errors: corrupt, no_space. `section` and `tables` must outlive the block.
    virtual Status open(std::span<const std::byte> section, std::uint64_t n_codes,
                        const TableSet& tables) = 0;
    /// After the last chunk: was everything as it should be? Errors: corrupt.
    virtual Status close() = 0;
};

std::unique_ptr<EntropyEncoder> make_entropy_encoder(Coding coding);
std::unique_ptr<EntropyDecoder> make_entropy_decoder(Coding coding);

}  // namespace caesura::codec
