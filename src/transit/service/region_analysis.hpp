// Regions that are analysed on the device that will have it done first: those of an object of this
// service, and one that another service has sent.
//
// Invariants:
//  - A region's state on a device is its own until it has come back whole. Then it is merged; so a
//    device that fails leaves nothing behind, and the host begins anew.
//  - Values of a part are brought on the thread that analyses it, or sends it away.
#pragma once

#include "transit/objects/object_store.hpp"
#include "transit/objects/state_budget.hpp"
#include "transit/service/dispatch.hpp"
#include "transit/service/errand.hpp"

namespace caesura::transit {

/// What one strand has found so far, and what that takes.
struct StrandState {
    lambda::AnalysisState state;
    StateShare share;
};

/// Of an object's regions, several strands side by side, each of which goes back into the fair
/// queues after every region.
/// @param state  before the pass.
/// @param then   on the lane, once no strand is at work: the first error, or a state for each
/// strand. no_space: the states together have more than the budget.
void analyse_regions(const ErrandHost& host, Dispatch& dispatch, const lambda::Registry& functions,
                     std::shared_ptr<const Reading> reading, std::vector<std::byte> state,
                     std::size_t host_strands, StateBudget& budget,
                     std::function<void(const Status&, std::vector<StrandState>)> then);

/// A region that another service has sent.
struct SentRegion {
    AnalyseRegion message;
    base::Buffer payload;
};
struct AnalysedThere {
    Result<std::vector<std::byte>> state = Status(StatusCode::internal, "not analysed");
    std::string device;
    double took_s = 0.0, utilisation = 0.0;
};
/// @param then  on the lane, always.
/// Errors: unsupported (no such function here, or another version); no_space, as above; those of
/// the state.
Status analyse_sent(const ErrandHost& host, Dispatch& dispatch, const lambda::Registry& functions,
                    std::shared_ptr<const SentRegion> region, StateBudget& budget,
                    std::function<void(const AnalysedThere&)> then);

}  // namespace caesura::transit
