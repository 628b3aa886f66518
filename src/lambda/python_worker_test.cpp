#include "lambda/python_worker.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "lambda/python_functions.hpp"
#include "lambda/test_objects.hpp"

namespace caesura::lambda {
namespace {

constexpr const char* k_functions = R"(
import os, signal, socket, struct, sys, time
import numpy as np
from caesura.lambda_functions import direct, iterative

@direct
def count(region, above: float = 0.0, name: str = "n", doubled: bool = False):
    """How many values are above a limit.

    above: The limit.
    """
    n = int((region.values > above).sum())
    return {name: 2 * n if doubled else n}

@direct
def everything(region, needed: int):
    """All that is known of a region."""
    try:
        region.values[...] = 0
        written = 1
    except ValueError:
        written = 0
    return {"needed": needed, "object": region.object, "id": region.id, "time": region.time,
            "owner": region.owner, "tag": region.tags.get("unit", ""), "shape": list(region.shape),
            "offset": np.array(region.offset), "extent": region.values.shape, "written": written,
            "sum": region.values.sum(dtype=np.float64), "inf": float("inf"),
            "mixed": [1, 2.5, float("nan")], "empty": []}

@iterative
def totals(regions, scale: float = 1.0):
    """Count and sum over all regions."""
    n, total = 0, 0.0
    for region in regions:
        n += region.values.size
        total += float(region.values.sum(dtype=np.float64)) * scale
    return {"n": n, "total": total}

@iterative
def stops_early(regions):
    """Looks at one region only."""
    next(regions)
    return {"n": 1}

@direct
def loops(region):
    """For ever."""
    while True: pass

@direct
def sleeps(region):
    """For ever, without the processor."""
    time.sleep(1e6)

@direct
def eats(region):
    """All memory."""
    hoard = []
    while True: hoard.append(bytearray(1 << 24))

@direct
def eats_at_once(region):
    """All memory."""
    return {"n": int(np.ones(1 << 36).sum())}

@direct
def crashes(region):
    """By a signal."""
    os.kill(os.getpid(), signal.SIGSEGV)

@direct
def leaves(region):
    """With an exit code."""
    os._exit(7)

@direct
def raises(region):
    """What is raised is told."""
    raise KeyError("no such halo")

@direct
def exits(region):
    """As a script would."""
    sys.exit(3)

@direct
def nonsense(region, which: int):
    """Returns what is no result."""
    return [None, {"a": None}, {1: 2}, {"a": [1, "b"]}, {"a": 1 << 70}, {"a": {}}, 5][which]

@direct
def babbles(region, kind: int):
    """Writes to the connection itself."""
    words = [b"\xff\xff\xff\xffR", b"\x02\x00\x00\x00RX", b"\x05\x00\x00\x00Qxxxx",
             b"\x01\x00\x00\x00N"]
    os.write(3, words[kind])
    time.sleep(1e6)

@direct
def spoils(region):
    """Writes into the shared memory, and prints."""
    print("noise", flush=True)
    os.ftruncate(4, 1)
    os.pwrite(4, b"xxxxxxxx", 0)
    return {"n": 1}

@direct
def whole_process(region):
    """Its number."""
    return {"process": os.getpid()}

@direct
def maps(region):
    """More memory than there may be, as the system says it."""
    raise OSError(12, "Cannot allocate memory")

@direct
def forks(region):
    """Leaves a child behind."""
    child = os.fork()
    if child == 0:
        while True: time.sleep(1)
    return {"child": child}
)";

class Python : public ::testing::Test {
  protected:
    void SetUp() override {
        const std::string ask =
            std::string(CAESURA_TEST_PYTHON) +
            " -c 'import sys, numpy; sys.exit(sys.version_info < (3, 11))' 2>/dev/null";
        if (std::system(ask.c_str()) != 0) GTEST_SKIP() << "no Python 3.11 with numpy";
        std::string path = ::testing::TempDir() + "caesura_python_XXXXXX";
        directory_ = ::mkdtemp(path.data());
        write("mine.py", k_functions);
        object_ = random_object<float>({6, 7}, random_);
    }
    void TearDown() override {
        if (!directory_.empty()) std::filesystem::remove_all(directory_);
    }
    void write(const std::string& name, const std::string& text, mode_t mode = 0644) const {
        const std::string path = directory_ + "/" + name;
        std::ofstream(path) << text;
        ::chmod(path.c_str(), mode);
    }
    PythonSettings settings() const {
        PythonSettings settings;
        settings.python = CAESURA_TEST_PYTHON;
        settings.module_path = CAESURA_TEST_PACKAGES;
        settings.limits = {std::uint64_t{256} << 20, 1.0, 100.0, 120.0};
        return settings;
    }
    LoadedPlugins load(double wall_s = 100.0) {
        PythonSettings given = settings();
        given.limits.wall_s = wall_s;
        return take(add_python_functions(registry_, directory_, given));
    }
    Status failure(const std::string& call) {
        return registry_.run(call, object_.whole()).status();
    }
    /// After every misfortune the next call is served.
    void expect_well() {
        const auto results = registry_.run("mine.count(above=-100)", object_.whole());
        ASSERT_TRUE(results.ok()) << results.status().message();
        EXPECT_EQ(number(*results, "n"), 42.0);
    }

    std::string directory_;
    Registry registry_;
    std::mt19937_64 random_{121};
    TestObject<float> object_;
};

TEST_F(Python, functions_see_regions_as_they_are) {
    ASSERT_TRUE(load().refused.empty());
    const std::vector<Tag> tags{{"unit", "kg"}};
    object_.cut(4, random_);
    RegionView region = object_.region(2);
    region.tags = tags;
    const Results found = take(registry_.run("mine.everything(needed=3)", region));
    double sum = 0.0;
    for (const float x : object_.regions[2].values) sum += double{x};
    EXPECT_NEAR(number(found, "sum"), sum, 1e-12);
    EXPECT_EQ(number(found, "needed"), 3.0);
    EXPECT_EQ(number(found, "id"), 7.0);
    EXPECT_EQ(number(found, "time"), 1.5);
    EXPECT_EQ(number(found, "written"), 0.0);
    EXPECT_EQ(std::get<std::string>(*found.find("object")), "rho");
    EXPECT_EQ(std::get<std::string>(*found.find("owner")), "tester");
    EXPECT_EQ(std::get<std::string>(*found.find("tag")), "kg");
    EXPECT_EQ(list<std::int64_t>(found, "shape"), (std::vector<std::int64_t>{6, 7}));
    const Box& box = object_.regions[2].box;
    EXPECT_EQ(
        list<std::int64_t>(found, "offset"),
        (std::vector<std::int64_t>{std::int64_t(box.offset[0]), std::int64_t(box.offset[1])}));
    EXPECT_EQ(
        list<std::int64_t>(found, "extent"),
        (std::vector<std::int64_t>{std::int64_t(box.extent[0]), std::int64_t(box.extent[1])}));
    EXPECT_EQ(list<double>(found, "mixed")[1], 2.5);
    EXPECT_TRUE(list<std::int64_t>(found, "empty").empty());
    const TestObject<double> none{{0}, {}, {}};
    EXPECT_EQ(number(take(registry_.run("mine.count", none.whole())), "n"), 0.0);
}

TEST_F(Python, arguments_have_types_defaults_and_help) {
    (void)load();
    EXPECT_NE(registry_.help().find("mine.count (analysis): How many values are above a limit.\n"
                                    "      above: The limit. [number; default 0]"),
              std::string::npos);
    const Results found =
        take(registry_.run("mine.count(above=-1e9, name=\"a b\", doubled=true)", object_.whole()));
    EXPECT_EQ(number(found, "a b"), 84.0);
    EXPECT_NE(failure("mine.everything").message().find("needs 'needed'"), std::string::npos);
    EXPECT_NE(failure("mine.count(above=x)").message().find("is no number"), std::string::npos);
}

TEST_F(Python, the_iterative_interface_goes_over_all_regions) {
    (void)load();
    object_.cut(9, random_);
    std::vector<RegionView> regions;
    for (std::size_t i = 0; i < 9; ++i) regions.push_back(object_.region(i));
    ListedRegions listed(regions);
    const Results found = take(registry_.run("mine.totals(scale=2)", listed));
    double sum = 0.0;
    for (const float x : object_.values) sum += 2.0 * double{x};
    EXPECT_EQ(number(found, "n"), 42.0);
    EXPECT_NEAR(number(found, "total"), sum, 1e-12);
    ASSERT_TRUE(listed.rewind().ok());
    EXPECT_EQ(number(take(registry_.run("mine.stops_early", listed)), "n"), 1.0);
    expect_well();
}

TEST_F(Python, one_that_loops_is_stopped_by_the_processor_limit) {
    (void)load();
    const Status status = failure("mine.loops");
    EXPECT_EQ(status.code(), StatusCode::cancelled);
    EXPECT_NE(status.message().find("mine.loops took more than 1 s of processor time"),
              std::string::npos)
        << status.message();
    expect_well();
}

TEST_F(Python, one_that_sleeps_is_stopped_by_the_clock) {
    (void)load(4.0);
    const Status status = failure("mine.sleeps");
    EXPECT_EQ(status.code(), StatusCode::cancelled);
    EXPECT_NE(status.message().find("mine.sleeps took more than 4 s"), std::string::npos)
        << status.message();
    expect_well();
}

TEST_F(Python, one_that_eats_memory_is_told_so) {
    (void)load();
    for (const char* call : {"mine.eats", "mine.eats_at_once", "mine.maps"}) {
        const Status status = failure(call);
        EXPECT_EQ(status.code(), StatusCode::no_space) << status.message();
        EXPECT_NE(status.message().find(std::string(call) + " needs more than 256 MiB"),
                  std::string::npos)
            << status.message();
        expect_well();
    }
}

TEST_F(Python, one_that_crashes_takes_nothing_along) {
    (void)load();
    EXPECT_NE(failure("mine.crashes")
                  .message()
                  .find("mine.crashes: its process crashed (Segmentation fault)"),
              std::string::npos);
    expect_well();
    EXPECT_NE(failure("mine.leaves").message().find("ended (exit code 7)"), std::string::npos);
    expect_well();
    EXPECT_NE(failure("mine.exits").message().find("mine.exits: "), std::string::npos);
    expect_well();
}

TEST_F(Python, what_is_raised_or_returned_wrongly_is_named) {
    (void)load();
    const Status raised = failure("mine.raises");
    EXPECT_EQ(raised.code(), StatusCode::invalid_argument);
    EXPECT_NE(raised.message().find("mine.raises: KeyError: 'no such halo' (mine.py:"),
              std::string::npos)
        << raised.message();
    for (int which = 0; which < 7; ++which) {
        const Status status = failure("mine.nonsense(which=" + std::to_string(which) + ")");
        EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.message();
        EXPECT_NE(status.message().find("mine.nonsense: TypeError: "), std::string::npos)
            << status.message();
    }
    expect_well();
}

TEST_F(Python, nonsense_on_the_connection_ends_the_process) {
    (void)load();
    for (int kind = 0; kind < 4; ++kind) {
        const Status status = failure("mine.babbles(kind=" + std::to_string(kind) + ")");
        EXPECT_EQ(status.code(), StatusCode::internal) << kind;
        EXPECT_NE(status.message().find("mine.babbles: its process said nonsense"),
                  std::string::npos)
            << status.message();
        expect_well();
    }
    EXPECT_TRUE(registry_.run("mine.spoils", object_.whole()).ok());
    expect_well();
}

TEST_F(Python, children_end_with_their_process) {
    (void)load();
    const auto child =
        static_cast<pid_t>(number(take(registry_.run("mine.forks", object_.whole())), "child"));
    EXPECT_EQ(::kill(child, 0), 0);
    EXPECT_FALSE(failure("mine.leaves").ok());
    // Killed; it may wait for init to take notice.
    std::string state;
    for (int tries = 0; tries < 100000 && ::kill(child, 0) == 0; ++tries) {
        std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
        std::string number_field, name;
        stat >> number_field >> name >> state;
        if (state == "Z" || state == "X") break;
    }
    EXPECT_TRUE(::kill(child, 0) != 0 || state == "Z" || state == "X") << state;
}

TEST_F(Python, a_process_that_ends_between_calls_is_replaced) {
    (void)load();
    const auto process = [&] {
        return static_cast<pid_t>(
            number(take(registry_.run("mine.whole_process", object_.whole())), "process"));
    };
    const pid_t first = process();
    EXPECT_EQ(process(), first);
    ASSERT_EQ(::kill(first, SIGKILL), 0);
    while (true) {  // the kernel takes its time
        siginfo_t info{};
        ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(first), &info, WEXITED | WNOWAIT), 0);
        if (info.si_pid == first) break;
    }
    EXPECT_NE(process(), first);
}

TEST_F(Python, an_iterator_that_fails_is_the_functions_error) {
    (void)load();
    class Broken : public RegionIterator {
        Result<std::optional<RegionView>> next() override {
            return Status(StatusCode::io, "the other server is gone");
        }
    } broken;
    const Status status = registry_.run("mine.totals", broken).status();
    EXPECT_EQ(status.code(), StatusCode::io);
    EXPECT_NE(status.message().find("mine.totals: the other server is gone"), std::string::npos);
    expect_well();
}

TEST_F(Python, files_that_others_can_write_or_that_fail_are_refused_alone) {
    write("others.py", "raise SystemError('never run')", 0666);
    write("broken.py", "import no_such_module");
    write("odd.py",
          "from caesura.lambda_functions import direct\n"
          "@direct\ndef Upper(region):\n    \"\"\"A name that cannot be.\"\"\"\n    return {}\n");
    write("untyped.py",
          "from caesura.lambda_functions import direct\n@direct\ndef f(region, x): return {}\n");
    const LoadedPlugins loaded = load();
    ASSERT_EQ(loaded.refused.size(), 4u);
    EXPECT_NE(loaded.refused[0].message().find("mode 666"), std::string::npos);
    EXPECT_NE(loaded.refused[1].message().find("broken.py: ModuleNotFoundError"),
              std::string::npos);
    EXPECT_NE(loaded.refused[2].message().find("parameter x is no int"), std::string::npos);
    EXPECT_NE(loaded.refused[3].message().find("odd.Upper"), std::string::npos);
    EXPECT_EQ(registry_.find("odd.Upper"), nullptr);
    expect_well();
    ::chmod(directory_.c_str(), 0777);
    Registry other;
    EXPECT_EQ(add_python_functions(other, directory_, settings()).status().code(),
              StatusCode::invalid_argument);
}

TEST_F(Python, a_python_that_does_not_start_is_an_error) {
    PythonSettings wrong = settings();
    wrong.python = "/nowhere/python";
    EXPECT_EQ(add_python_functions(registry_, directory_, wrong).status().code(), StatusCode::io);
    wrong.python = "false";
    EXPECT_EQ(add_python_functions(registry_, directory_, wrong).status().code(),
              StatusCode::internal);
    wrong = settings();
    wrong.limits.start_s = 0.0;
    EXPECT_EQ(add_python_functions(registry_, directory_, wrong).status().code(),
              StatusCode::cancelled);
}

}  // namespace
}  // namespace caesura::lambda
