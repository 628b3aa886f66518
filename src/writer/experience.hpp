// What has been learned about an application, its fields and its disk: what predictions start from.
// It outlives a Writer, because an application that makes a file for each dump makes a Writer for
// each: the next one goes on where the last one was.
//
// Invariants:
//  - Shared by Writers of one application's thread and one group of ranks. Table sets, fitting
//    chunks and whether a calibration was looked for are the same on all ranks; all else is each
//    rank's own.
//  - Models stay where they are while the Experience lives.
//  - Iterations belong to the application, not to a file: each is the time between two hand-overs
//    of any Writer that shares the Experience.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "base/buffer.hpp"
#include "caesura/writer.hpp"
#include "predict/predict.hpp"
#include "run/observer.hpp"
#include "run/thread_calls.hpp"

namespace caesura::writer {

/// Of one field.
struct FieldModels {
    predict::SizeModel sizes;      ///< learned from this rank's finished blocks
    predict::CompressModel times;  ///< the same for durations
    TableSet tables;               ///< the newest that was agreed
};

class Transport;

struct Experience {
    /// @param most_bytes  of the pool.
    explicit Experience(std::uint64_t most_bytes = std::numeric_limits<std::uint64_t>::max())
        : pool(most_bytes) {}

    /// What is known of a field. A path that is new, as that of each step's group is, starts from
    /// the newest that differs from it in numbers only ("/step_12/rho", "/step_13/rho").
    /// @param chunk  rank 0 if it is not fixed; models of other chunks say nothing about these.
    FieldModels& of_field(const std::string& path, const CodecSpec& codec, DType dtype,
                          const Shape& chunk);

    /// The chunk that fits the boxes in which a dataset of that path, numbers apart, and of these
    /// extents was last written; rank 0: none was.
    Shape fitting_chunk(const std::string& path, const Shape& dims) const;
    void keep_fitting_chunk(const std::string& path, const Shape& dims, const Shape& chunk);

    struct HandOver {
        double max_delay_s;  ///< what WriterOptions::max_delay_s comes to
        double interval_s;   ///< between the last two rows of dumps; infinity: this is the first
        double pauses;       ///< CPU seconds a second that pauses have had of late; < 0: not known
    };
    /// A dump is handed over. Dumps in quick succession, as of one time step, are a row.
    /// @param asked_s   0: what is usual where dumps come as often as these.
    /// @param pauses_s  says the CPU time that the application has left to threads at idle
    /// priority,
    ///                  used or not, since some moment; nothing: not known. Not always called.
    /// @param cores     this rank's share: no more than that can have been left.
    HandOver hand_over(double asked_s, double now_s,
                       const std::function<std::optional<double>()>& pauses_s, double cores);

    /// Before anything is taken from the pool.
    void use(std::shared_ptr<Transport> service);

    run::Observer observer;
    run::Listener listener;
    bool calibration_read = false;
    std::optional<predict::Profile> profile;  ///< measured on this class of machines
    predict::WriteModel write_model;
    /// Null: blocks are compressed and written here. Its pages are the pool's, so it goes last.
    std::shared_ptr<Transport> transport;
    /// Of snapshots and blocks of all these Writers: the next one finds pages that have been
    /// touched.
    base::BufferPool pool;

  private:
    void learn_pauses(double now_s, std::optional<double> pauses_s, double cores);
    /// Of the time between dumps.
    struct Pauses {
        double since_s = -1.0, had_s = 0.0;  ///< where the one that is measured began
        double of_late = -1.0;               ///< CPU seconds a second
    };
    double last_dump_s_ = -1.0, row_begin_s_ = -1.0;
    double interval_s_ = std::numeric_limits<double>::infinity();
    Pauses pauses_;
    std::map<std::string, FieldModels> fields_;
    std::map<std::string, Shape> chunks_;        ///< by path without numbers, and extents
    std::map<std::string, std::string> newest_;  ///< by key without numbers: its last full key
};

}  // namespace caesura::writer
