// Requests of a client that nobody waits for.
#include <utility>

#include "transit/client/client.hpp"

namespace caesura::transit {

Welcome Client::welcome() const {
    const std::lock_guard lock(mutex_);
    return welcome_.value_or(Welcome{});
}

// It is over when the answer has come and the payload has gone, in whichever order.
void Client::ask_later(std::uint64_t request, const ClientMessage& message,
                       std::vector<std::span<const std::byte>> payload, Then then) {
    const bool has_payload = !payload.empty();
    {
        std::unique_lock lock(mutex_);
        if (is_lost()) {
            const Status why = why_lost_;
            lock.unlock();
            return then(why);
        }
        later_[request] = {std::move(then), !has_payload, std::nullopt};
    }
    std::function<void()> done;
    if (has_payload)
        done = [this, request] {
            std::optional<Later> over;
            {
                const std::lock_guard lock(mutex_);
                const auto found = later_.find(request);
                if (found == later_.end()) return;
                found->second.sent = true;
                if (!found->second.outcome) return;
                over = std::move(found->second);
                later_.erase(found);
            }
            over->then(std::move(*over->outcome));
        };
    tell(message, std::move(payload), std::move(done));
    if (is_lost()) fail_later();  // meanwhile
}

bool Client::answer_later(std::uint64_t request, Result<Reply> reply) {
    std::optional<Later> over;
    {
        const std::lock_guard lock(mutex_);
        const auto found = later_.find(request);
        if (found == later_.end()) return false;
        if (!found->second.sent) {
            found->second.outcome = std::move(reply);
            return true;
        }
        over = std::move(found->second);
        later_.erase(found);
    }
    over->then(std::move(reply));
    return true;
}

// Nothing comes any more; payloads that are still being sent are waited for.
void Client::fail_later() {
    for (;;) {
        std::optional<Later> over;
        Status why;
        {
            const std::lock_guard lock(mutex_);
            why = why_lost_;
            for (auto it = later_.begin(); it != later_.end() && !over;) {
                if (it->second.sent) {
                    over = std::move(it->second);
                    it = later_.erase(it);
                } else {
                    if (!it->second.outcome) it->second.outcome = Result<Reply>(why);
                    ++it;
                }
            }
        }
        if (!over) return;
        over->then(why);
    }
}

}  // namespace caesura::transit
