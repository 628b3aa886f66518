#include "transit/port/local_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace caesura::transit {
namespace {

Status socket_error(std::string_view path, std::string_view what, int error) {
    return {StatusCode::io, fmt::format("socket {}: {}: {}", path, what, std::strerror(error))};
}

Descriptor new_socket() {
    return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // Address::parse() has seen to it that a zero follows.
    std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
    return address;
}

int connect_to(const Descriptor& socket, const std::string& path) {
    const sockaddr_un address = address_of(path);
    int result = 0;
    do {
        result =
            ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

// A dead service's file, which connect() tells from a live one's.
Status remove_stale(const std::string& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) {
        if (errno == ENOENT) return {};
        return socket_error(path, "cannot be looked at", errno);
    }
    if (!S_ISSOCK(info.st_mode))
        return {StatusCode::io,
                fmt::format("socket {}: something that is no socket lies there", path)};
    const Descriptor probe = new_socket();
    if (!probe.is_open()) return socket_error(path, "socket", errno);
    const int error = connect_to(probe, path);
    if (error != ECONNREFUSED)
        return {StatusCode::io,
                fmt::format("socket {}: {}", path,
                            error == 0 || error == EAGAIN ? "a service listens there already"
                                                          : std::strerror(error))};
    if (::unlink(path.c_str()) != 0) return socket_error(path, "removing what is stale", errno);
    return {};
}

// Only one at a time looks for stale files in a directory, or two would each remove the other's.
Descriptor lock_directory_of(const std::string& path) {
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    Descriptor lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Without it: a directory that one may not read is hardly shared.
    while (lock.is_open() && ::flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
    return lock;
}

}  // namespace

Result<LocalListener> LocalListener::listen(const std::string& path, unsigned mode) {
    const Descriptor lock = lock_directory_of(path);
    if (Status status = remove_stale(path); !status.ok()) return status;
    LocalListener listener;
    listener.socket_ = new_socket();
    if (!listener.socket_.is_open()) return socket_error(path, "socket", errno);
    // Before bind(): nobody gets in between the file's birth and its mode.
    if (::fchmod(listener.socket_.get(), static_cast<mode_t>(mode)) != 0)
        return socket_error(path, "its mode", errno);
    const sockaddr_un address = address_of(path);
    if (::bind(listener.socket_.get(), reinterpret_cast<const sockaddr*>(&address),
               sizeof address) != 0)
        return socket_error(path, "cannot be made", errno);
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) return socket_error(path, "has gone", errno);
    listener.path_ = path;
    listener.device_ = info.st_dev;
    listener.inode_ = info.st_ino;
    // bind() has taken away what the umask does.
    if ((info.st_mode & 07777) != mode && ::chmod(path.c_str(), static_cast<mode_t>(mode)) != 0)
        return socket_error(path, "its mode", errno);
    if (::listen(listener.socket_.get(), SOMAXCONN) != 0)
        return socket_error(path, "listen", errno);
    return listener;
}

LocalListener::~LocalListener() {
    if (!socket_.is_open()) return;
    struct stat info {};
    if (::lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_)
        (void)::unlink(path_.c_str());
}

Result<Descriptor> LocalListener::accept() const {
    for (;;) {
        Descriptor client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (client.is_open()) return client;
        if (errno == EINTR || errno == ECONNABORTED) continue;
        if (errno == EAGAIN) return client;
        return socket_error(path_, "accept", errno);
    }
}

Result<Descriptor> connect_local(const std::string& path) {
    Descriptor socket = new_socket();
    if (!socket.is_open()) return socket_error(path, "socket", errno);
    const int error = connect_to(socket, path);
    if (error == 0) return socket;
    if (error == EAGAIN) return Descriptor();
    return socket_error(path, error == ECONNREFUSED ? "no service listens" : "cannot connect",
                        error);
}

Result<Credentials> credentials_of(const Descriptor& socket) {
    ucred kernel{};
    socklen_t bytes = sizeof kernel;
    if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &kernel, &bytes) != 0)
        return Status{StatusCode::io,
                      fmt::format("who connects is unknown: {}", std::strerror(errno))};
    return Credentials{kernel.uid, kernel.pid};
}

Status send_packet(const Descriptor& socket, std::span<const std::byte> bytes) {
    ssize_t sent = 0;
    do {
        sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    if (sent == static_cast<ssize_t>(bytes.size())) return {};
    return {StatusCode::io, fmt::format("the peer's socket: {}", std::strerror(errno))};
}

Result<std::optional<std::vector<std::byte>>> receive_packet(const Descriptor& socket,
                                                             std::size_t most) {
    using Packet = std::optional<std::vector<std::byte>>;
    std::vector<std::byte> bytes(most);
    ssize_t got = 0;
    // Whoever closes before he has read what we said resets the connection; the kernel says so
    // once, and then gives what he said before.
    bool reset = false;
    do {
        reset |= got < 0 && errno == ECONNRESET;
        got = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_TRUNC);
    } while (got < 0 && (errno == EINTR || (errno == ECONNRESET && !reset)));
    if (got < 0 && errno == EAGAIN) return Packet{};
    if (got < 0)
        return Status{StatusCode::io, fmt::format("the peer's socket: {}", std::strerror(errno))};
    if (got == 0) return Status{StatusCode::io, "the peer has gone"};
    if (static_cast<std::size_t>(got) > most)
        return Status{StatusCode::corrupt,
                      fmt::format("a greeting of {} bytes; the limit is {}", got, most)};
    bytes.resize(static_cast<std::size_t>(got));
    return Packet{std::move(bytes)};
}

}  // namespace caesura::transit
