// Creating a Writer: options, memory, the shared file.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <fstream>

#include "base/file.hpp"
#include "writer/impl.hpp"
#include "writer/wire.hpp"

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
    if (options.write_buffer_bytes == 0) return bad("write_buffer_bytes is 0");
    if (Status status = validate(options.bound); !status.ok())
        return status.with_context("WriterOptions::bound");
    return {};
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

Writer::Impl::Impl(std::string file_path, std::shared_ptr<Communicator> group, WriterOptions opts,
                   std::uint64_t budget_bytes, std::shared_ptr<writer::Experience> past)
    : experience(past ? std::move(past) : std::make_shared<writer::Experience>()),
      path(std::move(file_path)),
      comm(std::move(group)),
      options(std::move(opts)),
      rank(comm->rank()),
      size(comm->size()),
      budget(budget_bytes),
      pool(experience->pool) {}

Writer::Impl::~Impl() {
    if (executor && experience->listener.reports_to(*executor)) experience->listener.end();
}

Status Writer::Impl::open_file() {
    base::FileSystem& files =
        options.file_system ? *options.file_system : base::FileSystem::posix();
    store::RunId run = store::make_run_id();
    Status status;
    if (rank == 0) {
        auto created = store::SharedFile::create(files, path, run);
        if (created.ok())
            own_file = std::make_unique<store::SharedFile>(std::move(*created));
        else
            status = created.status();
    }
    if (Status all = agree(status); !all.ok()) return all;
    struct Common {
        store::RunId run;
        std::uint64_t stripe_bytes;
    };
    Common common{run, std::max(options.stripe_bytes, store::k_region_alignment)};
    if (Status sent = comm->broadcast(std::as_writable_bytes(std::span(&common, 1)), 0); !sent.ok())
        return sent;
    run = common.run;
    stripe_bytes = common.stripe_bytes;
    if (rank != 0) {
        auto opened = store::SharedFile::open(files, path, run);
        if (opened.ok())
            own_file = std::make_unique<store::SharedFile>(std::move(*opened));
        else
            status = opened.status();
    }
    if (Status all = agree(status); !all.ok()) return all;
    file = own_file.get();
    own_tree = writer::make_own_tree(*file, rank);
    tree = own_tree.get();
    file_end = store::first_region_address();
    return {};
}

// Of a file that is open already. Dumps go on where it stands, regions begin beyond all it holds.
Status Writer::Impl::take_file(const writer::TargetFile& target) {
    file = &target.file;
    tree = &target.tree;
    next_dump = gathered_dumps = built_dumps = committed_dumps = first_dump = target.next_dump;
    struct Common {
        std::uint64_t file_bytes, stripe_bytes;
    };
    Common common{0, std::max(options.stripe_bytes, store::k_region_alignment)};
    Status status;
    if (rank == 0) {
        const auto bytes = file->file().size();
        if (bytes.ok())
            common.file_bytes = *bytes;
        else
            status = bytes.status();
    }
    if (Status all = agree(status); !all.ok()) return all;
    if (Status sent = comm->broadcast(std::as_writable_bytes(std::span(&common, 1)), 0); !sent.ok())
        return sent;
    stripe_bytes = common.stripe_bytes;
    file_end = used_end =
        std::max(store::first_region_address(), store::align_up(common.file_bytes));
    return {};
}

// The lowest rank's error, the same on all ranks; ok if there is none. Collective.
Status Writer::Impl::agree(const Status& mine) {
    writer::Packer packer;
    packer.put(static_cast<std::int32_t>(mine.code()));
    packer.put(mine.message());
    auto all = comm->allgatherv(packer.bytes());
    if (!all.ok()) {
        comm_failed = true;
        return failed = all.status();
    }
    for (std::size_t r = 0; r < all->size(); ++r) {
        writer::Unpacker unpacker((*all)[r]);
        const auto code = static_cast<StatusCode>(unpacker.get<std::int32_t>());
        if (code == StatusCode::ok) continue;
        const std::string message = unpacker.get_string();
        return {code, size > 1 ? fmt::format("rank {}: {}", r, message) : message};
    }
    return {};
}

Result<std::unique_ptr<Writer>> Writer::create(const std::string& path,
                                               std::unique_ptr<Communicator> communicator,
                                               WriterOptions options) {
    auto impl = Impl::make(path, std::move(communicator), std::move(options), nullptr, nullptr);
    if (!impl.ok()) return impl.status();
    return std::unique_ptr<Writer>(new Writer(std::move(*impl)));
}

Result<std::unique_ptr<Writer::Impl>> Writer::Impl::make(
    const std::string& path, std::shared_ptr<Communicator> communicator, WriterOptions options,
    std::shared_ptr<writer::Experience> experience, const writer::TargetFile* target) {
    if (!communicator) communicator = Communicator::self();
    const run::Unobserved ours;
    auto node = communicator->node_local();
    std::uint64_t budget_bytes = options.memory_bytes;
    // Without knowledge of the node all ranks may share it.
    if (budget_bytes == 0)
        budget_bytes = default_budget_bytes(node.ok() ? (*node)->size() : communicator->size());
    auto impl = std::make_unique<Impl>(path, std::move(communicator), std::move(options),
                                       budget_bytes, std::move(experience));
    if (Status status = impl->agree(check_options(impl->options)); !status.ok()) return status;
    if (Status status = target ? impl->take_file(*target) : impl->open_file(); !status.ok())
        return status;
    if (Status status = impl->load_calibration(); !status.ok()) return status;
    impl->read_binding(node.ok() ? node->get() : nullptr);
    if (node.ok()) {
        if (Status status = impl->share_node(std::move(*node)); !status.ok()) return status;
    } else if (impl->size > 1 && impl->options.balance_writes) {
        impl->say("balance_writes is off: " + node.status().message());
    }
    run::ExecutorOptions lanes;
    lanes.share = impl->node_share.get();
    lanes.observer = &impl->experience->observer;
    lanes.compress_threads = impl->options.cooperative ? 0 : impl->options.compress_threads;
    lanes.planning = impl->options.planning;
    lanes.idle_priority = impl->options.idle_priority;
    lanes.algorithm = impl->options.algorithm;
    lanes.write_buffer_bytes = impl->options.write_buffer_bytes;
    lanes.trace = !impl->options.trace_path.empty();
    impl->executor = std::make_unique<run::Executor>(lanes, impl->budget, impl->pool);
    if (Status status = impl->comm->barrier(); !status.ok()) return status;
    impl->trace_origin_s = impl->now_s();  // the same moment on all ranks
    return impl;
}

}  // namespace caesura
