#include "vol/on_term.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <future>
#include <thread>

#include "base/no_signals.hpp"
#include "vol/losses.hpp"
#include "vol/pending_files.hpp"
#include "vol/report.hpp"
#include "writer/open_writer.hpp"

namespace caesura::vol {
namespace {

using Clock = std::chrono::steady_clock;

int g_signal_fd = -1;
pid_t g_watched = 0;  ///< a forked child has the handler and no thread
struct sigaction g_before {};

bool has_handler(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) != 0 ||
           (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

bool is_default(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

void end_by_default() {
    struct sigaction action {};
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGTERM, &action, nullptr);
    ::kill(::getpid(), SIGTERM);
}

extern "C" void caesura_on_term(int number, siginfo_t* info, void* context) {
    const int error = errno;
    if (::getpid() != g_watched) {
        if (is_default(g_before)) end_by_default();
    } else {
        const std::uint64_t one = 1;
        (void)!::write(g_signal_fd, &one, sizeof one);
    }
    if ((g_before.sa_flags & SA_SIGINFO) != 0)
        g_before.sa_sigaction(number, info, context);
    else if (has_handler(g_before))
        g_before.sa_handler(number);
    errno = error;
}

void say_last_words() {
    try {
        losses::give_up_all("SIGTERM");
        print_closing_line(known_world_rank());
        (void)write_reports();
    } catch (const std::exception&) {
        return;  // out of memory, and at the end anyway
    }
}

void have_last_words() {
    constexpr auto k_patience = std::chrono::seconds(2);
    const auto said = std::make_shared<std::promise<void>>();
    const auto done = said->get_future();
    try {
        std::thread([said] {
            say_last_words();
            said->set_value();
        }).detach();
    } catch (const std::exception&) {
        return;  // no thread is to be had
    }
    (void)done.wait_for(k_patience);
}

void wait_and_end(double term_s) {
    std::uint64_t count = 0;
    while (::read(g_signal_fd, &count, sizeof count) < 0 && errno == EINTR) {
    }
    writer::OpenWriter::hurry_all();
    if (!is_default(g_before)) return;
    // Ranks leave a commit at about the same time: the last one must not be ended inside it.
    constexpr auto k_after_commit = std::chrono::milliseconds(500);
    constexpr auto k_look = std::chrono::milliseconds(10);
    const auto end = Clock::now() + std::chrono::duration<double>(term_s);
    auto busy = Clock::now();
    while (Clock::now() < end && Clock::now() - busy < k_after_commit) {
        if (!writer::OpenWriter::all_have_written() || pending_files::count() > 0)
            busy = Clock::now();
        std::this_thread::sleep_for(k_look);
    }
    have_last_words();
    end_by_default();
}

}  // namespace

void watch_term(const Config& config) {
    if (!config.commit_on_term || g_watched == ::getpid()) return;
    g_signal_fd = ::eventfd(0, EFD_CLOEXEC);
    if (g_signal_fd < 0) return;  // as without the setting
    g_watched = ::getpid();
    {
        const base::NoSignals no_signals;
        std::thread(wait_and_end, config.term_s).detach();
    }
    struct sigaction action {};
    action.sa_sigaction = caesura_on_term;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigaction(SIGTERM, &action, &g_before);
}

}  // namespace caesura::vol
