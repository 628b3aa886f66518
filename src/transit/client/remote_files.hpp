// Files that the service has open: each call of base::File is asked of it.
//
// Invariants:
//  - What was written since the last sync() is remembered where the client goes on by itself when
//    the service is lost and that is on another node: it is written again then, because the node
//    may be lost with it. It is a commit's metadata, and what an application's HDF5 file has beside
//    blocks; when there is much of it, it is synced.
//  - A client that goes on by itself has a shared lock of its own beside the service's: a service
//    that believes it gone cannot recover the file under its feet.
//  - A file whose client was lost stays this process's. Where another client has followed, dumps
//    may go through that one: its service opens the file too, and has a shared lock of its own
//    while no call here asks for another one.
#pragma once

#include "base/file.hpp"
#include "transit/client/client.hpp"

namespace caesura::transit {

class RemoteFiles final : public base::FileSystem {
  public:
    RemoteFiles(Client& client, base::FileLocking asked) : client_(client), asked_(asked) {}
    Result<std::unique_ptr<base::File>> open(const std::string& path, Mode mode) override;
    Status sync_directory_of(const std::string& path) override;

  private:
    Client& client_;
    const base::FileLocking asked_;
};

/// What the service calls a file: it has another working directory.
std::string absolute(const std::string& path);

class RemoteFile final : public base::File {
  public:
    /// @param here  of a client that is lost: the file is this process's from the beginning.
    RemoteFile(std::shared_ptr<Client> client, const OpenFile& opened, std::uint32_t number,
               std::unique_ptr<base::File> here = nullptr)
        : kept_(std::move(client)),
          client_(*kept_),
          path_(opened.path),
          mode_(opened.mode),
          asked_(opened.locking),
          number_(number),
          here_(std::move(here)) {}
    ~RemoteFile() override;

    std::uint32_t number() const { return number_; }
    const std::string& path() const { return path_; }  ///< absolute
    /// The client that it was opened by.
    Client& client() const { return client_; }
    /// What it is called between us and the service of this client, which is its own or a later
    /// one. The first time it waits for that service. Errors: the service's; io (lost).
    Result<std::uint32_t> number_at(const std::shared_ptr<Client>& client);
    Status write_at(std::uint64_t offset, std::span<const std::byte> bytes) override;
    Status write_at(std::uint64_t offset,
                    std::span<const std::span<const std::byte>> buffers) override;
    Status read_at(std::uint64_t offset, std::span<std::byte> bytes) override;
    Status sync() override;
    Status truncate(std::uint64_t bytes) override;
    Result<std::uint64_t> size() override;
    Status lock(bool exclusive) override;
    void unlock() override;

  private:
    enum class Lock : std::uint8_t { none, shared, exclusive };
    /// The service's answer; of one that is lost, what `here` does with the file of our own.
    template <class Message, class Here>
    Result<Client::Reply> ask(Message message, Here&& here,
                              std::span<const std::span<const std::byte>> payload = {});
    /// The same file, opened by this process, with the lock and what may be missing.
    Result<base::File*> here();

    struct Change {
        std::uint64_t offset;
        std::vector<std::byte> bytes;
        bool cuts;  ///< the file ends at `offset`
    };
    /// The same file at a service that has followed ours.
    struct Again {
        std::shared_ptr<Client> client;
        std::uint32_t number;
    };
    void leave_again();
    static void close_at(Client& client, std::uint32_t number);

    const std::shared_ptr<Client> kept_;  ///< alive
    Client& client_;
    const std::string path_;
    const base::FileSystem::Mode mode_;
    const base::FileLocking asked_;
    const std::uint32_t number_;
    std::mutex again_mutex_;
    std::optional<Again> again_;
    std::mutex mutex_;  ///< several threads may use a File
    Lock lock_ = Lock::none;
    /// As many bytes as the service takes at once.
    Status write_once(std::uint64_t offset, std::uint64_t bytes,
                      std::span<const std::span<const std::byte>> buffers);
    bool remembers() const;
    /// The shared lock of our own, while we have one through the service.
    void guard(bool locked);
    Status remember(Change change);
    std::vector<Change> unsynced_;
    std::uint64_t unsynced_bytes_ = 0;
    std::unique_ptr<base::File> here_, guard_;
};

}  // namespace caesura::transit
