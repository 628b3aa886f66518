#include "transit/members/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/clock.hpp"
#include "base/helper_threads.hpp"

namespace caesura::transit {
namespace {

double clock_s() { return base::Clock::steady().now_s(); }

/// What an analysis at idle priority sees in a second, at the least.
constexpr double k_slow_bytes_per_s = 1e6;

/// For workers at idle priority, of each member: so many of them ask it at once, others wait.
constexpr int k_askers = 4;

Status no_answer(double within_s) {
    return {StatusCode::io, fmt::format("no answer within {:.0f} s", within_s)};
}

/// A member that lives and does not answer is given up, or our workers would wait with it.
Status outcome_of(const Ticket& ticket, Objects& objects, double patience_s) {
    if (!ticket.wait_for(patience_s)) objects.client().give_up(no_answer(patience_s));
    return ticket.wait();
}

Status ended() { return {StatusCode::cancelled, "the service is about to end"}; }

}  // namespace

struct Members::Link {
    Member member;
    std::mutex connecting;  ///< one thread connects
    std::shared_ptr<Objects> objects;
    std::shared_ptr<Objects> current;  ///< the same, behind the members' mutex
    double not_before_s = 0.0;
    Status why;  ///< it could not be reached
    /// Connections that were lost, until nobody has values there: the last one may be let go by a
    /// thread of the connection's own, which cannot wait for itself.
    std::vector<std::shared_ptr<Objects>> retired;
    std::map<std::uint64_t, std::weak_ptr<Object>> by_key;
    std::atomic<std::uint64_t> regions{0}, put_bytes{0}, got_bytes{0}, passes{0}, passed_bytes{0};
    std::atomic<std::uint64_t> coming_bytes{0};  ///< that are being put
    base::HelperThreads askers{k_askers};        ///< end first
};

// Parts of an object at one member; deleted there when nobody has values of it.
class Members::Object final : public FarObject {
  public:
    Object(Members& members, Link& link, std::shared_ptr<Objects> objects, ObjectNumber number,
           DType dtype)
        : members_(members),
          link_(link),
          objects_(std::move(objects)),
          number_(number),
          dtype_(dtype),
          removal_(std::make_unique<Removal>()) {}
    // Removing takes the connection's lock, and the last reference may be the connection's. A
    // worker that has read what was deleted meanwhile is the last one here.
    ~Object() override {
        if (!base::is_at_idle_priority()) {
            objects_->remove_later(number_);
            return;
        }
        Removal* const removal = removal_.release();
        removal->objects = std::move(objects_);
        removal->number = number_;
        link_.askers.give(*removal);
    }

    Status get(const Box& box, DType dtype, std::byte* values) override {
        const Status status = link_.askers.at_normal_priority([&] {
            return outcome_of(objects_->get_bytes(number_, box, values, dtype), *objects_,
                              members_.patience_s_);
        });
        if (status.ok()) link_.got_bytes += box.extent.count() * size_of(dtype);
        return status.with_context("values in the memory of " + link_.member.name);
    }
    void run_pass(std::vector<Box> boxes, std::vector<std::byte> state,
                  std::function<void(Result<std::vector<std::byte>>)> then) override {
        std::uint64_t bytes = 0;
        for (const Box& box : boxes) bytes += box.extent.count() * size_of(dtype_);
        const std::uint64_t pass = members_.begin_pass(bytes, objects_);
        if (pass == 0) return then(ended());
        const auto over = [&members = members_, &link = link_, bytes, pass,
                           then](Result<std::vector<std::byte>> behind) {
            if (behind.ok()) {
                ++link.passes;
                link.passed_bytes += bytes;
                then(std::move(behind));
            } else {
                then(behind.status().with_context("an analysis in the memory of " +
                                                  link.member.name));
            }
            members.end_pass(pass);
        };
        objects_->run_pass(number_, std::move(boxes), std::move(state), over);
    }
    Status put(const Box& box, std::span<const std::byte> values) {
        const Status status = outcome_of(objects_->put_bytes(number_, box, values.data(), dtype_),
                                         *objects_, members_.patience_s_);
        if (!status.ok()) return status;
        ++link_.regions;
        link_.put_bytes += values.size();
        return {};
    }

  private:
    /// It is its own, once it is given.
    struct Removal final : base::HelperCall {
        std::shared_ptr<Objects> objects;
        ObjectNumber number = 0;
        void make() override {
            const std::unique_ptr<Removal> self(this);
            objects->remove_later(number);
        }
    };
    Members& members_;
    Link& link_;
    std::shared_ptr<Objects> objects_;
    const ObjectNumber number_;
    const DType dtype_;
    std::unique_ptr<Removal> removal_;  ///< made when there is time for it
};

Members::Members(std::string name, std::vector<Member> members, double again_s, double patience_s)
    : name_(std::move(name)), again_s_(again_s), patience_s_(patience_s) {
    for (Member& member : members) add(std::move(member));
}

void Members::add(Member member) {
    links_.push_back(std::make_unique<Link>());
    links_.back()->member = std::move(member);
}

// Those who ask for others use the members' own fields: they are ended first.
Members::~Members() {
    end();
    links_.clear();
}

void Members::end() {
    // Not behind `connecting`: whoever has it may be waiting for the member.
    std::vector<std::shared_ptr<Objects>> current;
    std::unique_lock lock(mutex_);
    ended_ = true;
    for (const auto& link : links_)
        if (link->current) current.push_back(link->current);
    lock.unlock();
    for (const auto& objects : current) objects->client().give_up(ended());
    lock.lock();
    changed_.wait(lock, [&] { return passes_.empty(); });
    changed_.notify_all();
    lock.unlock();
    if (watcher_.joinable()) watcher_.join();
}

/// 0: the service is about to end.
std::uint64_t Members::begin_pass(std::uint64_t bytes, std::shared_ptr<Objects> objects) {
    const std::lock_guard lock(mutex_);
    if (ended_) return 0;
    if (!watcher_.joinable()) watcher_ = std::thread([this] { watch(); });
    const double until_s =
        clock_s() + patience_s_ + static_cast<double>(bytes) / k_slow_bytes_per_s;
    passes_[++next_pass_] = {until_s, std::move(objects)};
    changed_.notify_all();
    return next_pass_;
}

// The connection may be the last one's: let go of it where it can be waited for, by watch().
void Members::end_pass(std::uint64_t pass) {
    const std::lock_guard lock(mutex_);
    const auto found = passes_.find(pass);
    retired_.push_back(std::move(found->second.objects));
    passes_.erase(found);
    changed_.notify_all();
}

void Members::watch() {
    std::unique_lock lock(mutex_);
    while (!ended_ || !passes_.empty()) {
        double next_s = clock_s() + patience_s_;
        std::shared_ptr<Objects> late;
        for (auto& [number, pass] : passes_) {
            if (pass.until_s <= clock_s()) late = std::exchange(pass.objects, nullptr);
            if (late) pass.until_s = std::numeric_limits<double>::infinity();
            if (late) break;
            next_s = std::min(next_s, pass.until_s);
        }
        auto retired = std::exchange(retired_, {});
        if (!late && retired.empty()) {
            changed_.wait_for(lock,
                              std::chrono::duration<double>(std::max(0.0, next_s - clock_s())));
            continue;
        }
        lock.unlock();
        if (late) late->client().give_up(no_answer(patience_s_));
        late.reset();
        retired.clear();
        lock.lock();
    }
}

Result<std::shared_ptr<Objects>> Members::connection(Link& link) {
    {
        const std::lock_guard lock(mutex_);
        if (ended_) return ended();
    }
    if (link.objects && link.objects->client().loss().ok()) return link.objects;
    if (clock_s() < link.not_before_s) return link.why;
    if (link.objects) {
        const std::lock_guard lock(mutex_);
        link.current.reset();
        link.retired.push_back(std::move(link.objects));
    }
    std::erase_if(link.retired, [](const auto& one) { return one.use_count() == 1; });
    link.by_key.clear();
    auto made = link.member.connect();
    if (!made.ok()) {
        link.not_before_s = clock_s() + again_s_;
        link.why = made.status().with_context(link.member.name);
        return link.why;
    }
    link.objects = std::move(*made);
    link.objects->set_patience(patience_s_);
    const std::lock_guard lock(mutex_);
    if (ended_) return ended();
    link.current = link.objects;
    return link.objects;
}

Result<std::shared_ptr<Members::Object>> Members::object_at(Link& link, std::uint64_t key,
                                                            const CreateObject& object) {
    const std::lock_guard connecting(link.connecting);
    auto objects = connection(link);
    if (!objects.ok()) return objects.status();
    if (const auto found = link.by_key.find(key); found != link.by_key.end())
        if (auto there = found->second.lock()) return there;
    std::erase_if(link.by_key, [](const auto& one) { return one.second.expired(); });
    auto number = (*objects)->create({fmt::format("{}/{}", name_, key),
                                      object.name,
                                      object.dtype,
                                      object.shape,
                                      object.time,
                                      object.bound,
                                      false,
                                      true,
                                      object.tags,
                                      {}});
    if (!number.ok()) return number.status();
    auto made = std::make_shared<Object>(*this, link, *objects, *number, object.dtype);
    link.by_key[key] = made;
    return made;
}

std::vector<Members::Link*> Members::by_load() {
    // Sorted by what was true at once: others put meanwhile.
    std::vector<std::pair<std::uint64_t, Link*>> loads;
    for (const auto& link : links_)
        loads.emplace_back(link->put_bytes + link->coming_bytes, link.get());
    std::stable_sort(loads.begin(), loads.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Link*> all;
    for (const auto& [bytes, link] : loads) all.push_back(link);
    return all;
}

// All of it, so that what is destroyed here is destroyed at normal priority.
Result<std::shared_ptr<const FarValues>> Members::put_at(Link& link, std::uint64_t key,
                                                         const CreateObject& object, const Box& box,
                                                         std::span<const std::byte> values) {
    const auto there = object_at(link, key, object);
    if (!there.ok()) return there.status();
    if (Status status = (*there)->put(box, values); !status.ok()) return status;
    return std::shared_ptr<const FarValues>(std::make_shared<FarValues>(*there, object.dtype));
}

Result<std::shared_ptr<const FarValues>> Members::put(std::uint64_t key, const CreateObject& object,
                                                      const Box& box,
                                                      std::span<const std::byte> values) {
    std::shared_ptr<const FarValues> far;
    Status status{StatusCode::no_space, "there is no other service"};
    for (Link* const link : by_load()) {
        link->coming_bytes += values.size();
        status = link->askers.at_normal_priority([&]() -> Status {
            auto made = put_at(*link, key, object, box, values);
            if (!made.ok()) return made.status();
            far = std::move(*made);
            return {};
        });
        link->coming_bytes -= values.size();
        if (status.ok()) return far;
    }
    return status;
}

std::vector<Members::Counts> Members::counts() const {
    std::vector<Counts> all;
    for (const auto& link : links_)
        all.push_back({link->member.name, link->regions, link->put_bytes, link->got_bytes,
                       link->passes, link->passed_bytes});
    return all;
}

}  // namespace caesura::transit
