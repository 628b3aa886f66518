// The UNIX socket that ports of one node meet at. It carries one packet each way and then stays
// open: its end is the other side's end.
//
// Calls never wait, know EINTR, raise no SIGPIPE; descriptors are closed on exec.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "caesura/base.hpp"

namespace caesura::transit {

using base::Descriptor;

/// Who is at the other end, as the kernel says.
struct Credentials {
    uid_t user = 0;
    pid_t process = 0;
};

/// A socket in the file system. Its file goes when it does, if it is still its own.
class LocalListener {
  public:
    /// @param mode  of the file, e.g. 0600: who may connect.
    /// A socket file that nobody listens at is replaced.
    /// Errors: io: somebody listens there; something else lies there; the directory.
    static Result<LocalListener> listen(const std::string& path, unsigned mode);
    LocalListener(LocalListener&&) = default;
    LocalListener& operator=(LocalListener&&) = default;
    ~LocalListener();

    int descriptor() const { return socket_.get(); }
    const std::string& path() const { return path_; }
    /// The next who has connected; closed if there is none. Errors: io, e.g. no more descriptors.
    Result<Descriptor> accept() const;

  private:
    LocalListener() = default;
    Descriptor socket_;
    std::string path_;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

/// @return  closed if the listener has no room just now: try again.
/// Errors: io, naming the path: nobody listens there, no permission.
Result<Descriptor> connect_local(const std::string& path);

Result<Credentials> credentials_of(const Descriptor& socket);

/// Errors: io. Packets of some KiB fit always on a new socket.
Status send_packet(const Descriptor& socket, std::span<const std::byte> bytes);
/// @return  a packet; nothing if none is there yet.
/// Errors: io (the other side has gone); corrupt (more than `most` bytes).
Result<std::optional<std::vector<std::byte>>> receive_packet(const Descriptor& socket,
                                                             std::size_t most);

}  // namespace caesura::transit
