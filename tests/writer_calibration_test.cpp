// A calibration changes what is predicted and nothing else: with any profile, or none, the file is
// the same data, and what is wrong with a profile is a message.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/host.hpp"
#include "base/thread_communicator.hpp"
#include "caesura/writer.hpp"
#include "predict/times.hpp"
#include "stock_reader.hpp"

namespace caesura {
namespace {

const Shape k_shape{32, 32, 64};
constexpr double k_slow_s_per_byte = 1e-3;  // no machine: seen in the report at once

/// The same curve for every mode of our codec.
predict::Profile slow_profile(const std::string& host_class_name) {
    predict::CompressCurve curve;
    curve.form = predict::CompressCurve::Form::points;
    curve.bits = {1.0};
    curve.s_per_byte = {k_slow_s_per_byte};
    predict::Profile profile;
    profile.host_class = host_class_name;
    for (const char* mode : {"fast", "strong", "planes"})
        profile.compress.push_back({"caesura", mode, float32, curve, 0.0, 1});
    return profile;
}

struct Outcome {
    double predicted_compress_s = 0.0;
    std::string said;
};

class WriterCalibration : public ::testing::Test {
  protected:
    std::string path_ = ::testing::TempDir() + fmt::format("caesura_calibration_{}.h5", ::getpid());
    std::string profile_ = path_ + ".json";
    void TearDown() override {
        std::filesystem::remove(path_);
        std::filesystem::remove(profile_);
    }

    void put_profile(const std::string& text) { std::ofstream(profile_) << text; }

    /// One dump by so many ranks; what rank 0 reported and said.
    Outcome write(const std::string& calibration, int n_ranks = 1) {
        std::mutex mutex;
        Outcome outcome;
        base::run_ranks(n_ranks, [&](std::unique_ptr<Communicator> comm) {
            const int rank = comm->rank();
            Outcome mine;
            const Status status = write_as(std::move(comm), calibration, mine);
            const std::lock_guard lock(mutex);
            EXPECT_TRUE(status.ok()) << status.message();
            outcome.predicted_compress_s += mine.predicted_compress_s;
            if (rank == 0) outcome.said = mine.said;
        });
        auto info = store::read_info(path_);
        EXPECT_TRUE(info.ok() && info->datasets.size() == 1) << info.status().message();
        return outcome;
    }

  private:
    Status write_as(std::unique_ptr<Communicator> comm, const std::string& calibration,
                    Outcome& mine) {
        const auto rank = static_cast<std::uint64_t>(comm->rank());
        const auto ranks = static_cast<std::uint64_t>(comm->size());
        WriterOptions options;
        options.calibration_path = calibration;
        options.on_message = [&mine](std::string_view text) {
            // Not what it says about the cores of this machine.
            if (text.find("compress threads") == std::string_view::npos) mine.said += text;
        };
        auto writer = Writer::create(path_, std::move(comm), options);
        if (!writer.ok()) return writer.status();
        auto field = (*writer)->define_field("rho", float32, k_shape, absolute(0.01));
        if (!field.ok()) return field.status();
        const Box box{{rank * k_shape[0] / ranks, 0, 0},
                      {k_shape[0] / ranks, k_shape[1], k_shape[2]}};
        std::vector<float> values(box.extent.count());
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(std::sin(0.01 * static_cast<double>(i)));
        auto iteration = (*writer)->begin_iteration(0);
        auto dump = iteration.begin_dump(0.0);
        if (Status status = dump.put(*field, box, values.data()); !status.ok()) return status;
        if (Status status = iteration.end(); !status.ok()) return status;
        const Status closed = (*writer)->close();
        mine.predicted_compress_s = (*writer)->report().predicted_compress_s;
        return closed;
    }
};

const double k_slow_s = k_slow_s_per_byte * 4.0 * static_cast<double>(k_shape.count());

TEST_F(WriterCalibration, predictions_start_from_the_profile_on_all_ranks) {
    put_profile(predict::to_json(slow_profile(host_class().name)));
    for (const int ranks : {1, 4}) {
        const Outcome outcome = write(profile_, ranks);
        EXPECT_NEAR(outcome.predicted_compress_s, k_slow_s, 1e-9 * k_slow_s) << ranks << " ranks";
        EXPECT_EQ(outcome.said, "");
    }
}

TEST_F(WriterCalibration, none_means_built_in_curves) {
    const Outcome outcome = write("none");
    EXPECT_GT(outcome.predicted_compress_s, 0.0);
    EXPECT_LT(outcome.predicted_compress_s, 1.0);
    EXPECT_EQ(outcome.said, "");
}

TEST_F(WriterCalibration, of_another_machine_is_used_if_it_was_named_and_said_to_be) {
    put_profile(predict::to_json(slow_profile("quite-another-machine-4")));
    const Outcome outcome = write(profile_);
    EXPECT_NEAR(outcome.predicted_compress_s, k_slow_s, 1e-9 * k_slow_s);
    EXPECT_NE(outcome.said.find("quite-another-machine-4"), std::string::npos) << outcome.said;
}

// Goal: no file, an empty one, half of one, one of another version, or something else altogether:
// the dump is written, and a message says what to do.
TEST_F(WriterCalibration, what_is_wrong_with_it_is_a_message) {
    const std::string good = predict::to_json(slow_profile(host_class().name));
    std::string later = good;
    later.replace(later.find("\"version\": 1"), 12, "\"version\": 9");
    const auto expect_built_in = [&](const char* what) {
        const Outcome outcome = write(profile_, 2);
        EXPECT_LT(outcome.predicted_compress_s, 1.0) << what;
        EXPECT_NE(outcome.said.find("caesura calibrate"), std::string::npos)
            << what << ": " << outcome.said;
    };
    expect_built_in("no file");
    for (const std::string& text : {std::string(), good.substr(0, good.size() / 2), later,
                                    std::string("\x89HDF\r\n"), std::string("{}")}) {
        put_profile(text);
        expect_built_in(text.substr(0, 20).c_str());
    }
    std::filesystem::remove(profile_);
    std::filesystem::create_directory(profile_);
    expect_built_in("a directory");
    std::filesystem::remove(profile_);
    ASSERT_EQ(::mkfifo(profile_.c_str(), 0600), 0);
    expect_built_in("a pipe that nobody writes to");
    std::filesystem::remove(profile_);
    std::filesystem::create_symlink("/dev/zero", profile_);
    expect_built_in("a device that never ends");
}

}  // namespace
}  // namespace caesura
