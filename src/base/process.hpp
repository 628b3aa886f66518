// The process to which an object belongs.
//
// Why: after fork() the child has a copy of each object, but none of its threads, and it shares the
// open files with its parent. A destructor that joins threads or finishes a file would hang there,
// or change the parent's file.
//
// Invariant: objects with threads or files of a run have a Process member. In a forked child their
// calls return check()'s error, and their destructors leave() what they have.
#pragma once

#include <unistd.h>

#include <memory>

#include "caesura/base.hpp"

namespace caesura::base {

class Process {
  public:
    /// Is the caller another process than the one that made this object?
    bool is_forked() const { return ::getpid() != made_in_; }
    /// @param what  the object, as messages call it: "run.h5: the Writer".
    /// Errors: cancelled (this process was forked after the object was made).
    Status check(std::string_view what) const;
    /// Keep the object until the process ends, without its destructor.
    template <class T>
    static void leave(std::unique_ptr<T>& object) {
        if (object) keep(object.release());
    }

  private:
    static void keep(void* object);
    pid_t made_in_ = ::getpid();
};

}  // namespace caesura::base
