#include "transit/service/region_walk.hpp"

namespace caesura::transit {
namespace {

constexpr double k_cost_s_per_byte = 1e-9;  // about: decoding, and the cheaper analyses

class Walk : public std::enable_shared_from_this<Walk> {
  public:
    Walk(const ErrandHost& host, std::shared_ptr<const Reading> reading, std::size_t strands,
         Look look, std::function<void(const Status&)> then)
        : host_(host),
          reading_(std::move(reading)),
          look_(std::move(look)),
          then_(std::move(then)),
          scratch_(strands),
          busy_(strands) {}

    void begin() {
        const auto self = shared_from_this();  // strands may be over at once
        for (std::size_t strand = 0; strand < scratch_.size(); ++strand) step(strand);
    }

  private:
    // Lane.
    void step(std::size_t strand) {
        if (!error_.ok() || next_ >= reading_->parts.size()) {
            if (--busy_ == 0) then_(error_);
            return;
        }
        const Reading::Part& part = reading_->parts[next_++];
        const double bytes =
            static_cast<double>(part.box.extent.count() * size_of(reading_->dtype));
        const auto self = shared_from_this();
        send_errand(
            host_, bytes * k_cost_s_per_byte,
            [self, strand, &part]() -> Status {
                const auto values = bring(*self->reading_, part, self->scratch_[strand]);
                if (!values.ok()) return values.status();
                return self->look_(strand, part, *values);
            },
            [self, strand](const Status& status) {
                if (!status.ok() && self->error_.ok()) self->error_ = status;
                self->step(strand);
            });
    }

    const ErrandHost host_;
    const std::shared_ptr<const Reading> reading_;
    const Look look_;
    const std::function<void(const Status&)> then_;
    std::vector<base::Buffer> scratch_;  ///< by strand
    std::size_t busy_, next_ = 0;
    Status error_;
};

}  // namespace

Result<std::span<const std::byte>> bring(const Reading& reading, const Reading::Part& part,
                                         base::Buffer& scratch) {
    const std::size_t bytes = part.box.extent.count() * size_of(reading.dtype);
    if (const std::byte* const there = part.values->in_memory(); there != nullptr && part.is_whole)
        return std::span(there, bytes);
    if (scratch.size() < bytes) {
        auto taken = ObjectStore::pool().take(bytes);
        if (!taken.ok()) return taken.status();
        scratch = std::move(*taken);
    }
    if (Status status = part.values->read(part.box, part.box, scratch.data()); !status.ok())
        return status;
    return std::span<const std::byte>(scratch.data(), bytes);
}

void walk(const ErrandHost& host, std::shared_ptr<const Reading> reading, std::size_t strands,
          Look look, std::function<void(const Status&)> then) {
    std::make_shared<Walk>(host, std::move(reading), std::max<std::size_t>(1, strands),
                           std::move(look), std::move(then))
        ->begin();
}

}  // namespace caesura::transit
