#include "checkpoint/background.hpp"

#include <exception>
#include <new>
#include <system_error>

namespace caesura::checkpoint {
namespace {

/// What a job throws is its error: out of a thread it would end the application.
Status status_of(const Background::Job& job) try { return job(); } catch (const std::bad_alloc&) {
    return {StatusCode::no_space, "out of memory in the background"};
} catch (const std::exception& error) {
    return {StatusCode::internal, std::string("in the background: ") + error.what()};
}

}  // namespace

Background::~Background() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    given_changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

Result<std::uint64_t> Background::give(Job job) {
    if (!thread_.joinable()) {
        try {
            thread_ = std::thread([this] { run(); });
        } catch (const std::system_error& error) {
            return Status{StatusCode::no_space,
                          std::string("no thread for the background: ") + error.what()};
        }
    }
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    given_changed_.notify_one();
    return ++given_;
}

std::vector<Background::Done> Background::take_done() {
    const std::lock_guard lock(mutex_);
    return std::exchange(done_, {});
}

void Background::wait(std::uint64_t ticket) {
    std::unique_lock lock(mutex_);
    done_changed_.wait(lock, [&] { return finished_ >= ticket; });
}

void Background::run() {
    std::unique_lock lock(mutex_);
    while (true) {
        given_changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        Job job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        Status status = status_of(job);
        job = nullptr;
        lock.lock();
        done_.push_back({++finished_, std::move(status)});
        done_changed_.notify_all();
    }
}

}  // namespace caesura::checkpoint
