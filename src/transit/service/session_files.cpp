// A session's files: base::File, call by call, in the client's order.
#include <fmt/format.h>

#include <algorithm>

#include "store/recover.hpp"
#include "transit/service/session.hpp"

namespace caesura::transit {
namespace {

constexpr double k_longest_lock_s = 10.0;
constexpr double k_lock_again_s = 0.01;

}  // namespace

Session::OpenedFile* Session::file_of(std::uint64_t request, std::uint32_t file) {
    const auto found = files_.find(file);
    if (found != files_.end()) return &found->second;
    answer(request, {StatusCode::invalid_argument, fmt::format("file {} is not open", file)});
    return nullptr;
}

void Session::take(const OpenFile& message, base::Buffer&) {
    if (files_.size() >= workshop_.limits.files)
        return answer(message.request,
                      {StatusCode::no_space,
                       fmt::format("{} files are open, the most that a client may have here",
                                   files_.size())});
    auto opened = permit_.files->open_for(message.locking, message.path, message.mode);
    if (!opened.ok()) return answer(message.request, opened.status());
    workshop_.paths.add(message.path);
    const std::uint32_t number = next_file_++;
    files_[number] = {message.path, std::move(*opened), nullptr};
    answer(message.request, {}, number);
}

// Of a client that is gone the file may have a dump in flight, or half a commit.
void Session::close(OpenedFile file) {
    const bool had_dumps = file.shared != nullptr;
    file.shared.reset();
    file.file.reset();
    if (!workshop_.paths.remove(file.path)) return;
    if (!is_alive() && had_dumps && workshop_.recover && !workshop_.ending.load()) {
        const std::lock_guard lock(workshop_.hdf5);
        // What cannot be recovered now is left to `caesura recover`.
        (void)store::recover(*permit_.files, file.path);
    }
    workshop_.paths.recovered(file.path);
}

void Session::take(const CloseFile& message, base::Buffer&) {
    if (file_of(message.request, message.file) == nullptr) return;
    for (const auto& [number, dump] : dumps_)
        if (dump->order().file == message.file)
            return answer(message.request, {StatusCode::invalid_argument,
                                            fmt::format("dump {} of it is under way", number)});
    close(std::move(files_.extract(message.file).mapped()));
    answer(message.request, {});
}

void Session::take(const WriteFile& message, base::Buffer& payload) {
    OpenedFile* const file = file_of(message.request, message.file);
    if (file == nullptr) return;
    const std::span<const std::byte> bytes = payload.bytes();
    const std::span<const std::byte> one[] = {bytes};
    answer(message.request, message.early ? file->file->write_early(message.offset, one)
                                          : file->file->write_at(message.offset, one));
}

void Session::take(const ReadFile& message, base::Buffer&) {
    OpenedFile* const file = file_of(message.request, message.file);
    if (file == nullptr) return;
    auto buffer = pool_.take(message.bytes);
    if (!buffer.ok()) return answer(message.request, buffer.status());
    Status status = file->file->read_at(message.offset, buffer->bytes());
    if (!status.ok()) return answer(message.request, std::move(status));
    answer(message.request, {}, 0, std::move(*buffer));
}

void Session::take(const SyncFile& message, base::Buffer&) {
    if (OpenedFile* const file = file_of(message.request, message.file))
        answer(message.request, file->file->sync());
}

void Session::take(const TruncateFile& message, base::Buffer&) {
    if (OpenedFile* const file = file_of(message.request, message.file))
        answer(message.request, file->file->truncate(message.bytes));
}

void Session::take(const SizeOfFile& message, base::Buffer&) {
    OpenedFile* const file = file_of(message.request, message.file);
    if (file == nullptr) return;
    const auto size = file->file->size();
    answer(message.request, size.status(), size.ok() ? *size : 0);
}

// A client that has just ended, or died, may have the file for as long as its lease: who starts a
// program again at once shall not be told that another one is at work.
void Session::take(const LockFile& message, base::Buffer&) {
    lock(message, base::Clock::steady().now_s() + std::min(workshop_.lease_s, k_longest_lock_s));
}

void Session::lock(const LockFile& message, double until_s) try {
    OpenedFile* const file = file_of(message.request, message.file);
    if (file == nullptr) return;
    const Status status = file->file->lock(message.exclusive);
    const bool again = !status.ok() && base::Clock::steady().now_s() < until_s &&
                       workshop_.paths.is_anothers(file->path);
    if (!again) return answer(message.request, status);
    lane_.give_later(k_lock_again_s, [self = shared_from_this(), message, until_s] {
        if (self->is_alive()) self->lock(message, until_s);
    });
} catch (const std::bad_alloc&) {
    refuse({StatusCode::no_space, "the service is out of memory"});
}

void Session::take(const UnlockFile& message, base::Buffer&) {
    OpenedFile* const file = file_of(message.request, message.file);
    if (file == nullptr) return;
    file->file->unlock();
    answer(message.request, {});
}

void Session::take(const SyncDirectory& message, base::Buffer&) {
    answer(message.request, permit_.files->sync_directory_of(message.path));
}

}  // namespace caesura::transit
