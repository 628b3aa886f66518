#include "transit/client/remote_files.hpp"

#include <cstring>
#include <filesystem>

namespace caesura::transit {
namespace {

/// Of one file, for a service on another node.
constexpr std::uint64_t k_most_unsynced_bytes = std::uint64_t{64} << 20;

/// A length that may have been lost. Other ranks may have written behind it since, so the file is
/// never made shorter: what is left of an older file behind the end is nobody's.
Status make_at_least(base::File& file, std::uint64_t bytes) {
    const auto size = file.size();
    if (!size.ok()) return size.status();
    return *size < bytes ? file.truncate(bytes) : Status();
}

}  // namespace

std::string absolute(const std::string& path) {
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(path, error);
    return error ? path : whole.lexically_normal().string();
}

Result<std::unique_ptr<base::File>> RemoteFiles::open(const std::string& path, Mode mode) {
    const std::uint64_t request = client_.next_number();
    OpenFile message;
    message.request = request;
    message.path = absolute(path);
    message.mode = mode;
    message.locking = base::file_locking(asked_);
    auto reply = client_.ask(request, message);
    if (reply.ok())
        return std::unique_ptr<base::File>(std::make_unique<RemoteFile>(
            client_.shared_from_this(), message, static_cast<std::uint32_t>(reply->answer.number)));
    if (!client_.is_lost() || !client_.writes_here()) return reply.status();
    client_.wait_for_end();
    auto here = posix(asked_).open(path, mode);
    if (!here.ok()) return here.status();
    return std::unique_ptr<base::File>(
        std::make_unique<RemoteFile>(client_.shared_from_this(), message, 0, std::move(*here)));
}

Status RemoteFiles::sync_directory_of(const std::string& path) {
    const std::uint64_t request = client_.next_number();
    SyncDirectory message;
    message.request = request;
    message.path = absolute(path);
    auto reply = client_.ask(request, message);
    if (reply.ok() || !client_.is_lost() || !client_.writes_here()) return reply.status();
    return posix().sync_directory_of(path);
}

RemoteFile::~RemoteFile() {
    leave_again();
    close_at(client_, number_);
}

void RemoteFile::close_at(Client& client, std::uint32_t number) {
    if (client.is_lost()) return;
    const std::uint64_t request = client.next_number();
    (void)client.ask(request, CloseFile{request, number});
}

void RemoteFile::leave_again() {
    const std::lock_guard lock(again_mutex_);
    if (const auto again = std::exchange(again_, std::nullopt))
        close_at(*again->client, again->number);
}

Result<std::uint32_t> RemoteFile::number_at(const std::shared_ptr<Client>& client) {
    if (client == kept_) return number_;
    const std::lock_guard lock(again_mutex_);
    if (again_ && again_->client == client) return again_->number;
    again_.reset();  // that client was lost, too
    OpenFile open;
    open.request = client->next_number();
    open.path = path_;
    open.mode = base::FileSystem::Mode::read_write;
    open.locking = asked_;
    const auto opened = client->ask(open.request, open);
    if (!opened.ok()) return opened.status();
    const auto number = static_cast<std::uint32_t>(opened->answer.number);
    LockFile locked;
    locked.request = client->next_number();
    locked.file = number;
    locked.exclusive = false;
    if (asked_ != base::FileLocking::off)
        if (const Status status = client->ask(locked.request, locked).status(); !status.ok()) {
            close_at(*client, number);
            return status;
        }
    again_ = Again{client, number};
    return number;
}

Result<base::File*> RemoteFile::here() {
    client_.wait_for_end();
    const std::lock_guard guard(mutex_);
    if (here_) return here_.get();
    // It has been made.
    const auto mode =
        mode_ == base::FileSystem::Mode::read ? mode_ : base::FileSystem::Mode::read_write;
    auto opened = base::FileSystem::posix(asked_).open(path_, mode);
    if (!opened.ok()) return opened.status();
    if (lock_ != Lock::none)
        if (Status status = (*opened)->lock(lock_ == Lock::exclusive); !status.ok()) return status;
    for (const Change& change : unsynced_) {
        const Status status = change.cuts ? make_at_least(**opened, change.offset)
                                          : (*opened)->write_at(change.offset, change.bytes);
        if (!status.ok()) return status;
    }
    unsynced_.clear();
    unsynced_bytes_ = 0;
    here_ = std::move(*opened);
    return here_.get();
}

template <class Message, class Here>
Result<Client::Reply> RemoteFile::ask(Message message, Here&& what,
                                      std::span<const std::span<const std::byte>> payload) {
    message.request = client_.next_number();
    message.file = number_;
    auto reply = client_.ask(message.request, message, payload);
    if (reply.ok() || !client_.is_lost() || !client_.writes_here()) return reply;
    auto own = here();
    if (!own.ok()) return own.status();
    Client::Reply done;
    if (Status status = what(**own, done); !status.ok()) return status;
    return done;
}

Status RemoteFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
    const std::span<const std::byte> one[] = {bytes};
    return write_at(offset, one);
}

Status RemoteFile::write_at(std::uint64_t offset,
                            std::span<const std::span<const std::byte>> buffers) {
    std::uint64_t bytes = 0;
    for (const auto& buffer : buffers) bytes += buffer.size();
    if (bytes <= k_io_limit_bytes) return write_once(offset, bytes, buffers);
    // In parts that the service takes.
    for (const auto& buffer : buffers)
        for (std::size_t at = 0; at < buffer.size(); at += k_io_limit_bytes) {
            const std::span<const std::byte> part[] = {
                buffer.subspan(at, std::min<std::size_t>(k_io_limit_bytes, buffer.size() - at))};
            if (Status status = write_once(offset, part[0].size(), part); !status.ok())
                return status;
            offset += part[0].size();
        }
    return {};
}

Status RemoteFile::write_once(std::uint64_t offset, std::uint64_t bytes,
                              std::span<const std::span<const std::byte>> buffers) {
    if (bytes == 0) return {};
    WriteFile message;
    message.offset = offset;
    message.payload_bytes = bytes;
    const auto reply = ask(
        message, [&](base::File& own, Client::Reply&) { return own.write_at(offset, buffers); },
        buffers);
    if (!reply.ok() || !remembers()) return reply.status();
    Change change{offset, {}, false};
    for (const auto& buffer : buffers)
        change.bytes.insert(change.bytes.end(), buffer.begin(), buffer.end());
    return remember(std::move(change));
}

bool RemoteFile::remembers() const {
    return client_.writes_here() && !client_.is_lost() && !client_.is_of_this_node();
}

Status RemoteFile::remember(Change change) {
    if (!remembers()) return {};
    {
        const std::lock_guard guard(mutex_);
        unsynced_bytes_ += change.bytes.size();
        unsynced_.push_back(std::move(change));
        if (unsynced_bytes_ < k_most_unsynced_bytes) return {};
    }
    return sync();
}

Status RemoteFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += k_io_limit_bytes) {
        const std::span<std::byte> part =
            bytes.subspan(at, std::min<std::size_t>(k_io_limit_bytes, bytes.size() - at));
        ReadFile message;
        message.offset = offset + at;
        message.bytes = part.size();
        bool filled = false;
        auto reply = ask(message, [&](base::File& own, Client::Reply&) {
            filled = true;
            return own.read_at(offset + at, part);
        });
        if (!reply.ok()) return reply.status();
        if (filled) continue;
        if (reply->payload.size() != part.size())
            return {StatusCode::corrupt, path_ + ": the service has read another number of bytes"};
        std::memcpy(part.data(), reply->payload.data(), part.size());
    }
    return {};
}

Status RemoteFile::sync() {
    std::size_t before = 0;
    {
        const std::lock_guard guard(mutex_);
        before = unsynced_.size();
    }
    const auto reply = ask(SyncFile{}, [](base::File& own, Client::Reply&) { return own.sync(); });
    if (!reply.ok()) return reply.status();
    const std::lock_guard guard(mutex_);
    const auto end =
        unsynced_.begin() + static_cast<std::ptrdiff_t>(std::min(before, unsynced_.size()));
    for (auto one = unsynced_.begin(); one != end; ++one) unsynced_bytes_ -= one->bytes.size();
    unsynced_.erase(unsynced_.begin(), end);
    return {};
}

Status RemoteFile::truncate(std::uint64_t bytes) {
    TruncateFile message;
    message.bytes = bytes;
    const Status status =
        ask(message, [&](base::File& own, Client::Reply&) { return own.truncate(bytes); }).status();
    return status.ok() ? remember({bytes, {}, true}) : status;
}

Result<std::uint64_t> RemoteFile::size() {
    const auto reply = ask(SizeOfFile{}, [](base::File& own, Client::Reply& done) {
        const auto size = own.size();
        if (size.ok()) done.answer.number = *size;
        return size.status();
    });
    if (!reply.ok()) return reply.status();
    return reply->answer.number;
}

// A file that cannot be opened here could not be written here, either.
void RemoteFile::guard(bool locked) {
    if (!locked || !client_.writes_here()) return guard_.reset();
    auto own = base::FileSystem::posix(asked_).open(path_, base::FileSystem::Mode::read);
    if (own.ok() && (*own)->lock(false).ok()) guard_ = std::move(*own);
}

Status RemoteFile::lock(bool exclusive) {
    if (asked_ == base::FileLocking::off) return {};
    LockFile message;
    message.exclusive = exclusive;
    if (exclusive) guard(false), leave_again();
    const Status status =
        ask(message, [&](base::File& own, Client::Reply&) { return own.lock(exclusive); }).status();
    if (status.ok() && !exclusive) guard(true);
    const std::lock_guard lock(mutex_);
    if (status.ok()) lock_ = exclusive ? Lock::exclusive : Lock::shared;
    return status;
}

void RemoteFile::unlock() {
    guard(false);
    leave_again();
    (void)ask(UnlockFile{}, [](base::File& own, Client::Reply&) {
        own.unlock();
        return Status{};
    });
    const std::lock_guard guard(mutex_);
    lock_ = Lock::none;
}

}  // namespace caesura::transit
