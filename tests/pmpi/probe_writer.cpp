#include "probe_writer.h"

#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "caesura/mpi.hpp"
#include "caesura/writer.hpp"

namespace {

struct Account {
    std::unique_ptr<caesura::Writer> writer;
    std::optional<caesura::Iteration> iteration;
    caesura::Field field;
    std::vector<std::string> messages;
    double called_s = 0.0, computed_s = 0.0, inside_s = 0.0, begin_s = 0.0;
    int long_calls = 0;
};
Account g_account;

void expect(const caesura::Status& status) {
    if (!status.ok()) MPI_Abort(MPI_COMM_WORLD, 3);
}

std::string place() { return std::getenv("PMPI_PROBE_OUT"); }

}  // namespace

extern "C" {

void probe_open(void) {
    caesura::WriterOptions options;
    options.trace_path = place() + "/trace-%r.json";
    options.on_message = [](std::string_view text) { g_account.messages.emplace_back(text); };
    auto writer = caesura::Writer::create(place() + "/file.h5", caesura::mpi(MPI_COMM_WORLD),
                                          std::move(options));
    expect(writer.status());
    g_account.writer = std::move(*writer);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    auto field = g_account.writer->define_field(
        "rho", caesura::float32, {static_cast<std::uint64_t>(size), 1024}, caesura::absolute(0.1));
    expect(field.status());
    g_account.field = *field;
}

void probe_begin(int iteration) {
    g_account.begin_s = probe_now_s();
    g_account.iteration.emplace(
        g_account.writer->begin_iteration(static_cast<std::uint64_t>(iteration)));
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (iteration % 2 != 0) return;
    const std::vector<float> values(1024, static_cast<float>(iteration));
    auto dump = g_account.iteration->begin_dump(iteration);
    expect(dump.put(g_account.field, {{static_cast<std::uint64_t>(rank), 0}, {1, 1024}},
                    values.data()));
}

void probe_end(void) {
    expect(g_account.iteration->end());
    g_account.iteration.reset();
    g_account.inside_s += probe_now_s() - g_account.begin_s;
}

void probe_close(void) {
    expect(g_account.writer->close());
    const caesura::WriterReport report = g_account.writer->report();
    g_account.writer.reset();
    const nlohmann::json told = {
        {"called_s", g_account.called_s},
        {"computed_s", g_account.computed_s},
        {"long_calls", g_account.long_calls},
        {"inside_s", g_account.inside_s},
        {"messages", g_account.messages},
        {"seen_computing_s", report.seen_computing_s},
        {"seen_communicating_s", report.seen_communicating_s},
        {"seen_waiting_s", report.seen_waiting_s},
        {"seen_spinning_s", report.seen_spinning_s},
        {"seen_intervals", report.seen_intervals},
        {"cores", report.cores},
    };
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::ofstream(place() + "/" + std::to_string(rank) + ".json") << told;
}

double probe_now_s(void) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void probe_compute(double seconds) {
    const double begin_s = probe_now_s();
    while (probe_now_s() < begin_s + seconds) {
    }
    g_account.computed_s += probe_now_s() - begin_s;
}

void probe_called(double seconds) {
    g_account.called_s += seconds;
    g_account.long_calls += seconds >= 0.01;
}

}  // extern "C"
