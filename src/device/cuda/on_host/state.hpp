// Inside of the stand-in for CUDA's runtime (on_host.hpp): one lock, streams, memory.
//
// Invariants:
//  - Everything here is under State::mutex, except what says otherwise.
//  - An operation runs on its stream's thread, without the lock.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "device/cuda/on_host/on_host.hpp"

namespace caesura::device::on_host {

using Lock = std::unique_lock<std::mutex>;

/// How far a stream has come; outlives it.
struct Progress {
    std::uint64_t given = 0, done = 0;
};

/// A moment in a stream: so many of its operations are done. Without a stream: long past.
struct Point {
    std::shared_ptr<const Progress> of;
    std::uint64_t number = 0;
    bool is_past() const { return !of || of->done >= number; }
};

struct Operation {
    std::function<void()> run;     ///< without the lock; not after an error in a stream
    std::function<void()> finish;  ///< with it, in any case
    std::vector<Point> after;
    bool can_fail = false;  ///< what CUDA would do on the GPU
};

/// One stream. What was given is carried out before its destructor returns.
class Queue {
  public:
    Queue(int device, bool blocking, std::uint64_t seed);
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    /// @return when it is done.
    Point give(Operation operation);
    Point last() const { return {progress_, progress_->given}; }
    const std::shared_ptr<const Progress> progress() const { return progress_; }
    int device() const { return device_; }
    bool blocking() const { return blocking_; }

  private:
    void run();
    void wait_a_little();

    const int device_;
    const bool blocking_;  ///< waits for stream 0
    std::mt19937_64 random_;
    std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
    std::deque<Operation> operations_;
    bool over_ = false;
    std::thread worker_;
};

struct Pool {
    int device = 0;
    std::uint64_t release_threshold = 0;
};

/// Memory of a device that somebody allocated.
struct Piece {
    std::byte* memory = nullptr;
    std::uint64_t bytes = 0;
    // Where its stream stands, not the calls.
    bool is_here = false, is_gone = false;
};

/// Memory of one device: an arena of the host's addresses, given away in blocks.
class Arena {
  public:
    explicit Arena(std::uint64_t bytes);
    ~Arena();
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    /// What the stream has given back is its own at once. Null: there is none.
    std::byte* take(std::uint64_t bytes, const std::shared_ptr<const Progress>& stream);
    /// Everybody's when that is past.
    void give_back(std::byte* memory, std::uint64_t bytes, Point when);
    std::vector<Point> given_back() const;
    bool has(const void* address) const;

    std::map<const std::byte*, std::shared_ptr<Piece>> pieces;  ///< as the calls stand

  private:
    struct Block {
        std::byte* memory = nullptr;
        std::uint64_t bytes = 0;
        Point when;
    };
    void note_past();
    void add_free(std::byte* memory, std::uint64_t bytes);

    std::byte* begin_ = nullptr;
    std::uint64_t bytes_ = 0;
    std::map<std::byte*, std::uint64_t> free_;
    std::vector<Block> given_back_;
};

struct Pinned {
    std::uint64_t bytes = 0;
    std::uint64_t users = 0;  ///< operations that are not done
};
using PinnedMap = std::map<std::byte*, Pinned>;

struct Event {
    bool is_timed = false;
    int device = 0;
    Point recorded;
    std::shared_ptr<double> at_s;
};

struct State {
    std::mutex mutex;
    std::condition_variable changed;
    Options options{.devices = 0};  ///< until begin()
    std::mt19937_64 random;
    std::vector<std::string> faults;
    std::uint64_t calls = 0, operations = 0;
    std::uint64_t calls_to_failure = 0, operations_to_failure = 0;  ///< 0: none comes
    cudaError_t call_code = cudaSuccess, operation_code = cudaSuccess;
    std::thread::id failing_thread;  ///< whose calls count; none: all
    cudaError_t lost = cudaSuccess;  ///< what went wrong in a stream; every call returns it
    std::uint64_t handles = 0;
    std::map<cudaEvent_t, Event> events;
    std::map<cudaMemPool_t, Pool> pools;
    PinnedMap pinned;
    std::vector<std::unique_ptr<Arena>> arenas;
    // Last: their threads use all of the above.
    std::vector<std::unique_ptr<Queue>> defaults;  ///< stream 0 of each device
    std::map<cudaStream_t, std::unique_ptr<Queue>> streams;
    std::vector<std::unique_ptr<Queue>> destroyed;  ///< which may have something to do still
};
State& state();

void fault(std::string what);
void wait_for(Lock& lock, const Point& point);
/// Null: no such stream.
Queue* queue_of(cudaStream_t stream);
int current_device();
/// Behind all that stream 0 has to do with it.
Point give_to(Queue& queue, Operation operation);

// Memory.

/// The calling thread may touch that of devices.
void grant_access();
bool in_device(const void* memory);
/// The piece that has all these bytes; null where there is none.
std::shared_ptr<Piece> piece_of(const void* memory, std::uint64_t bytes);
/// The pinned memory that has all these bytes, or the end.
PinnedMap::iterator pinned_of(const void* memory, std::uint64_t bytes);
/// Filled with nonsense when its stream comes to it. Null: there is none.
std::byte* allocate(Lock& lock, std::uint64_t bytes, Queue& queue);
void release(std::shared_ptr<Piece> piece, Queue& queue);

}  // namespace caesura::device::on_host
