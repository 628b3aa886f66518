// A block that another service has sent to be compressed and sent back.
#pragma once

#include "transit/service/dispatch.hpp"
#include "transit/service/lane.hpp"

namespace caesura::transit {

class Session;

class PressedWork final : public Encoding, public DoneWork {
  public:
    PressedWork(Session& session, PressBlock message, std::shared_ptr<const BlockCodec> codec,
                base::Buffer payload, base::BufferPool& pool);
    void take_up() override;
    const PressBlock& message() const { return message_; }
    double age_s() const;

  protected:
    bool is_wanted() const override;
    void ready() override;

  private:
    Session& session_;
    const PressBlock message_;
    const std::shared_ptr<const BlockCodec> codec_;
    const base::Buffer payload_;
    const double came_s_;
};

}  // namespace caesura::transit
