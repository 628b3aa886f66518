// Creating a Writer: options, memory, the shared file.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <fstream>

#include "base/file.hpp"
#include "store/region_writer.hpp"
#include "writer/impl.hpp"
#include "writer/plain_tree.hpp"
#include "writer/user_attributes.hpp"

namespace caesura {
namespace {

// Bytes of memory the process may still take: the machine's, or its control group's if that is
// less. 4 GiB where neither can be read.
std::uint64_t available_memory_bytes() {
    std::uint64_t available = std::uint64_t{4} << 30;
    std::ifstream meminfo("/proc/meminfo");
    for (std::string line; std::getline(meminfo, line);) {
        unsigned long long kib = 0;
        if (std::sscanf(line.c_str(), "MemAvailable: %llu kB", &kib) == 1) available = kib * 1024;
    }
    std::uint64_t limit = 0, used = 0;
    std::ifstream max_file("/sys/fs/cgroup/memory.max"), now_file("/sys/fs/cgroup/memory.current");
    if (max_file >> limit && now_file >> used && limit > used)
        available = std::min(available, limit - used);
    return available;
}

constexpr Reserve k_reserves[] = {Reserve::regions, Reserve::slots};

Status check_options(const WriterOptions& options) {
    const auto bad = [](std::string text) {
        return Status{StatusCode::invalid_argument, std::move(text)};
    };
    if (!options.analyses.empty() && options.transport.empty())
        return bad("analyses are made by a service: set transport, or drop analyses");
    if (options.chunk_bytes < (64u << 10) || options.chunk_bytes > (std::uint64_t{1} << 31))
        return bad(
            fmt::format("chunk_bytes is {}; it must lie in [64 KiB, 2 GiB]", options.chunk_bytes));
    if (options.compress_threads < 1 || options.compress_threads > 1024)
        return bad(fmt::format("compress_threads is {}; it must lie in [1, 1024]",
                               options.compress_threads));
    if (plan::to_string(options.algorithm) == "unknown")
        return bad(
            fmt::format("no algorithm has the number {}", static_cast<int>(options.algorithm)));
    if (std::find(std::begin(k_reserves), std::end(k_reserves), options.reserve) ==
        std::end(k_reserves))
        return bad(fmt::format("no reserve has the number {}", static_cast<int>(options.reserve)));
    if (!(options.reserve_factor >= 0.0 && options.reserve_factor <= 1e3))
        return bad(
            fmt::format("reserve_factor is {}; it must lie in [0, 1000]", options.reserve_factor));
    if (!(options.reserve_sigmas >= 0.0 && options.reserve_sigmas <= 100.0))
        return bad(
            fmt::format("reserve_sigmas is {}; it must lie in [0, 100]", options.reserve_sigmas));
    if (!(options.slot_space >= 1.0 && options.slot_space <= 10.0))
        return bad(fmt::format("slot_space is {}; it must lie in [1, 10]", options.slot_space));
    if (options.slot_speed_weight &&
        !(*options.slot_speed_weight >= 0.0 && *options.slot_speed_weight <= 1.0))
        return bad(fmt::format("slot_speed_weight is {}; it must lie in [0, 1]",
                               *options.slot_speed_weight));
    if (options.stripe_bytes != 0 &&
        (!std::has_single_bit(options.stripe_bytes) ||
         options.stripe_bytes < store::k_region_alignment || options.stripe_bytes > (1u << 30)))
        return bad(
            fmt::format("stripe_bytes is {}; it must be 0 or a power of two from 4096 to "
                        "1073741824",
                        options.stripe_bytes));
    if (options.dumps_per_file == 0) return bad("dumps_per_file is 0; it must be 1 or more");
    if (options.pending_files == 0) return bad("pending_files is 0; it must be 1 or more");
    if (!(options.max_delay_s >= 0.0))
        return bad(fmt::format("max_delay_s is {}; it must be 0 or more", options.max_delay_s));
    if (options.write_buffer_bytes == 0) return bad("write_buffer_bytes is 0");
    if (Status status = validate(options.bound); !status.ok())
        return status.with_context("WriterOptions::bound");
    if (!options.layout.empty())
        if (auto layout = store::PathTemplate::parse(options.layout); !layout.ok())
            return layout.status();
    return writer::attributes_of(options).status();
}

std::uint64_t default_budget_bytes(int ranks_on_node) {
    return available_memory_bytes() / 2 / static_cast<std::uint64_t>(ranks_on_node);
}

}  // namespace

std::string_view to_string(Reserve reserve) {
    return reserve == Reserve::slots ? "slots" : "regions";
}

Result<Reserve> reserve_named(std::string_view name) {
    for (const Reserve reserve : k_reserves)
        if (name == to_string(reserve)) return reserve;
    return Status{StatusCode::invalid_argument,
                  fmt::format("reserve is '{}'; use one of regions, slots", name)};
}

Writer::Impl::~Impl() {
    run::Listener& listener = session.experience->listener;
    if (executor && listener.reports_to(*executor)) listener.end();
}

base::FileSystem& Writer::Impl::file_system() const {
    if (session.experience->transport)
        return session.experience->transport->files(base::FileLocking::best_effort);
    base::FileSystem* const given = session.options.file_system;
    return given != nullptr ? *given : base::FileSystem::posix();
}

Status Writer::Impl::open_file() {
    const WriterOptions& options = session.options;
    base::FileSystem& files = file_system();
    store::RunId run = store::make_run_id();
    Status status;
    const auto take = [&](Result<store::SharedFile> opened) {
        if (opened.ok())
            own.file = std::make_unique<store::SharedFile>(std::move(*opened));
        else
            status = opened.status();
    };
    if (session.rank == 0)
        take(opening ? take_up(files) : store::SharedFile::create(files, session.path, run));
    if (own.file) run = own.file->run();
    if (Status all = round.agree(status); !all.ok()) return all;
    struct Common {
        store::RunId run;
        std::uint64_t stripe_bytes;
    };
    Common common{run, std::max(options.stripe_bytes, store::k_region_alignment)};
    const Status sent = session.comm->broadcast(std::as_writable_bytes(std::span(&common, 1)), 0);
    if (!sent.ok()) return sent;
    if (session.rank != 0) take(store::SharedFile::open(files, session.path, common.run));
    if (Status all = round.agree(status); !all.ok()) return all;
    if (opening)
        if (Status told = tell_known(); !told.ok()) return told;
    own.tree = new_tree(*own.file, {});
    tree = own.tree.get();
    own.is_made = true;
    ++session.totals.files;
    const auto attributes = writer::attributes_of(options);
    if (!attributes.ok()) return attributes.status();  // which check_options() has told all
    for (const auto& [name, value] : *attributes)
        metadata.set({AttributeOwner::Kind::file}, name, value);
    own.ledger = std::make_unique<ledger::Ledger>(
        ledger::Ledger::Subject{*own.file, *own.tree, *session.comm, options.durable},
        known.next_dump, std::max(known.file_end, store::first_region_address()));
    own.ledger->book().set_stripe(common.stripe_bytes);
    ledger = own.ledger.get();
    return {};
}

std::unique_ptr<writer::Tree> Writer::Impl::new_tree(store::SharedFile& file,
                                                     std::string file_format) const {
    const bool has_dumps = !series.name && !known.kept.empty();
    // A file of one dump has one commit; and a service makes no file longer for us.
    const bool for_readers = file_format.empty() && !session.experience->transport;
    const std::string& text = opening ? known.layout : session.options.layout;
    if (text.empty())
        return std::make_unique<writer::OpenPmdTree>(file, session.rank, has_dumps, for_readers,
                                                     std::move(file_format));
    // check_options(), or the file's own Writer, has parsed it.
    return std::make_unique<writer::PlainTree>(file, session.rank, has_dumps, for_readers,
                                               *store::PathTemplate::parse(text));
}

// Every rank by itself; whether it worked is agreed on by the caller.
Status Writer::Impl::connect() {
    writer::Experience& experience = *session.experience;
    if (session.options.transport.empty() || experience.transport) return {};
    auto made = writer::make_transport(session.options.transport,
                                       {session.options.software, session.rank, session.size,
                                        session.budget.limit_bytes(), session.options.analyses});
    if (!made.ok()) return made.status().with_context(fmt::format("rank {}", session.rank));
    experience.use(std::move(*made));
    return {};
}

// Of a file that is open already. Dumps go on where its ledger stands.
Status Writer::Impl::take_file(const writer::TargetFile& target) {
    tree = &target.tree;
    ledger = &target.ledger;
    std::uint64_t stripe_bytes = std::max(session.options.stripe_bytes, store::k_region_alignment);
    const Status sent =
        session.comm->broadcast(std::as_writable_bytes(std::span(&stripe_bytes, 1)), 0);
    if (sent.ok()) ledger->book().set_stripe(stripe_bytes);
    return sent;
}

Result<std::unique_ptr<Writer>> Writer::create(const std::string& path,
                                               std::unique_ptr<Communicator> communicator,
                                               WriterOptions options) {
    auto impl = Impl::make(path, std::move(communicator), std::move(options), nullptr, nullptr);
    if (!impl.ok()) return impl.status();
    return std::unique_ptr<Writer>(new Writer(std::move(*impl)));
}

Result<std::unique_ptr<Writer>> Writer::open(const std::string& path,
                                             std::unique_ptr<Communicator> communicator,
                                             WriterOptions options, const OpenOptions& where) {
    auto impl =
        Impl::make(path, std::move(communicator), std::move(options), nullptr, nullptr, where);
    if (!impl.ok()) return impl.status();
    return std::unique_ptr<Writer>(new Writer(std::move(*impl)));
}

Result<std::unique_ptr<Writer::Impl>> Writer::Impl::make(
    const std::string& path, std::shared_ptr<Communicator> communicator, WriterOptions options,
    std::shared_ptr<writer::Experience> experience, const writer::TargetFile* target,
    std::optional<OpenOptions> opening) {
    if (!communicator) communicator = Communicator::self();
    const run::Unobserved ours;
    auto node = communicator->node_local();
    std::uint64_t budget_bytes = options.memory_bytes;
    // Without knowledge of the node all ranks may share it.
    if (budget_bytes == 0)
        budget_bytes = default_budget_bytes(node.ok() ? (*node)->size() : communicator->size());
    auto impl = std::make_unique<Impl>(path, std::move(communicator), std::move(options),
                                       budget_bytes, std::move(experience));
    writer::Session& session = impl->session;
    impl->opening = opening;
    Status mine = check_options(session.options);
    if (mine.ok() && opening) mine = impl->check_opening();
    if (mine.ok()) mine = impl->connect();
    if (Status status = impl->round.agree(mine); !status.ok()) return status;
    if (target == nullptr)
        if (Status status = impl->begin_series(); !status.ok()) return status;
    if (!impl->series.name)
        if (Status status = target ? impl->take_file(*target) : impl->open_file(); !status.ok())
            return status;
    impl->first_dump = impl->ledger->book().first_dump();
    if (Status status = impl->load_calibration(); !status.ok()) return status;
    impl->learn_known();
    impl->node.read_binding(node.ok() ? node->get() : nullptr);
    if (session.experience->transport) {
        // The service writes, and knows what waits there.
    } else if (node.ok()) {
        if (Status status = impl->node.share_writes(std::move(*node)); !status.ok()) return status;
        if (!impl->series.name) impl->node.add_file(0, impl->ledger->file());
    } else if (session.size > 1 && session.options.balance_writes) {
        session.warn(writer::Warning::balance_off,
                     fmt::format("rank {}: balance_writes is off: {}", session.rank,
                                 node.status().message()));
    }
    impl->make_parts();
    if (Status status = session.comm->barrier(); !status.ok()) return status;
    session.trace_origin_s = session.now_s();  // the same moment on all ranks
    impl->begin_trace();
    return impl;
}

void Writer::Impl::make_parts() {
    const WriterOptions& options = session.options;
    run::ExecutorOptions lanes;
    lanes.share = node.share();
    lanes.observer = &session.experience->observer;
    lanes.compress_threads = options.cooperative ? 0 : options.compress_threads;
    lanes.planning = options.planning;
    lanes.idle_priority = options.idle_priority;
    // A rank that has its core for itself is asked for none of it unless its owner says so.
    lanes.standby = !options.cooperative || options.max_delay_s > 0.0;
    lanes.algorithm = options.algorithm;
    lanes.write_buffer_bytes = options.write_buffer_bytes;
    lanes.trace = session.traces();
    executor = std::make_unique<run::Executor>(lanes, session.budget, session.pool);
    helpers =
        std::make_unique<run::CallHelpers>(std::min(lanes.compress_threads, node.spare_cores()));
    flights = std::make_unique<writer::Flights>(session, fields, tables, *executor);
    flights->begin_after(known.kept);
    intake = std::make_unique<writer::Intake>(session, fields, tree->dump_is_whole(), round,
                                              *flights, *executor, *helpers);
}

}  // namespace caesura
