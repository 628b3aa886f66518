// Entropy coders: a block's residual codes become one section of bytes and come back.
//
// Invariants:
//  - begin() to finish() append a section that open() reads back to the same codes, given the same
//    tables.
//  - The section's bytes do not depend on the instruction set.
//  - A decoder never reads outside its section, whatever the bytes; it reports a broken section by
//    open() or close(), and gives zeros meanwhile.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "caesura/codec.hpp"
#include "codec/frame/output.hpp"
#include "codec/predictors/codes.hpp"

namespace caesura::codec {

/// What a frame says about its code section. 1 is k_huffman_stage.
enum class Coding : std::uint8_t { rans = 0, planes = 2, adaptive = 3 };
inline constexpr std::size_t k_codings = 4;

/// The number of a stage that was taken out of the format before version 1 was frozen. It stays
/// reserved, so that old frames, table sets and cd_values are refused by name.
inline constexpr unsigned k_huffman_stage = 1;
/// unsupported. @param what  names it: "table set".
Status huffman_is_unsupported(const char* what);

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
