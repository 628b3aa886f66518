// What a device has taken for one variant of a function, and what it will take: its own time by
// size and utilisation, the ways there and back by bytes, and how large results are.
//
// Invariants:
//  - Fitted online; plain numbers in and out, no clock, no thread.
//  - What is known of one field goes before what is known of all. A field of which nothing is known
//    is taken for a usual one.
#pragma once

#include <map>
#include <string>

#include "plan/where.hpp"
#include "predict/latency_model.hpp"

namespace caesura::where {

/// One request that a device has done. Seconds by the wall clock.
struct Run {
    double bytes = 0.0, result_bytes = 0.0;
    double utilisation = 0.0;  ///< of the device, by other things, while it ran; 0 to 1
    double to_s = 0.0;         ///< until the values were there
    double compute_s = 0.0;
    double from_s = 0.0;  ///< until the result was back
};

/// What is expected of a request. Infinite or negative never.
struct Expected {
    double to_s = 0.0, compute_s = 0.0, from_s = 0.0, result_bytes = 0.0;
    double hoped_s = 0.0;  ///< of compute_s, if it was predicted far from all runs
    plan::Known known = plan::Known::nothing;
};

/// A link, in one direction: its latency and bandwidth, as the transfers say.
///
/// Source: S4-Eq1, whose bandwidths are the links' peaks. Differs: they are measured.
class Link {
  public:
    void learn(double bytes, double seconds) { model_.learn(bytes, 0.0, seconds); }
    /// 0 before the first transfer.
    double seconds(double bytes) const {
        const auto latency = model_.predict(bytes, 0.0);
        return latency ? latency->seconds : 0.0;
    }
    /// As the last fit says; 0 before the first transfer.
    double bytes_per_s() const;

  private:
    predict::LatencyModel model_;
};

/// One device. Fields are of whoever sends requests, so no more than k_fields are kept apart.
class DeviceRecord {
  public:
    static constexpr std::size_t k_fields = 256;
    /// @param variant  what is computed: a codec, a mode, a type.
    /// @param field    of what; "": nothing is known of it.
    void learn(const std::string& variant, const std::string& field, const Run& run);
    /// @param to_link, from_link  do the values, does the result, have to go over the link?
    Expected predict(const std::string& variant, const std::string& field, double bytes,
                     double utilisation, bool to_link = true, bool from_link = true) const;
    const Link& to() const { return to_; }
    const Link& from() const { return from_; }
    std::uint64_t runs() const { return runs_; }

  private:
    struct Variant {
        predict::LatencyModel compute;
        double result_share = 1.0;  ///< of the bytes, by the last runs
        std::uint64_t runs = 0;
    };
    const Variant* find(const std::string& key) const;
    static void learn(Variant& variant, const Run& run);

    std::map<std::string, Variant> variants_;  ///< by variant, and by variant and field
    Link to_, from_;
    std::uint64_t runs_ = 0;
};

/// A field's name as it is from dump to dump: "/data/12/rho #3" and "/data/13/rho #4" are one.
std::string field_of(std::string_view label);

}  // namespace caesura::where
