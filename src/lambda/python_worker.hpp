// A Python process that runs the operator's functions, within limits.
//
// Invariants:
//  - Whatever a function does, call() returns: with its results, or with an error that names it,
//    within the wall-clock limit and the time that the regions themselves take.
//  - After a crash, a limit or nonsense on the connection the process is killed, and with it all
//    that it has started and that has not left its group on purpose; the next call begins with a
//    fresh one. That the process ended is seen even where a child of it keeps the connection open.
//  - The process inherits three descriptors and an environment of a few names; its module path has
//    no current directory and nothing of the user's.
//  - A thread at idle priority never has the process to itself: another one, which must not wait
//  for
//    it, may need it next (decision D22). So its calls, and the regions that they take, are a
//    helper's, at normal priority, as the process itself is.
//  - Values reach it through memory that it may read and this process never maps: what it does to
//    it harms nobody.
// The connection is a pair of sockets, not pipes: writing to a pipe whose reader died is a signal
// for the whole service.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/helper_threads.hpp"
#include "lambda/call.hpp"
#include "lambda/region.hpp"
#include "lambda/results.hpp"

namespace caesura::lambda {

struct PythonLimits {
    std::uint64_t memory_bytes =
        std::uint64_t{1} << 30;  ///< beside what it has after starting; the region's values count
    double cpu_s = 60.0;         ///< of one call; whole seconds, rounded up
    double wall_s = 120.0;       ///< of one call, without waiting for regions
    double start_s = 60.0;       ///< until it has loaded its files
};

struct PythonSettings {
    std::string python = "python3";  ///< found in PATH
    std::string module_path;         ///< PYTHONPATH: where the package caesura is, if not installed
    std::vector<std::string> files;  ///< checked: see owned_path.hpp
    PythonLimits limits;
};

/// Any thread; one call at a time, the others wait.
class PythonWorker {
  public:
    /// What the process says that there is.
    struct Described {
        std::string name, help;
        bool is_iterative = false;
        std::vector<Parameter> parameters;
    };
    struct Hello {
        std::vector<Described> functions;
        std::vector<std::string> errors;  ///< of files that could not be loaded
    };

    /// On a thread of normal priority.
    explicit PythonWorker(PythonSettings settings) : settings_(std::move(settings)) {}
    ~PythonWorker();
    PythonWorker(const PythonWorker&) = delete;
    PythonWorker& operator=(const PythonWorker&) = delete;

    /// Start the process, if none runs. Errors: io (no such Python, no memory to share), internal
    /// (it ended, took too long, or said nonsense), with what is known of why.
    Result<Hello> start();
    /// Run a function. Exactly one of region and regions, which another thread may ask for the next
    /// one while this one waits.
    /// Errors: those of start(); invalid_argument (the function raised, or returned nonsense; the
    /// message has its words and place), no_space (memory), cancelled (a limit), internal (crash).
    Result<Results> call(const std::string& function, const Arguments& arguments,
                         const RegionView* region, RegionIterator* regions);
    /// How many processes were started so far.
    int starts() const { return starts_; }

  private:
    struct Message {
        char letter = 0;
        std::string body;
    };
    struct Allowance {
        double limit_s;
        double left_s = limit_s;
    };
    Status spawn();
    void stop();
    bool has_ended() const;
    Status send(char letter, const std::string& body, const std::string& who);
    Result<Message> receive(Allowance& time, const std::string& who);
    Status read_all(char* to, std::size_t n, Allowance& time, const std::string& who);
    Status put_values(const RegionView& region);
    Status ended(const std::string& who);
    Status limit(int resource, std::uint64_t soft) const;
    Status limit_memory() const;
    Status limit_cpu() const;
    Result<Hello> read_hello();
    Result<Results> call_here(const std::string& function, const Arguments& arguments,
                              const RegionView* region, RegionIterator* regions);
    Result<Results> converse(const std::string& function, RegionIterator* regions);
    Status give_next(RegionIterator& regions, const std::string& who);

    const PythonSettings settings_;
    std::mutex mutex_;  ///< no thread at idle priority takes it
    pid_t process_ = -1;
    int connection_ = -1, values_ = -1;
    int end_ = -1;  // readable when the process has ended; -1 before Linux 5.3
    std::atomic<int> starts_{0};
    Hello hello_;
    base::HelperThreads helper_;  ///< one; ends first
};

}  // namespace caesura::lambda
