#include "transit/service/region_analysis.hpp"

#include <fmt/format.h>

#include "transit/service/region_walk.hpp"

namespace caesura::transit {
namespace {

constexpr double k_cost_s_per_byte = 1e-9;  // about: decoding, and the cheaper analyses

/// One region. Belongs to itself until it is taken up.
class RegionWork final : public PlacedWork, public DoneWork {
  public:
    /// What is the same for all regions of a pass.
    struct Order {
        ErrandHost host;
        Dispatch& dispatch;
        DeviceFunction function;
    };
    /// The values of a region, and where they lie.
    struct Values {
        /// In memory until this work has gone; may throw bad_alloc.
        std::function<Result<lambda::RegionView>()> bring;
        lambda::RegionView place = {};                  ///< the region without its values
        std::shared_ptr<const DeviceValues> copy = {};  ///< in a device; null: in none
        bool is_in_memory = true;
    };
    /// @param into   the state that it is added to.
    /// @param then   on the lane.
    RegionWork(std::shared_ptr<const Order> order, std::string label, DType dtype,
               std::uint64_t bytes, Values values, StrandState& into,
               std::function<void(RegionWork&, const Status&)> then)
        : order_(std::move(order)),
          owner_(order_->host.owner()),
          label_(std::move(label)),
          dtype_(dtype),
          bytes_(bytes),
          values_(std::move(values)),
          into_(into),
          then_(std::move(then)) {}

    static void send(std::unique_ptr<RegionWork> work) {
        RegionWork& given = *work.release();
        const ErrandHost& host = given.order_->host;
        const double cost_s = std::max(1e-6, static_cast<double>(given.bytes_) * k_cost_s_per_byte);
        given.order_->dispatch.give(host.client, host.weight(), cost_s, given);
    }
    void take_up() override {
        const std::unique_ptr<RegionWork> self(this);
        order_->dispatch.learn(*this);
        then_(*this, status_.ok() ? counted_ : status_);
    }

  private:
    What what() const override {
        What what;
        what.function = order_->function.function.name;
        what.variant = fmt::format("{} {}", what.function, to_string(dtype_));
        what.field = where::field_of(label_);
        what.label = label_;
        what.bytes = bytes_;
        what.is_like_samples = false;
        if (values_.copy) what.lies_on = values_.copy->block()->memory().name();
        what.is_in_memory = !values_.copy || values_.is_in_memory;
        return what;
    }
    bool is_the_hosts() const override { return order_->function.variant.also_on.empty(); }
    bool is_taken_by(const BlockDevice& there) const override {
        return (dtype_ == float32 || dtype_ == float64) && there.takes(order_->function, bytes_);
    }
    bool is_wanted() const override { return order_->host.is_alive(); }
    void on_host() override {
        const auto region = bring();
        status_ = region.ok() ? into_.state.add(*region) : region.status();
        result_bytes_ = 0;
        count();
    }
    void on_device(BlockDevice& there, DeviceParts& parts) override {
        auto made = made_by(there, parts);
        status_ = made.status();
        if (!made.ok()) return;
        // Into the new one, which is lost if that fails; the one before stays as it was.
        status_ = made->state.merge(into_.state);
        if (!status_.ok()) return;
        into_.state = std::move(made->state);
        result_bytes_ = made->bytes;
        count();
    }
    Result<lambda::RegionView> bring() {
        const double begin_s = base::Clock::steady().now_s();
        auto region = values_.bring();
        fetched_s_ =
            values_.copy && !values_.is_in_memory ? base::Clock::steady().now_s() - begin_s : 0.0;
        return region;
    }
    // Where the values lie in its memory they stay there.
    Result<DeviceState> made_by(BlockDevice& there, DeviceParts& parts) {
        fetched_s_ = 0.0;
        if (values_.copy && there.has_memory_of(values_.copy->block()->memory().name()) &&
            !values_.copy->block()->memory().is_lost()) {
            lambda::RegionView region = values_.place;
            region.values = values_.copy->block()->there();
            return there.analyse_copy(order_->function, region, parts);
        }
        const auto region = bring();
        if (!region.ok()) return region.status();
        return there.analyse(order_->function, *region, parts);
    }
    // A state that is too large is no fault of the device: nobody else would have room for it.
    void count() {
        if (status_.ok())
            counted_ = into_.share.grow(bytes_, [this] { return bytes_of(into_.state); });
    }
    Status outcome() const override { return status_; }
    std::uint64_t result_bytes() const override { return result_bytes_; }
    void end_with(Status status) override { status_ = std::move(status); }
    void ready() override { order_->host.lane.done(*this); }

    const std::shared_ptr<const Order> order_;
    const std::shared_ptr<void> owner_;  // goes after all that it may own
    const std::string label_;
    const DType dtype_;
    const std::uint64_t bytes_;
    const Values values_;
    StrandState& into_;
    const std::function<void(RegionWork&, const Status&)> then_;
    Status status_, counted_;
    std::uint64_t result_bytes_ = 0;
};

/// An order for a state's call. Errors: those of the registry.
Result<std::shared_ptr<const RegionWork::Order>> order_of(const ErrandHost& host,
                                                          Dispatch& dispatch,
                                                          const lambda::Registry& functions,
                                                          std::vector<std::byte> from,
                                                          bool is_secret) {
    const auto state = functions.parse_state(from);
    if (!state.ok()) return state.status();
    const auto bound = functions.bind(state->call());
    if (!bound.ok()) return bound.status();
    return std::make_shared<const RegionWork::Order>(RegionWork::Order{
        host, dispatch,
        DeviceFunction{functions, *bound->function, *bound->variant, std::move(from), is_secret}});
}

// ------------------------------------------------------------------------- an object's regions

class Pass : public std::enable_shared_from_this<Pass> {
  public:
    using Then = std::function<void(const Status&, std::vector<StrandState>)>;
    Pass(std::shared_ptr<const RegionWork::Order> order, std::shared_ptr<const Reading> reading,
         std::vector<StrandState> states, Then then)
        : order_(std::move(order)),
          reading_(std::move(reading)),
          states_(std::move(states)),
          then_(std::move(then)),
          scratch_(states_.size()),
          busy_(states_.size()) {}

    void begin() {
        const auto self = shared_from_this();  // strands may be over at once
        for (std::size_t strand = 0; strand < scratch_.size(); ++strand) step(strand);
    }

  private:
    // Lane.
    void step(std::size_t strand) {
        if (!error_.ok() || next_ >= reading_->parts.size()) {
            if (--busy_ == 0) then_(error_, std::move(states_));
            return;
        }
        const Reading::Part& part = reading_->parts[next_++];
        const auto self = shared_from_this();
        RegionWork::send(std::make_unique<RegionWork>(
            order_, reading_->name, reading_->dtype,
            part.box.extent.count() * size_of(reading_->dtype),
            RegionWork::Values{
                [self, strand, &part]() -> Result<lambda::RegionView> {
                    const auto values = bring(*self->reading_, part, self->scratch_[strand]);
                    if (!values.ok()) return values.status();
                    return self->reading_->view(part, *values);
                },
                reading_->view(part, {}), part.copy, part.values->in_memory() != nullptr},
            states_[strand], [self, strand](RegionWork&, const Status& status) {
                if (!status.ok() && self->error_.ok()) self->error_ = status;
                self->step(strand);
            }));
    }

    const std::shared_ptr<const RegionWork::Order> order_;
    const std::shared_ptr<const Reading> reading_;
    std::vector<StrandState> states_;  ///< by strand
    const Then then_;
    std::vector<base::Buffer> scratch_;  ///< by strand
    std::size_t busy_, next_ = 0;
    Status error_;
};

}  // namespace

void analyse_regions(const ErrandHost& host, Dispatch& dispatch, const lambda::Registry& functions,
                     std::shared_ptr<const Reading> reading, std::vector<std::byte> state,
                     std::size_t host_strands, StateBudget& budget,
                     std::function<void(const Status&, std::vector<StrandState>)> then) {
    const std::size_t strands = std::max<std::size_t>(
        1, std::min(host_strands + dispatch.at_once_beside(), reading->parts.size()));
    std::vector<StrandState> states;
    for (std::size_t i = 0; i < strands; ++i) {
        auto one = functions.parse_state(state);
        if (!one.ok()) return then(one.status(), {});
        states.push_back({std::move(*one), StateShare(budget)});
    }
    const bool is_secret = reading->form && reading->form->object.is_keyed();
    auto order = order_of(host, dispatch, functions, std::move(state), is_secret);
    if (!order.ok()) return then(order.status(), {});
    std::make_shared<Pass>(std::move(*order), std::move(reading), std::move(states),
                           std::move(then))
        ->begin();
}

// --------------------------------------------------------------------- of another service

Status analyse_sent(const ErrandHost& host, Dispatch& dispatch, const lambda::Registry& functions,
                    std::shared_ptr<const SentRegion> region, StateBudget& budget,
                    std::function<void(const AnalysedThere&)> then) {
    const AnalyseRegion& message = region->message;
    const lambda::Function* const function = functions.find(message.function);
    if (function == nullptr || function->version != message.version)
        return {StatusCode::unsupported, fmt::format("there is no {} of version {} here",
                                                     message.function, message.version)};
    auto state = functions.parse_state(message.state);
    if (!state.ok()) return state.status();
    auto order = order_of(host, dispatch, functions, message.state, false);
    if (!order.ok()) return order.status();
    if (&(*order)->function.function != function)
        return {StatusCode::corrupt,
                fmt::format("a state of {} for {}", state->call(), message.function)};
    const auto held =
        std::make_shared<StrandState>(StrandState{std::move(*state), StateShare(budget)});
    if (Status status = held->share.set(message.state.size()); !status.ok()) return status;
    const double came_s = base::Clock::steady().now_s();
    auto work = std::make_unique<RegionWork>(
        std::move(*order), message.object, message.dtype, message.payload_bytes,
        RegionWork::Values{[region]() -> Result<lambda::RegionView> {
            const AnalyseRegion& sent = region->message;
            lambda::RegionView view;
            view.object = sent.object;
            view.id = sent.id;
            view.dtype = sent.dtype;
            view.shape = sent.shape;
            view.box = sent.box;
            view.time = sent.time;
            view.owner = sent.owner;
            view.tags = sent.tags;
            view.values = region->payload.bytes();
            return view;
        }},
        *held,
        [held, came_s, &dispatch, then = std::move(then)](RegionWork& done, const Status& status) {
            AnalysedThere there;
            if (status.ok())
                there.state = held->state.bytes();
            else
                there.state = status;
            there.device = done.device;
            there.took_s = base::Clock::steady().now_s() - came_s;
            there.utilisation = dispatch.utilisation_of(done);
            then(there);
        });
    work->for_another_service = true;
    RegionWork::send(std::move(work));
    return {};
}

}  // namespace caesura::transit
