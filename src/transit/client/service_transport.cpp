#include "transit/client/service_transport.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "transit/client/remote_files.hpp"

namespace caesura::transit {
namespace {

/// Who makes a file waits so long for a service that was away; one that is there answers in
/// milliseconds.
constexpr double k_patience_s = 2.0;

}  // namespace

ServiceTransport::ServiceTransport(Connect connect, const ClientOptions& options,
                                   std::shared_ptr<Absence> absence, const base::Clock& clock)
    : connect_(std::move(connect)),
      options_(options),
      owner_(::getpid()),
      absence_(std::move(absence)),
      clock_(clock) {}

ServiceTransport::~ServiceTransport() {
    if (now_ && owner_ == ::getpid()) note_loss();
}

Result<std::shared_ptr<ServiceTransport>> ServiceTransport::make(Connect connect,
                                                                 const ClientOptions& options,
                                                                 std::shared_ptr<Absence> absence,
                                                                 const base::Clock& clock) {
    std::shared_ptr<ServiceTransport> made(
        new ServiceTransport(std::move(connect), options, std::move(absence), clock));
    if (!made->absence_->is_known()) {
        auto channel = made->connect_();
        if (!channel.ok()) return channel.status();
        auto client = Client::make(std::move(*channel), options, made->memory_);
        if (!client.ok()) return client.status();
        made->now_ = std::move(*client);
    } else {
        made->now_ = Client::absent(options, made->memory_, made->absence_->why());
        made->is_noted_ = true;
        made->mend(k_patience_s);
        if (made->is_lost() && options.on_loss == OnLoss::fail)
            return made->not_found_.ok() ? made->loss() : made->not_found_;
    }
    // From here on snapshots lie where they lie.
    made->memory_->may_make_arena = false;
    return made;
}

void ServiceTransport::note_loss() {
    if (is_noted_ || !now_->is_lost()) return;
    is_noted_ = true;
    absence_->lost(now_->cause(), clock_.now_s());
}

Status ServiceTransport::look() {
    auto channel = connect_();
    if (!channel.ok()) return channel.status();
    next_ = Client::begin(std::move(*channel), options_, memory_);
    next_since_s_ = clock_.now_s();
    return {};
}

void ServiceTransport::stop_looking(const Status& why) {
    not_found_ = why;
    absence_->lost(why, clock_.now_s());  // another Transport may have found it since
    if (next_) next_->give_up(why);
    next_.reset();
}

void ServiceTransport::mend(double at_most_s) {
    if (!now_->is_lost() || owner_ != ::getpid()) return;
    const bool writes_here = options_.on_loss == OnLoss::write_here;
    // A file that has been told an error has failed; the next one may be the next service's.
    if (!writes_here && at_most_s <= 0.0) return;
    note_loss();
    if (!next_) {
        if (writes_here && !absence_->may_look(clock_.now_s())) return;
        if (const Status status = look(); !status.ok()) return stop_looking(status);
    }
    const auto answer = next_->await_welcome(at_most_s);
    if (!answer) {
        if (clock_.now_s() - next_since_s_ >= Client::k_greeting_s)
            stop_looking(
                {StatusCode::io, fmt::format("no answer within {} s", Client::k_greeting_s)});
        return;
    }
    if (!answer->ok()) return stop_looking(*answer);
    now_ = std::move(next_);
    is_noted_ = false;
    ++returns_;
    absence_->found(clock_.now_s());
}

Result<std::unique_ptr<writer::DumpSink>> ServiceTransport::sink(writer::SinkOrder order,
                                                                 run::DumpTask& task,
                                                                 writer::Lanes lanes) {
    // A file that failed with its service stays with it.
    auto* const file = dynamic_cast<RemoteFile*>(&order.file.file());
    if (options_.on_loss == OnLoss::fail && file != nullptr)
        return file->client().sink(std::move(order), task, std::move(lanes));
    return now_->sink(std::move(order), task, std::move(lanes));
}

}  // namespace caesura::transit
