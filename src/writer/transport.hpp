// Who compresses and writes a Writer's blocks, and has its file, if that is not the Writer's own
// process: a service on this node or another one. The Writer knows this interface alone; the client
// of the service (src/transit) implements it.
//
// What stays here: what is put, assembled, predicted, planned and reserved; which dumps there are
// and which are committed (src/ledger). The service gets a place in the file with every block, and
// carries out what a commit writes. So it has nothing that a client could lose with it.
//
// Invariants:
//  - One Transport serves all Writers of a process that name the same service; it outlives them.
//  - Once the service is lost every call fails, or, with a fall-back, does the work here. That
//    changes in mend() alone: what was handed over before is not the new service's.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/buffer.hpp"
#include "store/manifest.hpp"
#include "writer/region_sink.hpp"

namespace caesura::base {
class FileSystem;
}  // namespace caesura::base

namespace caesura::writer {

/// What the sinks of a Transport need of the lanes that they serve.
struct Lanes {
    base::MemoryBudget& budget;  ///< charged for stored bytes that come back
    /// Any thread calls it when a job's state has changed, or jobs come back.
    std::function<void()> answer_came;
};

class Transport {
  public:
    virtual ~Transport() = default;
    /// All that is done to the file goes through these. Errors: also io (the service is gone).
    /// @param asked  of locks, as FileSystem::posix().
    virtual base::FileSystem& files(base::FileLocking asked) = 0;
    /// Memory that the service reads without a copy; null: there is none, values are sent.
    virtual base::PageSource* pages() = 0;
    /// The sink of a dump whose jobs are compressed elsewhere, or (`task` as an overflow makes it)
    /// are compressed already.
    /// Errors: no_space (memory). What the service refuses is an error of the sink's calls.
    virtual Result<std::unique_ptr<DumpSink>> sink(SinkOrder order, run::DumpTask& task,
                                                   Lanes lanes) = 0;
    /// What findings of all ranks about one dataset come to, as a JSON object by call. Those that
    /// have not seen `values` together, or are not known here, are left out. Needs no service.
    virtual std::string conclude(std::span<const Finding> findings, std::uint64_t values) const {
        (void)findings, (void)values;
        return {};
    }
    /// Is the service gone?
    virtual bool is_lost() const = 0;
    /// Why, for people, and what becomes of the work; ok while it is there.
    virtual Status loss() const = 0;
    /// Why the service does not take the file of this path, or a dump of it, which is written here;
    /// ok: it does.
    virtual Status refusal(const std::string& path) const {
        (void)path;
        return {};
    }
    /// Before a dump is assembled (0 s), or a file is made: where the service is gone and it is
    /// time to, looks whether it is there again. Waits no longer than that.
    virtual void mend(double at_most_s) { (void)at_most_s; }
    /// How often a lost service was there again.
    virtual std::uint64_t returns() const { return 0; }
};

struct TransportOptions {
    std::string name;  ///< of the application, for the service's status
    int rank = 0, size = 1;
    std::uint64_t budget_bytes = 0;
    std::vector<std::string> analyses = {};  ///< of every dump: see WriterOptions
};

/// Makes a Transport of what follows the scheme in WriterOptions::transport. Local.
using TransportFactory =
    std::function<Result<std::shared_ptr<Transport>>(std::string_view, const TransportOptions&)>;
/// A library that has one says so when it is loaded. Not thread-safe.
void register_transport(std::string_view scheme, TransportFactory factory);
/// Errors: invalid_argument (not SCHEME:ADDRESS; names the schemes there are), unsupported
/// (`service` without the library: says what to build), those of the factory.
Result<std::shared_ptr<Transport>> make_transport(std::string_view text,
                                                  const TransportOptions& options);

}  // namespace caesura::writer
