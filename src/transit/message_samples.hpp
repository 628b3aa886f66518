// Messages for tests: one of each kind, the same for ever, and random ones that are valid.
#pragma once

#include <random>

#include "transit/messages.hpp"

namespace caesura::transit {

/// Small, one of each kind, in the order of the variants; no field has its default if it can help
/// it. Their bytes are pinned.
std::vector<ClientMessage> client_samples();
std::vector<ServiceMessage> service_samples();

/// Those about objects, in their order (object_samples.cpp).
void add_object_samples(std::vector<ClientMessage>& to);
void add_object_samples(std::vector<ServiceMessage>& to);

/// A table set and statistics as a codec makes them; the bytes may change with the codec.
TableSet trained_tables();
std::vector<std::byte> counted_statistics();

class RandomMessages {
  public:
    explicit RandomMessages(std::uint64_t seed) : random_(seed) {}
    /// @param kind  index into the variant.
    ClientMessage client(std::size_t kind);
    ServiceMessage service(std::size_t kind);
    Block block();
    BeginDump begin_dump();
    /// What the service would answer: records and tails in the dump's places.
    Finished finished(const BeginDump& dump);

    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    bool coin() { return below(2) == 1; }

  private:
    /// Any number; small ones, and those at the ends, more often.
    std::uint64_t any();
    std::uint64_t offset() { return coin() ? below(100000) : any() & (k_offset_limit >> 1); }
    std::uint32_t any32() { return static_cast<std::uint32_t>(any()); }
    double seconds() { return static_cast<double>(below(1000000)) * 1e-6; }
    std::string text(std::size_t limit);
    std::string line(std::size_t limit);
    Status status();
    ErrorBound bound(bool of_part);
    Piece piece(const Block& block);
    void add_parts(Block& block);
    void fill_places(BeginDump& dump);
    DatasetCodec codec();
    ClientMessage file_message(std::size_t kind);
    PressBlock press();
    PressedBlock pressed();
    BlockResult result();
    std::vector<Tag> tags();
    ObjectInfo object();
    /// @param kind  counted from the first about objects.
    PersistObjects persist_objects();
    AnalyseRegion analyse_region();
    ClientMessage object_message(std::size_t kind);
    ServiceMessage object_answer(std::size_t kind);

    std::mt19937_64 random_;
};

}  // namespace caesura::transit
