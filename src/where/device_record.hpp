// What a device has taken for one variant of a function, and what it will take: its own time by
// size and utilisation, the ways there and back by bytes, and how large results are.
//
// Invariants:
//  - Fitted online; plain numbers in and out, no clock, no thread.
//  - A field's times are those of a usual one times what sets it apart, so that what one field
//  shows
//    of load, size and a device that has become slower all others know. A field of which nothing is
//    known is taken for a usual one.
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

/// One device. Variants and fields are named by whoever sends requests, so no more than so many are
/// kept apart.
class DeviceRecord {
  public:
    static constexpr std::size_t k_variants = 64, k_fields = 256;
    /// @param variant  what is computed: a codec, a mode, a type.
    /// @param field    of what; "": nothing is known of it.
    /// @param is_like_samples  what calibrate() was told says something of it.
    void learn(const std::string& variant, const std::string& field, const Run& run,
               bool is_like_samples = true);
    /// A sample that was run to know the device: what variants begin with of which it has done
    /// nothing yet.
    void calibrate(const Run& run);
    /// Values that lay there came to the host.
    void fetched(double bytes, double seconds) {
        if (seconds > 0.0) from_.learn(bytes, seconds);
    }
    /// @param to_link, from_link  do the values, does the result, have to go over the link?
    Expected predict(const std::string& variant, const std::string& field, double bytes,
                     double utilisation, bool to_link = true, bool from_link = true,
                     bool is_like_samples = true) const;
    const Link& to() const { return to_; }
    const Link& from() const { return from_; }
    std::uint64_t runs() const { return runs_; }

  private:
    /// A mean that begins with the first value and then forgets slowly.
    struct Mean {
        double value = 0.0;
        std::uint64_t count = 0;
        void learn(double seen, double most_change);
    };
    /// How a field differs from the usual one: ln(seconds / the variant's), over all sizes and of
    /// each power of two of bytes.
    struct Field {
        Mean over_all;
        std::map<int, Mean> of_size;
        Mean result_share;           ///< of the bytes
        std::uint64_t last_run = 0;  ///< of the variant's, by number
    };
    struct Variant {
        predict::LatencyModel compute;  ///< of a usual field
        Mean beyond_samples;            ///< ln(seconds / what the samples say)
        Mean result_share;
        std::map<std::string, Field> fields;
    };
    std::optional<predict::LatencyModel::Latency> usual(const Variant& variant, double bytes,
                                                        double utilisation,
                                                        bool is_like_samples) const;
    static double difference(const Variant& variant, const Field& field, double bytes);

    std::map<std::string, Variant> variants_;
    predict::LatencyModel calibrated_;
    Link to_, from_;
    std::uint64_t runs_ = 0;
};

/// A field's name as it is from dump to dump: "/data/12/rho #3" and "/data/13/rho #4" are one.
std::string field_of(std::string_view label);

}  // namespace caesura::where
