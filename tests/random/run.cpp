// A program's calls of the Writer, on every rank.
#include <fmt/format.h>

#include <mutex>

#include "base/thread_communicator.hpp"
#include "program.hpp"

namespace caesura::random_programs {
namespace {

/// What a rank has to keep until it may change.
using Kept = std::vector<std::vector<std::byte>>;

std::vector<std::byte> values_of(const Program& program, const FieldPlan& plan,
                                 std::uint64_t iteration, const Shape& shape, const Box& box) {
    const std::size_t size = size_of(plan.dtype);
    std::vector<std::byte> values(box.extent.count() * size);
    Shape at = Shape::filled(shape.rank(), 0);
    for (std::uint64_t i = 0; i < box.extent.count(); ++i) {
        std::uint64_t index = 0;
        for (int axis = 0; axis < shape.rank(); ++axis)
            index = index * shape[axis] + box.offset[axis] + at[axis];
        value_of(program, plan, iteration, index, values.data() + i * size);
        for (int axis = shape.rank() - 1; axis >= 0; --axis) {
            if (++at[axis] < box.extent[axis]) break;
            at[axis] = 0;
        }
    }
    return values;
}

class Rank {
  public:
    Rank(const Program& program, const Session& session, Writer& writer, int rank)
        : program_(program), session_(session), writer_(writer), rank_(rank) {}

    Status define() {
        for (const FieldPlan& plan : program_.fields) {
            FieldOptions options;
            options.coverage = plan.partial ? Coverage::partial : Coverage::whole;
            options.fill_value = plan.fill;
            if (!plan.codec.empty()) options.codec = CodecSpec{plan.codec};
            const Shape shape = first_shape(fields_.size());
            auto field = writer_.define_field(plan.name, plan.dtype, shape, plan.bound, options);
            if (!field.ok()) return field.status();
            fields_.push_back(*field);
            shapes_.push_back(shape);
        }
        if (program_.records.empty()) return {};
        const auto species = writer_.define_species("electrons");
        if (!species.ok()) return species.status();
        for (const FieldPlan& plan : program_.records) {
            RecordOptions options;
            if (!plan.codec.empty()) options.codec = CodecSpec{plan.codec};
            auto record =
                writer_.define_record(*species, plan.name, plan.dtype, plan.bound, options);
            if (!record.ok()) return record.status();
            records_.push_back(*record);
        }
        return writer_.define_constant(*species, "charge", -1.5);
    }

    Status make(const DumpPlan& plan) {
        if (Status status = reshape(plan); !status.ok()) return status;
        auto iteration = writer_.begin_iteration(plan.iteration);
        if (plan.is_empty) return iteration.end();
        auto dump = iteration.begin_dump(0.5 * static_cast<double>(plan.iteration));
        Kept& kept = kept_.emplace_back();
        for (std::size_t i = 0; i < fields_.size(); ++i)
            for (const testing::OwnedBox& one : plan.fields[i].boxes)
                if (one.rank == rank_)
                    if (Status status = put(dump, plan, i, one.box, kept); !status.ok())
                        return status;
        if (!records_.empty() && plan.species.is_put)
            if (Status status = put_particles(dump, plan); !status.ok()) return status;
        return iteration.end();
    }

  private:
    Shape first_shape(std::size_t field) const {
        return session_.dumps.front().fields[field].shape;
    }

    Status reshape(const DumpPlan& plan) {
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            const Shape& shape = plan.fields[i].shape;
            if (shape == shapes_[i]) continue;
            if (Status status = writer_.reshape(fields_[i], shape); !status.ok()) return status;
            shapes_[i] = shape;
        }
        return {};
    }

    Status put(Dump& dump, const DumpPlan& plan, std::size_t i, const Box& box, Kept& kept) {
        const FieldPlan& field = program_.fields[i];
        auto values = values_of(program_, field, plan.iteration, plan.fields[i].shape, box);
        const Ownership own = plan.fields[i].borrowed ? Ownership::borrow : Ownership::copy;
        const Status status = dump.put_bytes(fields_[i], box, values.data(), field.dtype, own);
        if (own == Ownership::borrow) kept.push_back(std::move(values));
        return status;
    }

    Status put_particles(Dump& dump, const DumpPlan& plan) {
        std::uint64_t begin = 0;
        for (int rank = 0; rank < rank_; ++rank)
            begin += plan.species.counts[static_cast<std::size_t>(rank)];
        const std::uint64_t count = plan.species.counts[static_cast<std::size_t>(rank_)];
        const std::uint64_t step = std::max<std::uint64_t>(1, count / plan.species.puts);
        std::uint64_t all = 0;
        for (const std::uint64_t one : plan.species.counts) all += one;
        for (std::size_t i = 0; i < records_.size(); ++i) {
            const FieldPlan& record = program_.records[i];
            std::uint64_t at = 0;
            do {  // a rank without particles says so
                const std::uint64_t n = std::min(step, count - at);
                const auto values =
                    values_of(program_, record, plan.iteration, {all}, {{begin + at}, {n}});
                if (Status status = dump.put_particle_bytes(records_[i], n, values.data(),
                                                            record.dtype, Ownership::copy);
                    !status.ok())
                    return status;
                at += n;
            } while (at < count);
        }
        return {};
    }

    const Program& program_;
    const Session& session_;
    Writer& writer_;
    int rank_ = 0;
    std::vector<Field> fields_, records_;
    std::vector<Shape> shapes_;
    std::vector<Kept> kept_;  ///< by dump; until the Writer is closed
};

Status run_rank(const Program& program, const Session& session, const std::string& path,
                std::unique_ptr<Communicator> comm,
                const std::function<void(std::uint64_t)>& committed) {
    const int rank = comm->rank();
    auto writer = session.creates
                      ? Writer::create(path, std::move(comm), program.options)
                      : Writer::open(path, std::move(comm), program.options, {session.after});
    if (!writer.ok()) return writer.status();
    Rank self(program, session, **writer, rank);
    std::optional<std::uint64_t> told;
    const auto tell = [&] {
        const auto now = (*writer)->committed();
        if (rank != 0 || !committed || !now || now == told) return;
        told = now;
        committed(*now);
    };
    Status status = self.define();
    for (const DumpPlan& plan : session.dumps) {
        if (!status.ok()) break;
        status = self.make(plan);
        tell();
    }
    // Also after an error: the other ranks are on their way here.
    const Status closed = (*writer)->close();
    tell();
    return status.ok() ? closed : status;
}

}  // namespace

Status run(const Program& program, const std::string& path,
           const std::function<void(std::uint64_t)>& committed) {
    std::mutex mutex;
    Status first;
    for (const Session& session : program.sessions) {
        if (!first.ok()) break;
        base::run_ranks(session.n_ranks, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            Status status = run_rank(program, session, path, std::move(comm), committed);
            const std::lock_guard lock(mutex);
            if (first.ok() && !status.ok())
                first = status.with_context(fmt::format("on rank {}", rank));
        });
    }
    return first;
}

}  // namespace caesura::random_programs
