#include "vol/completer.hpp"

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>

#include "base/no_signals.hpp"
#include "completion/entry.hpp"
#include "vol/shutdown.hpp"

namespace caesura::vol {
namespace {

/// The library lies in caesura/ beside the connector, which is found by one of its own functions.
const completion::Entry* load() {
    Dl_info own{};
    if (::dladdr(reinterpret_cast<void*>(&load), &own) == 0 || own.dli_fname == nullptr)
        return nullptr;
    const std::string name(own.dli_fname);
    const std::size_t slash = name.rfind('/');
    const std::string path = (slash == std::string::npos ? "." : name.substr(0, slash)) +
                             "/caesura/libcaesura_completion.so";
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    const auto get =
        reinterpret_cast<completion::GetEntry>(::dlsym(library, completion::k_entry_name));
    const completion::Entry* const entry = get != nullptr ? get() : nullptr;
    const bool fits = entry != nullptr && std::strcmp(entry->version, CAESURA_BUILD) == 0;
    return fits ? entry : nullptr;
}

const completion::Entry* entry() {
    static const completion::Entry* const loaded = load();
    return loaded;
}

}  // namespace

/// The thread, the ear, and who is waited for. Never destroyed: the thread may be at work when the
/// statics of the process are.
class Completer {
  public:
    static Completer& get() {
        static Completer& live = *new Completer;
        return live;
    }
    bool is_there() { return start(false, false); }
    bool begin(const std::shared_ptr<Completion>& completion, bool beyond_node) {
        if (!start(completion->what_.ranks > 1, beyond_node)) return false;
        const std::lock_guard lock(mutex_);
        std::erase_if(waited_for_, [](const auto& one) { return one.second.expired(); });
        completion->number_ = ++last_number_;
        waited_for_[completion->number_] = completion;
        return true;
    }
    message::Address address() const { return ear_ ? ear_->address() : message::Address{}; }
    void give(Completion& completion) { thread_->give(completion); }

  private:
    bool start(bool several, bool beyond_node) try {
        if (entry() == nullptr || is_forked()) return false;
        const base::NoSignals no_signals;
        if (thread_ == nullptr) thread_ = std::make_unique<base::HelperThreads>();
        if (!several || (ear_ && (hears_beyond_ || !beyond_node))) return true;
        auto opened =
            message::Listener::open(beyond_node, [this](const message::News& news) { hear(news); });
        if (!opened.ok()) return ear_ != nullptr;
        if (ear_) earlier_.push_back(std::move(ear_));  // others know its address
        ear_ = std::move(*opened);
        hears_beyond_ = beyond_node;
        return true;
    } catch (const std::exception&) {  // no memory, no thread
        return false;
    }
    void hear(const message::News& news) {
        std::shared_ptr<Completion> completion;
        {
            const std::lock_guard lock(mutex_);
            const auto found = waited_for_.find(news.about);
            if (found != waited_for_.end()) completion = found->second.lock();
        }
        if (completion && news.from < static_cast<std::uint64_t>(completion->what_.ranks))
            completion->heard(static_cast<int>(news.from));
    }

    std::unique_ptr<base::HelperThreads> thread_;
    std::unique_ptr<message::Listener> ear_;
    std::vector<std::unique_ptr<message::Listener>> earlier_;
    bool hears_beyond_ = false;
    std::mutex mutex_;  ///< of threads at normal priority alone
    std::uint64_t last_number_ = 0;
    std::map<std::uint64_t, std::weak_ptr<Completion>> waited_for_;
};

void Completion::heard(int rank) {
    if (heard_[static_cast<std::size_t>(rank)].exchange(true) || --left_ != 0) return;
    State seen = State::waiting;
    self_ = shared_from_this();
    if (state_.compare_exchange_strong(seen, State::given))
        Completer::get().give(*this);
    else
        self_.reset();
}

bool Completion::at_work() const {
    const State state = state_;
    return state == State::given || state == State::running;
}

void Completion::make() {
    const std::shared_ptr<Completion> self = std::move(self_);
    State seen = State::given;
    if (!state_.compare_exchange_strong(seen, State::running)) return;
    outcome_ = entry()->complete(what_.file, what_.durable);
    ended_s_ = base::Clock::steady().now_s();
    if (outcome_.ok() && what_.then) what_.then();
    state_ = State::ended;
    ended_event_.raise();
}

bool Completion::take_back() {
    for (State seen = state_;;) {
        const std::uint32_t count = ended_event_.count();
        switch (seen) {
            case State::waiting:
            case State::given:
                if (state_.compare_exchange_strong(seen, State::taken_back)) return true;
                continue;
            case State::running:
                if (state_ == State::running) ended_event_.wait(count);
                seen = state_;
                continue;
            case State::ended:
                return false;
            case State::taken_back:
                return true;
        }
    }
}

bool Completion::ends_with(std::span<const std::uint8_t> ranks) {
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        if (ranks[rank] != 0) heard(static_cast<int>(rank));
    if (left_ != 0) return !take_back();
    while (state_ != State::ended && state_ != State::taken_back) {
        const std::uint32_t count = ended_event_.count();
        if (state_ != State::ended) ended_event_.wait(count);
    }
    return state_ == State::ended;
}

namespace completer {

bool is_there() { return Completer::get().is_there(); }

std::shared_ptr<Completion> begin(Completion::What what, bool beyond_node) {
    auto completion = std::make_shared<Completion>(std::move(what));
    return Completer::get().begin(completion, beyond_node) ? completion : nullptr;
}

message::Address address() { return Completer::get().address(); }

}  // namespace completer
}  // namespace caesura::vol
