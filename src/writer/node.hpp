// What a rank shares with the others of its node: cores, and the writing of blocks (S0 §3.4).
#pragma once

#include <algorithm>
#include <optional>

#include "base/cores.hpp"
#include "run/node_share.hpp"
#include "store/shared_file.hpp"
#include "writer/session.hpp"

namespace caesura::writer {

class Node {
  public:
    explicit Node(Session& session) : session_(session) {}

    /// This rank's share of the cores it may run on. Collective over the node.
    /// @param ranks  of the node; null: not known.
    void read_binding(Communicator* ranks);
    /// Ranks write blocks for each other, if all want to and can. Collective over the node; without
    /// it every rank writes its own blocks, and says why.
    Status share_writes(std::unique_ptr<Communicator> ranks);
    /// Files into which others' blocks may go, by the same number on all ranks.
    void add_file(std::uint32_t number, const store::SharedFile& file) {
        if (share_) share_->add_file(number, file.keep());
    }
    void drop_file(std::uint32_t number) {
        if (share_) share_->drop_file(number);
    }

    /// Have compress threads a core that the application leaves alone?
    bool workers_have_a_core() const { return workers_have_a_core_; }
    /// Whole cores of this rank's share beside that of its calls; 0: none, or not known.
    int spare_cores() const {
        return std::max(0, static_cast<int>(session_.totals.cores + 1e-9) - 1);
    }
    /// Seconds that this rank's share of the cores has been idle since the machine started. Nothing
    /// where it is not known. Reads /proc/stat.
    std::optional<double> idle_s() const;
    /// Null: every rank writes its own blocks.
    run::NodeShare* share() const { return share_.get(); }
    /// With share(): the ranks of the node.
    Communicator* ranks() const { return ranks_.get(); }

  private:
    Session& session_;
    bool workers_have_a_core_ = true;
    base::CoreMask cores_;  ///< that this rank may use; empty: not known
    std::unique_ptr<Communicator> ranks_;
    std::unique_ptr<run::NodeShare> share_;
};

}  // namespace caesura::writer
