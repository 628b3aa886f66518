// HDF5's object header (version 2) on disk: its messages, in a first piece and continuations.
// HDF5 File Format Specification 3.0, IV.A.1.b and IV.A.2.
#pragma once

#include <functional>
#include <map>

#include "store/overlay.hpp"

namespace caesura::store {

/// Reads so many bytes at an address of the file, as it will be.
using ReadAt = std::function<Status(std::uint64_t, std::span<std::byte>)>;

class ObjectHeader {
  public:
    /// Errors: internal (not a valid header), of `read_at`.
    static Result<ObjectHeader> read(const ReadAt& read_at, std::uint64_t address);

    struct Message {
        unsigned type = 0;
        std::size_t piece = 0;  ///< in pieces()
        std::size_t begin = 0;  ///< of its body, in the piece
        std::size_t bytes = 0;  ///< of its body
    };
    const std::vector<Message>& messages() const { return messages_; }
    std::span<std::byte> body(const Message& message);
    /// The first one and its continuations.
    const std::vector<Extent>& pieces() const { return pieces_; }
    /// With the checksums that belong to them.
    void write(Overlay& overlay);

    /// Let the first piece keep its place and size, and have one continuation or none. Messages
    /// keep their order. Afterwards messages() is empty. @return  false: the first piece has no
    /// room to name a continuation, and nothing has changed.
    bool gather();
    /// How long the continuation of the gathered header is; 0: all fits into the first piece.
    std::uint64_t continuation_bytes() const;
    void place_continuation(std::uint64_t address);

  private:
    static constexpr std::size_t k_most_piece_bytes = std::size_t{64} << 20, k_most_pieces = 65536;
    struct Wanted {
        std::uint64_t address = 0;
        std::uint64_t bytes = 0;  // signature and checksum included
    };
    Status read_piece(const ReadAt& read_at);

    std::vector<Wanted> wanted_;  // pieces that are known
    std::vector<Extent> pieces_;  // those that were read
    std::vector<Message> messages_;
    std::size_t first_message_ = 0;  // in the first piece
    std::size_t prefix_bytes_ = 0;   // of a message
    std::size_t continuation_ = 0;   // body of that message in the first piece, once gathered
};

/// In the object header at `address`, which lies wholly in `overlay`, replace every filter number
/// that is a key of `numbers` by its value. Errors: internal (not a valid header).
Status rename_filters(Overlay& overlay, std::uint64_t address,
                      const std::map<unsigned, unsigned>& numbers);

/// HDF5's metadata checksum (Bob Jenkins' lookup3, little-endian, initial value 0).
std::uint32_t metadata_checksum(std::span<const std::byte> bytes);

}  // namespace caesura::store
