// Planning checkpoints while they come: no profile of the run is needed, and none is trusted.
//
// intro      for each checkpoint: letter = planner.next(now); do what it says (plan/together.hpp
//            has the letters); after a compression: planner.compressed(...); at the end, if
//            something is held: planner.finish(now).
//
// Given another member of the ensemble, it expects this run to be like that one, scaled by how it
// has differed so far: it plans all that remains by together(), and again when reality departs.
// Given nothing, or beyond that member's end, it expects the next checkpoints to be like the last
// ones. If it knows how many there will be, it plans all that remain. Else it looks one step ahead:
// raw now, compress now, or hold some more and compress then; the step that costs least by what a
// second of the application and one of the link are worth.
//
// No guarantee: whoever holds a checkpoint bets on the ones to come. What it comes to is measured
// in docs/evidence/checkpoints.md.
//
// Invariants:
//  - Pure given its inputs: no clock, no thread, no device. The caller says what time it is.
//  - Whatever it is told, every letter can be carried out in the cache: of A and X, twice what is
//    then held and a header fit it.
#pragma once

#include "plan/together.hpp"

namespace caesura::plan {

/// What is there when a checkpoint has been made. Times on one clock of the caller.
struct HorizonNow {
    double now_s = 0.0;
    double interval_s = 0.0;               ///< the application's own time before it
    std::uint64_t held_bytes = 0;          ///< without this one
    std::span<const QueuedBuffer> queued;  ///< ascending end_s; also, maybe, what has been carried
};

class HorizonPlanner {
  public:
    /// @param expected     the machine, and intervals and sizes of another member of the ensemble;
    ///                     both may be empty, of the same length. A run may be longer than they
    ///                     are.
    /// @param checkpoints  as many are going to be made; 0: nobody knows. It may be wrong.
    /// @return  Errors: as together().
    static Result<HorizonPlanner> create(CheckpointProfile expected, std::size_t checkpoints = 0);

    /// What to do with the checkpoint that has just been made: U, C, A or X.
    ///
    /// @return  Errors: invalid_argument (times that are negative or not finite, more held than
    ///          fits the cache together with this one), naming the value; the checkpoint then
    ///          counts as not made.
    /// Cost: microseconds; with a member of the ensemble, or a known number of checkpoints, one
    /// plan of all that remain now and then: milliseconds for hundreds of them
    /// (docs/evidence/checkpoints.md).
    /// Source: S2 §III-A, the oracles; planning without them is ours.
    /// Calls: not thread-safe; one thread at a time.
    Result<char> next(const HorizonNow& now);
    /// What is held must go, and no checkpoint comes: X, compress it, or U, send it as it is.
    char finish(const HorizonNow& now) const;
    /// A compression is done. What cannot be right (no bytes, seconds negative or not finite) is
    /// passed over.
    void compressed(std::uint64_t raw_bytes, std::uint64_t compressed_bytes, double seconds);

    /// How often a plan was made so far.
    std::uint64_t plans() const { return plans_; }

  private:
    /// When a planned checkpoint was to be made, from the plan's begin, and the link free.
    struct Expected {
        double application_s = 0.0, link_s = 0.0;
    };
    HorizonPlanner(CheckpointProfile expected, std::size_t checkpoints)
        : expected_(std::move(expected)),
          end_(std::max(checkpoints, expected_.intervals_s.size())) {}
    bool has_profile() const { return !expected_.intervals_s.empty(); }
    std::size_t planned_end() const;
    bool sizes_are_off() const;
    CheckpointProfile careful(CheckpointProfile profile) const;
    bool has_room(double held_bytes) const;
    double expected_interval_s(std::size_t checkpoint) const;
    double expected_bytes(std::size_t checkpoint) const;
    double expected_of_held(std::uint64_t held_bytes) const;
    void learn_interval(double interval_s);
    bool is_to_be_looked_at(const HorizonNow& now, double link_s) const;
    CheckpointProfile expected_from(std::size_t checkpoint, std::size_t count) const;
    TogetherStart start_of(const HorizonNow& now) const;
    char one_step(const HorizonNow& now, double link_s);
    bool follows(const HorizonNow& now, double link_s);
    Status plan(const HorizonNow& now, double link_s);
    void foresee(const CheckpointProfile& profile, const TogetherStart& start);

    CheckpointProfile expected_;
    std::size_t end_;        ///< so many checkpoints are expected; 0: unknown
    std::size_t made_ = 0;   ///< checkpoints that next() has answered
    std::size_t since_ = 0;  ///< sent raw since the last compression
    std::uint64_t plans_ = 0;
    bool learned_ = false;
    double share_ = 0.5;           ///< compressed bytes of a raw byte, of the last compression
    double size_scale_ = 1.0;      ///< of expected_'s sizes
    double interval_s_ = 0.0;      ///< lately
    double interval_scale_ = 1.0;  ///< of expected_'s intervals
    double compress_scale_ = 1.0;  ///< of the curve
    // The plan that is followed.
    std::string word_;
    std::vector<Expected> foreseen_;  ///< [word_.size()]
    std::size_t followed_ = 0;        ///< letters used up
    double begin_s_ = 0.0, length_s_ = 0.0;
    double application_begin_s_ = 0.0;  ///< and when the application went on with it
    double planned_scale_ = 1.0, planned_share_ = 0.5;
    // Without a plan: when what is held began to be held, and for how long the link was busy then.
    double holds_since_s_ = 0.0, busy_then_s_ = 0.0;
};

/// What following a planner comes to in the model, when the run is really like `actual`.
///
/// What is held at the end goes as finish() says. A compression needs room for what is held, as
/// much again and a header; the raw bytes are free before the result is put aside.
/// @param plan_s  of the application's time that making a plan takes
/// @return  word: what it did. Errors: as together() and next().
Result<TogetherPlan> play_planner(const CheckpointProfile& actual, HorizonPlanner& planner,
                                  double plan_s = 0.0);

}  // namespace caesura::plan
