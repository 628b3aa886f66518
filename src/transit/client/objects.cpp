#include "transit/client/objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/invalid.hpp"
#include "transit/client/use.hpp"

namespace caesura::transit {
namespace {

// Requests in the service at once: finds and the like come beside them.
constexpr std::size_t k_most_sent = k_requests_limit / 2;

}  // namespace

// ------------------------------------------------------------------------------- tickets

Status Ticket::wait() const {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [&] { return state_->left == 0; });
    return state_->status;
}

bool Ticket::wait_for(double seconds) const {
    std::unique_lock lock(state_->mutex);
    return state_->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                    [&] { return state_->left == 0; });
}

bool Ticket::is_done() const {
    const std::lock_guard lock(state_->mutex);
    return state_->left == 0;
}

void Ticket::State::end(const Status& of_piece, base::Buffer came) {
    const std::lock_guard lock(mutex);
    if (status.ok()) status = of_piece;
    try {
        const auto bytes = std::as_const(came).bytes();
        payload.assign(bytes.begin(), bytes.end());
    } catch (const std::bad_alloc&) {
        status = {StatusCode::no_space, "out of memory"};
    }
    --left;
    changed.notify_all();
}

Result<lambda::Results> RunTicket::wait() const {
    if (Status status = Ticket::wait(); !status.ok()) return status;
    const std::lock_guard lock(state_->mutex);
    return lambda::Results::parse(state_->payload);
}

// ----------------------------------------------------------------------------- connection

Result<std::unique_ptr<Objects>> Objects::connect(const std::string& service,
                                                  const std::string& application,
                                                  const Encryption& encryption) {
    constexpr std::string_view k_scheme = "service:";
    if (!service.starts_with(k_scheme))
        return base::invalid(
            fmt::format("'{}' is no service; use service:ADDRESS, as it prints", service));
    lambda::Operator by;
    if (!encryption.key_file.empty()) {
        auto key = lambda::Key::read(encryption.key_file);
        if (!key.ok()) return key.status();
        by.key = std::move(*key);
    }
    auto client = connect_client(std::string_view(service).substr(k_scheme.size()),
                                 {application, 0, 1, 0, {}});
    if (!client.ok()) return client.status();
    return std::make_unique<Objects>(std::move(*client), std::move(by), encryption.only);
}

Objects::Objects(std::shared_ptr<Client> client, lambda::Operator by, bool encrypted_only)
    : client_(std::move(client)), chains_(std::move(by), encrypted_only) {}

Objects::~Objects() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return under_way_ == 0; });
}

// One more request, as soon as the service takes it. Gets wait in a list instead: see pump().
void Objects::enter() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sent_ < k_most_sent; });
    ++under_way_;
    ++sent_;
}

void Objects::begin(std::uint64_t request, const ClientMessage& message,
                    std::vector<std::span<const std::byte>> payload,
                    const std::shared_ptr<Ticket::State>& state, std::shared_ptr<void> held) {
    enter();
    const auto then = [this, state, held = std::move(held)](Result<Client::Reply> reply) {
        state->end(reply.status(), reply.ok() ? std::move(reply->payload) : base::Buffer());
        {
            const std::lock_guard lock(mutex_);
            --sent_;
        }
        pump();
        const std::lock_guard lock(mutex_);
        --under_way_;
        changed_.notify_all();
    };
    client_->ask_later(request, message, std::move(payload), then);
}

Result<Client::Reply> Objects::ask(std::uint64_t request, const ClientMessage& message) {
    struct Waiting {
        std::mutex mutex;
        std::condition_variable changed;
        std::optional<Result<Client::Reply>> reply;
    };
    const auto waiting = std::make_shared<Waiting>();
    if (const auto bytes = encode(message); !bytes.ok()) return bytes.status();  // the caller's
    client_->ask_later(request, message, {}, [waiting](Result<Client::Reply> reply) {
        const std::lock_guard lock(waiting->mutex);
        waiting->reply = std::move(reply);
        waiting->changed.notify_all();
    });
    std::unique_lock lock(waiting->mutex);
    const auto over = [&] { return waiting->reply.has_value(); };
    const double patience_s = patience_s_.load();
    if (patience_s > 0.0 &&
        !waiting->changed.wait_for(lock, std::chrono::duration<double>(patience_s), over)) {
        lock.unlock();  // giving up ends every request, this one too
        client_->give_up({StatusCode::io, fmt::format("no answer within {} s", patience_s)});
        lock.lock();
    }
    waiting->changed.wait(lock, over);
    return std::move(*waiting->reply);
}

// -------------------------------------------------------------------------------- objects

Result<ObjectNumber> Objects::create(const NewObject& object) {
    CreateObject message{client_->next_number(), object.container, object.name,  object.dtype,
                         object.shape,           object.time,      object.bound, object.keep,
                         object.guest,           object.tags,      object.chain};
    if (Status status = chains_.check(message); !status.ok()) return status;
    const auto reply = ask(message.request, message);
    if (!reply.ok()) return reply.status();
    chains_.created(reply->answer.number, message);
    return reply->answer.number;
}

Status Objects::remove(ObjectNumber object) {
    const std::uint64_t request = client_->next_number();
    const Status status = ask(request, DeleteObject{request, object}).status();
    if (status.ok()) chains_.forget(object);
    return status;
}

Ticket Objects::put_bytes(ObjectNumber object, const Box& box, const void* values, DType dtype) {
    const auto chain = chain_of(object);
    if (!chain.ok()) return ended(chain.status());
    if (*chain) return put_chained(**chain, box, values, dtype);
    PutRegion message{client_->next_number(), object, dtype, box, 0, false};
    message.payload_bytes = box.extent.count() * size_of(dtype);
    const std::span payload(static_cast<const std::byte*>(values), message.payload_bytes);
    return send_region(message, payload);
}

Ticket Objects::ended(const Status& status) {
    Ticket ticket;
    ticket.state_->end(status);
    return ticket;
}

Ticket Objects::send_region(PutRegion message, std::span<const std::byte> payload,
                            std::shared_ptr<void> held) {
    Ticket ticket;
    Status status = encode(message).status();
    const std::uint64_t most = client_->welcome().limits.block_bytes;
    if (status.ok() && message.payload_bytes > most)
        status = base::invalid(fmt::format("a region of {} bytes; the service takes {} at once",
                                           message.payload_bytes, most));
    if (status.ok() && !client_->spend(message.payload_bytes)) status = client_->loss();
    if (!status.ok()) return ticket.state_->end(status), ticket;
    begin(message.request, message, {payload}, ticket.state_, std::move(held));
    return ticket;
}

// ------------------------------------------------------------------------------------ get

struct Objects::Piece {
    GetRegion message;
    std::uint64_t bytes = 0;
    std::byte* target = nullptr;  ///< null: what comes stays with the ticket
    std::shared_ptr<Ticket::State> state;
};

// In slabs along the first axis that has several, as large as one answer may be.
Ticket Objects::get_bytes(ObjectNumber object, const Box& box, void* values, DType dtype) {
    if (Status status = encode(GetRegion{0, object, box, false}).status(); !status.ok())
        return ended(status);
    const auto chain = chain_of(object);
    if (!chain.ok()) return ended(chain.status());
    if (*chain) return ended(get_chained(**chain, box, values, dtype));
    Ticket ticket;
    const std::uint64_t most = client_->welcome().limits.io_bytes;
    std::vector<std::shared_ptr<Piece>> pieces;
    std::byte* target = static_cast<std::byte*>(values);
    const auto cut = [&](auto&& self, const Box& part) -> void {
        const std::uint64_t bytes = part.extent.count() * size_of(dtype);
        int axis = 0;
        while (axis + 1 < part.extent.rank() && part.extent[axis] == 1) ++axis;
        if (bytes <= most || part.extent[axis] == 1) {
            pieces.push_back(std::make_shared<Piece>(Piece{
                {client_->next_number(), object, part, false}, bytes, target, ticket.state_}));
            target += bytes;
            return;
        }
        const std::uint64_t step = std::max<std::uint64_t>(1, most / (bytes / part.extent[axis]));
        for (std::uint64_t at = 0; at < part.extent[axis]; at += step) {
            Box slab = part;
            slab.offset[axis] += at;
            slab.extent[axis] = std::min(step, part.extent[axis] - at);
            self(self, slab);
        }
    };
    cut(cut, box);
    ticket.state_->left = pieces.size();
    read(std::move(pieces));
    return ticket;
}

void Objects::read(std::vector<std::shared_ptr<Piece>> pieces) {
    {
        const std::lock_guard lock(mutex_);
        to_read_.insert(to_read_.end(), pieces.begin(), pieces.end());
        under_way_ += pieces.size();
    }
    pump();
}

Ticket Objects::read_chained(ObjectNumber object, const Box& box, std::uint64_t most_bytes) {
    Ticket ticket;
    read({std::make_shared<Piece>(
        Piece{{client_->next_number(), object, box, true}, most_bytes, nullptr, ticket.state_})});
    return ticket;
}

// No more at once than the service answers a client.
void Objects::pump() {
    const std::uint64_t most = client_->welcome().credits_bytes;
    for (;;) {
        std::shared_ptr<Piece> next;
        {
            const std::lock_guard lock(mutex_);
            if (to_read_.empty() || sent_ >= k_most_sent) return;
            if (reading_bytes_ > 0 && reading_bytes_ + to_read_.front()->bytes > most) return;
            next = std::move(to_read_.front());
            to_read_.pop_front();
            ++sent_;
            reading_bytes_ += next->bytes;
        }
        get_piece(next);
    }
}

void Objects::get_piece(const std::shared_ptr<Piece>& piece) {
    client_->ask_later(
        piece->message.request, piece->message, {}, [this, piece](Result<Client::Reply> reply) {
            Status status = reply.status();
            const bool stays = piece->target == nullptr;
            if (status.ok() && !stays && reply->payload.size() != piece->bytes)
                status = base::invalid(
                    fmt::format("object {}: {} bytes at {}, not {}: it is of another type",
                                piece->message.object, reply->payload.size(),
                                to_string(piece->message.box), piece->bytes));
            base::Buffer came;
            if (status.ok() && stays)
                came = std::move(reply->payload);
            else if (status.ok())
                std::memcpy(piece->target, reply->payload.data(), piece->bytes);
            {
                const std::lock_guard lock(mutex_);
                --sent_;
                reading_bytes_ -= piece->bytes;
            }
            pump();
            piece->state->end(status, std::move(came));
            const std::lock_guard lock(mutex_);
            --under_way_;
            changed_.notify_all();
        });
}

// ------------------------------------------------------------------------------ find, run

Result<Objects::Found> Objects::find(const Query& query) {
    Found all;
    FindObjects message{0,
                        query.container,
                        query.name,
                        query.tags,
                        query.times,
                        query.values,
                        query.regions,
                        k_found_limit,
                        0};
    for (;;) {
        message.request = client_->next_number();
        auto reply = ask(message.request, message);
        if (!reply.ok()) return reply.status();
        if (!reply->found) return Status{StatusCode::corrupt, "an answer of another kind"};
        FoundObjects& found = *reply->found;
        all.regions_kept += found.regions_kept;
        all.regions_skipped += found.regions_skipped;
        for (const ObjectInfo& object : found.objects)
            if (Status status = chains_.learn_found(object); !status.ok()) return status;
        const bool more = found.more && !found.objects.empty();
        if (more) message.after = found.objects.back().id;
        std::move(found.objects.begin(), found.objects.end(), std::back_inserter(all.objects));
        if (!more) return all;
    }
}

RunTicket Objects::run(ObjectNumber object, const std::string& call, std::optional<Box> box) {
    RunTicket ticket;
    const RunFunction message{client_->next_number(), object, box, call};
    if (Status status = encode(message).status(); !status.ok())
        return ticket.state_->end(status), ticket;
    begin(message.request, message, {}, ticket.state_);
    return ticket;
}

Ticket Objects::persist(const Persist& what) {
    Ticket ticket;
    const PersistObjects message{client_->next_number(), what.path,  what.container,
                                 what.objects,           what.codec, what.bound};
    if (Status status = encode(message).status(); !status.ok())
        return ticket.state_->end(status), ticket;
    begin(message.request, message, {}, ticket.state_);
    return ticket;
}

void Objects::run_pass(ObjectNumber object, std::vector<Box> boxes, std::vector<std::byte> state,
                       std::function<void(Result<std::vector<std::byte>>)> then) {
    const RunPass message{client_->next_number(), object, std::move(boxes), std::move(state)};
    if (Status status = encode(message).status(); !status.ok()) return then(status);
    begin_unbounded();
    client_->ask_later(message.request, message, {},
                       [this, then = std::move(then)](Result<Client::Reply> reply) {
                           if (!reply.ok()) {
                               then(reply.status());
                           } else {
                               const auto bytes = std::as_const(reply->payload).bytes();
                               then(std::vector<std::byte>(bytes.begin(), bytes.end()));
                           }
                           end_unbounded();
                       });
}

void Objects::remove_later(ObjectNumber object) {
    const std::uint64_t request = client_->next_number();
    chains_.forget(object);
    begin_unbounded();
    client_->ask_later(request, DeleteObject{request, object}, {},
                       [this](const Result<Client::Reply>&) { end_unbounded(); });
}

void Objects::begin_unbounded() {
    const std::lock_guard lock(mutex_);
    ++under_way_;
}

void Objects::end_unbounded() {
    const std::lock_guard lock(mutex_);
    --under_way_;
    changed_.notify_all();
}

Result<std::string> Objects::functions() {
    const std::uint64_t request = client_->next_number();
    auto reply = ask(request, ListFunctions{request});
    if (!reply.ok()) return reply.status();
    const auto bytes = std::as_const(reply->payload).bytes();
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace caesura::transit
