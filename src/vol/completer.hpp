// Closed files are completed as soon as all their blocks lie there, without a call of the
// application. The committing rank's process has one thread for it, which makes the commit from the
// file alone, as `recover` does, by an HDF5 of our own (src/completion). The other ranks tell it by
// messages (src/message) that their blocks lie there.
//
// Without such a library beside the connector, or a way for messages, the application's next call
// completes the file, as pending_files.hpp says.
//
// Invariants:
//  - A Completion makes its commit at most once, and never after take_back() has said true.
//  - No thread of this file calls MPI or the application's HDF5.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include "base/clock.hpp"
#include "base/event.hpp"
#include "base/helper_threads.hpp"
#include "message/news.hpp"
#include "store/shared_file.hpp"

namespace caesura::vol {

/// One closed file on the rank that commits it.
class Completion final : public base::HelperCall, public std::enable_shared_from_this<Completion> {
  public:
    struct What {
        store::SharedFile file;
        int ranks = 1;         ///< whose blocks it waits for
        bool durable = false;  ///< it waits for the disk
        /// On the completing thread, after a commit that succeeded.
        std::function<void()> then;
    };
    explicit Completion(What what)
        : what_(std::move(what)),
          left_(what_.ranks),
          heard_(static_cast<std::size_t>(what_.ranks)) {}

    /// The number by which ranks tell of it.
    std::uint64_t number() const { return number_; }
    /// This rank has all its blocks in the file; told once or more often. Any thread.
    void heard(int rank);
    /// Is it being completed, or about to be? Any thread.
    bool at_work() const;
    /// Application's thread. If the commit has not begun, it never will. Else wait for its end.
    /// @return  was it taken back?
    bool take_back();
    /// Application's thread: these ranks (1) have all their blocks there, the others never will.
    /// If that is all, wait for the end of the commit. @return  has it ended? Else it was taken
    /// back.
    bool ends_with(std::span<const std::uint8_t> ranks);
    /// Has its commit ended with an error? Any thread.
    bool has_failed() const { return state_ == State::ended && !outcome_.ok(); }
    /// After has_failed(), ends_with(), or take_back() that said false: what came of the commit.
    const Status& outcome() const { return outcome_; }
    /// And how long ago.
    double since_s() const { return base::Clock::steady().now_s() - ended_s_; }

  private:
    friend class Completer;
    enum class State : std::uint8_t { waiting, given, running, ended, taken_back };
    void make() override;

    What what_;
    std::uint64_t number_ = 0;
    std::atomic<int> left_;
    std::vector<std::atomic<bool>> heard_;  ///< by rank
    std::atomic<State> state_{State::waiting};
    base::Event ended_event_;
    Status outcome_;
    double ended_s_ = 0.0;
    std::shared_ptr<Completion> self_;  ///< while the helper has it
};

/// Where ranks tell that their blocks of a closed file lie in it. Travels as bytes.
struct Hearer {
    message::Address address;
    std::uint64_t number = 0;  ///< Completion::number(); 0: the next call completes the file
};

namespace completer {

/// Is there a thread that completes what this process has for itself? Application's thread.
bool is_there();
/// From now on ranks may tell of it. @param beyond_node  some of them are on other nodes.
/// @return null if that is not possible. Application's thread.
std::shared_ptr<Completion> begin(Completion::What what, bool beyond_node);
/// Where this process hears of its Completions; nothing if it hears nothing.
message::Address address();

}  // namespace completer
}  // namespace caesura::vol
