#include "vol/transport.hpp"

#include <errno.h>
#include <mpi.h>

#include <map>

#include "base/file.hpp"
#include "vol/closing_line.hpp"
#include "vol/pending_files.hpp"
#include "vol/report.hpp"

namespace caesura::vol {

namespace {

/// For a service that was lost. One that is there answers in milliseconds.
constexpr double k_patience_s = 2.0;

}  // namespace

Result<std::shared_ptr<writer::Transport>> transport_of(const Config& config) {
    static auto& connections = *new std::map<std::string, std::shared_ptr<writer::Transport>>;
    if (config.transport.empty()) return std::shared_ptr<writer::Transport>();
    auto& connection = connections[config.transport];
    if (connection == nullptr) {
        int size = 1;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        auto made = writer::make_transport(
            config.transport,
            {program_invocation_short_name, world_rank(), size, pending_files::most_bytes(config)});
        if (!made.ok()) return made.status().with_context("transport");
        connection = std::move(*made);
        return connection;
    }
    const std::uint64_t before = connection->returns();
    connection->mend(k_patience_s);
    if (connection->returns() > before) note_service_returned();
    return connection;
}

base::FileSystem& files_of(const std::shared_ptr<writer::Transport>& transport,
                           base::FileLocking locking) {
    return transport == nullptr ? base::FileSystem::posix(locking) : transport->files(locking);
}

}  // namespace caesura::vol
