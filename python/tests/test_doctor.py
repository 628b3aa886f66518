"""caesura doctor: what is there, what is not, and what must be set is told apart, in the
environment that the test makes: variables, cores, files, and programs on the PATH."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import caesura
import pytest
from caesura import prefix, vol
from caesura.doctor import MUST_SET, Ask, Finding, cores, examine, libraries, memory, storage
from caesura.doctor import job as jobs
from caesura.doctor.finding import ABSENT, NOTE, OK, ranks_of_job

HAS_OPEN_MPI = libraries.launcher()[0] == libraries.OPEN_MPI
try:
    CONNECTOR = vol.connector_path()
except RuntimeError:
    CONNECTOR = ""
HERE, WHOLE = cores.usable(Ask(Path())), cores.whole_cores(Ask(Path()))


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No variable of the machine that runs the tests decides."""
    for name in list(os.environ):
        if name.startswith(("HDF5_", "OMPI_", "SLURM_", "OMP_", "MPI_", "PBS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a shell script first on the PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def write(name: str, text: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)

    return write


def command(*arguments: object, **options) -> subprocess.CompletedProcess:
    line = [sys.executable, "-m", "caesura", "doctor", *map(str, arguments)]
    answer = subprocess.run(line, capture_output=True, text=True, check=False, **options)
    assert "Traceback" not in answer.stderr, answer.stderr
    return answer


def tree(root: Path, **files: str) -> Path:
    """Files below root, with / written as __."""
    for name, text in files.items():
        file = root / name.replace("__", "/").replace("DOT", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


# ------------------------------------------------------------------------------ the command line


def test_the_exit_status_says_whether_something_must_be_set(tmp_path, monkeypatch):
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    monkeypatch.setenv("HDF5_PLUGIN_PATH", caesura.plugin_path())
    well = command("--json", tmp_path)
    told = json.loads(well.stdout)
    wanted = [one["name"] for one in told["checks"] if one["state"] == MUST_SET]
    assert len(wanted) == told["must_be_set"]
    assert "filter plugin" not in wanted
    assert well.returncode == bool(wanted)
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(tmp_path / "gone"))
    ill = command(tmp_path)
    assert ill.returncode == 1
    assert f"export HDF5_PLUGIN_PATH={caesura.plugin_path()}" in ill.stdout
    assert "1 thing to set" in ill.stdout or "things to set" in ill.stdout


def test_a_machine_with_nothing_is_told_so(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    told = json.loads(command("--json", tmp_path).stdout)
    states = {one["name"]: one["state"] for one in told["checks"]}
    assert (states["MPI"], states["waiting MPI"], states["GPU"]) == (ABSENT,) * 3
    assert states["locks"] == OK


def test_programs_that_fail_or_babble_are_reported_and_no_traceback(tmp_path, program):
    for name in ("mpirun", "mpiexec", "nvidia-smi", "lfs", "ompi_info"):
        program(name, "echo it is broken >&2; exit 9")
    program("h5pcc", "echo nothing that one knows")
    found = {one["name"]: one for one in json.loads(command("--json", tmp_path).stdout)["checks"]}
    assert found["GPU"]["state"] == found["HDF5"]["state"] == NOTE
    assert "it is broken" in found["GPU"]["found"]
    assert "mpirun does not run" in found["MPI"]["found"]
    assert "does not say its version" in found["HDF5"]["found"]


@pytest.mark.parametrize(("name", "word"), [("none", "does not exist"), ("file", "no directory")])
def test_no_directory_is_an_error_in_a_sentence(tmp_path, name, word):
    (tmp_path / "file").touch()
    answer = command(tmp_path / name, "--json")
    assert answer.returncode == 3
    assert word in json.loads(answer.stdout)["error"]


def test_a_directory_without_room_for_files_must_be_another():
    finding = storage.file_system(Ask(Path("/proc")))
    assert finding.state == MUST_SET
    assert finding.found.startswith("proc, mounted at /proc")
    assert storage.locks(Ask(Path("/proc"))).state == NOTE


# ------------------------------------------------------------------------------------- libraries


def test_hdf5_itself_is_asked_for_the_filter(tmp_path, monkeypatch):
    assert libraries.filter_plugin(Ask(tmp_path)).state == NOTE  # Python alone needs no variable
    monkeypatch.setenv("HDF5_PLUGIN_PATH", caesura.plugin_path())
    finding = libraries.filter_plugin(Ask(tmp_path))
    assert (finding.state, "libh5caesura" in finding.found) == (OK, True)
    (tmp_path / "libh5caesura.so").write_text("no library")
    monkeypatch.setenv("HDF5_PLUGIN_PATH", str(tmp_path))
    finding = libraries.filter_plugin(Ask(tmp_path))
    assert finding.state == MUST_SET
    assert finding.variables == {"HDF5_PLUGIN_PATH": f"{caesura.plugin_path()}:{tmp_path}"}


def test_what_is_to_be_set_helps_where_a_directory_is_not_there(tmp_path, monkeypatch):
    """HDF5 1.10 looks no further than a directory that it cannot open."""
    path = f"{tmp_path}/gone:{caesura.plugin_path()}:{tmp_path}"
    monkeypatch.setenv("HDF5_PLUGIN_PATH", path)
    finding = libraries.filter_plugin(Ask(tmp_path))
    assert f"no directory: {tmp_path}/gone" in finding.found
    if finding.state == MUST_SET:
        (path,) = finding.variables.values()
        assert path == f"{caesura.plugin_path()}:{tmp_path}"
        monkeypatch.setenv("HDF5_PLUGIN_PATH", path)
        finding = libraries.filter_plugin(Ask(tmp_path))
    assert finding.state == OK


@pytest.mark.skipif(not CONNECTOR, reason="needs the connector")
def test_a_connector_that_hdf5_does_not_take_is_told_from_one_that_it_takes(monkeypatch, tmp_path):
    monkeypatch.setenv("HDF5_PLUGIN_PATH", CONNECTOR)
    assert libraries.connector(Ask(tmp_path)).state == OK
    monkeypatch.setenv("HDF5_VOL_CONNECTOR", "caesura")
    assert libraries.connector(Ask(tmp_path)).state == NOTE  # other programs meet it too
    monkeypatch.setenv("HDF5_VOL_CONNECTOR", "nonsense")
    assert libraries.connector(Ask(tmp_path)).state == MUST_SET


def test_a_connector_that_is_asked_for_and_not_there_must_be_unset(monkeypatch, tmp_path):
    monkeypatch.delenv("CAESURA_BUILD", raising=False)
    monkeypatch.setattr(prefix, "__file__", str(tmp_path / "tree" / "package" / "prefix.py"))
    if (Path(vol.__file__).parent / "vol").exists():
        pytest.skip("the package has a connector of its own")
    assert libraries.connector(Ask(tmp_path)).state == ABSENT
    monkeypatch.setenv("HDF5_VOL_CONNECTOR", "caesura")
    assert libraries.connector(Ask(tmp_path)).state == MUST_SET


@pytest.mark.skipif(not (CONNECTOR and HAS_OPEN_MPI), reason="needs the connector and Open MPI")
def test_an_mpirun_of_another_mpi_than_the_connectors_is_found(program, tmp_path):
    assert libraries.mpi(Ask(tmp_path)).state == OK
    program("mpirun", "echo 'HYDRA build details:'; echo '    Version: 4.0.2'")
    finding = libraries.mpi(Ask(tmp_path))
    assert finding.state == MUST_SET
    assert "MPICH 4.0.2" in finding.found and "libmpi.so.40" in finding.found


# ----------------------------------------------------------------------------------- cores, memory


@pytest.mark.skipif(HERE < 2, reason="needs two cores")
def test_a_process_bound_to_one_core_is_to_be_given_more(tmp_path):
    one = min(os.sched_getaffinity(0))
    answer = command("--json", tmp_path, preexec_fn=lambda: os.sched_setaffinity(0, {one}))
    (found,) = (c for c in json.loads(answer.stdout)["checks"] if c["name"] == "cores")
    assert found["state"] == MUST_SET
    assert f"may use 1 ({one})" in found["found"]


@pytest.mark.parametrize(
    "files",
    [
        {"proc__self__cgroup": "0::/a/b\n", "sys__fs__cgroup__a__cpuDOTmax": "150000 100000\n",
         "sys__fs__cgroup__a__b__cpuDOTmax": "max 100000\n",
         "sys__fs__cgroup__a__memoryDOTmax": "100000000\n"},
        {"proc__self__cgroup": "4:memory:/out/side\n3:cpu,cpuacct:/out/side\n",
         "sys__fs__cgroup__cpu__cpuDOTcfs_quota_us": "150000\n",
         "sys__fs__cgroup__cpu__cpuDOTcfs_period_us": "100000\n",
         "sys__fs__cgroup__memory__memoryDOTlimit_in_bytes": "100000000\n"},
    ],
    ids=["version 2, of the group above", "version 1, in a container"],
)  # fmt: skip
def test_limits_of_cgroups_count(tmp_path, files):
    ask = Ask(
        tmp_path, root=tree(tmp_path, proc__meminfo=Path("/proc/meminfo").read_text(), **files)
    )
    assert cores.cpu_limit(tmp_path) == 1.5
    assert cores.usable(ask) == 1
    assert "cgroup limit: 1.5 cores" in cores.cores(ask).found
    assert memory.memory(ask).state == MUST_SET  # 50 MB are six blocks
    assert "cgroup limit 100 MB" in memory.memory(ask).found


def test_more_threads_than_cores_are_found_and_the_right_numbers_named(tmp_path):
    assert cores.ranks(Ask(tmp_path, HERE, 1)).state == OK
    finding = cores.ranks(Ask(tmp_path, HERE, 3))
    assert finding.state == MUST_SET
    assert "OMP_NUM_THREADS=1" in finding.do
    assert cores.ranks(Ask(tmp_path)).state == ABSENT


def test_pbs_lists_its_ranks_host_by_host(tmp_path, monkeypatch):
    assert ranks_of_job() is None
    own = socket.gethostname().partition(".")[0]
    (tmp_path / "nodes").write_text(f"{own}.cluster\n{own}.cluster\nanother\n{own}\n")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    assert ranks_of_job() == 3
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "gone"))
    assert ranks_of_job() is None


RANKS = """if True:
    from pathlib import Path
    from caesura.doctor import Ask, cores
    from caesura.doctor.finding import ranks_of_job
    finding = cores.ranks(Ask(Path("."), ranks_of_job()))
    print(finding.state + ": " + finding.found)
"""


@pytest.mark.skipif(not HAS_OPEN_MPI or HERE < 2, reason="needs Open MPI and two cores")
def test_cores_of_ranks_that_are_bound_are_those_of_all():
    root = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
    line = ["mpirun", "-n", "2", "--bind-to", "core", "sh", "-c", '"$@"; true', "sh"]
    done = subprocess.run([*line, sys.executable, "-c", RANKS], env={**os.environ, **root},
                          capture_output=True, text=True, check=False, timeout=60)  # fmt: skip
    # mpirun may put one rank's words between another's and their newline.
    said = "".join(done.stdout.split("\n"))
    assert said == f"ok: ranks x threads: 2 x 1, cores: {HERE}" * 2, done.stderr


@pytest.mark.skipif(HERE < 2, reason="needs two cores")
@pytest.mark.parametrize(("there", "state"), [(2, OK), (1, MUST_SET)])
def test_slurm_says_how_many_cores_its_bound_ranks_have(monkeypatch, there, state):
    """In a process whose parents are bound as it is, as Slurm's are to its user."""
    monkeypatch.setenv("SLURM_LOCALID", "0")
    monkeypatch.setenv("SLURM_TASKS_PER_NODE", "2(x3)")
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", str(there))
    monkeypatch.setattr(cores, "ancestors", lambda: iter(()))
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        finding = cores.ranks(Ask(Path(), ranks_of_job()))
    finally:
        os.sched_setaffinity(0, before)
    assert (finding.state, finding.found) == (state, f"ranks x threads: 2 x 1, cores: {there}")


@pytest.mark.skipif(not HAS_OPEN_MPI or HERE < 2, reason="needs Open MPI and two cores")
def test_a_spinning_mpi_matters_where_ranks_share_cores(tmp_path, monkeypatch):
    full, half = Ask(tmp_path, HERE), Ask(tmp_path, HERE // 2)
    assert cores.waiting(half).state == OK
    finding = cores.waiting(full)
    assert finding.state == MUST_SET
    assert finding.variables == {"OMPI_MCA_mpi_yield_when_idle": "1"}
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "1")
    assert (cores.waiting(full).state, cores.waiting(half).state) == (OK, NOTE)


@pytest.mark.skipif(not HAS_OPEN_MPI, reason="needs Open MPI")
def test_open_mpis_own_file_of_parameters_counts(tmp_path):
    (tmp_path / ".openmpi").mkdir()
    (tmp_path / ".openmpi/mca-params.conf").write_text("mpi_yield_when_idle = 1\n")
    assert cores.waiting(Ask(tmp_path, HERE)).state == OK


def test_gpus_are_listed_and_one_that_cannot_be_shared_is_noted(program, tmp_path):
    program("nvidia-smi", "echo 'NVIDIA H100, 81559 MiB, 550.1, Default'")
    assert memory.gpu(Ask(tmp_path)).found == "NVIDIA H100, 81559 MiB, 550.1, Default"
    program("nvidia-smi", "echo 'NVIDIA H100, 81559 MiB, 550.1, Exclusive_Process'")
    assert memory.gpu(Ask(tmp_path)).state == NOTE


# ----------------------------------------------------------------------------------- file systems


def mounted(tmp_path: Path, line: str) -> Ask:
    """A directory on what the line says; the one with a space in its name is written as mounts
    are."""
    directory = tmp_path / "my scratch"
    directory.mkdir()
    escaped = str(directory).replace(" ", "\\040")
    mounts = f"/dev/sda / ext4 rw 0 0\n{line.format(escaped)} 0 0\n/dev/b {tmp_path}x xfs rw 0 0\n"
    return Ask(directory, root=tree(tmp_path / "root", proc__self__mounts=mounts))


PLAIN = "stripe_count:  {} stripe_size:   1048576 pattern: raid0 stripe_offset: -1"
PARTS = "lcm_entry_count: 2\n lmm_stripe_count: 1\n lmm_stripe_size: 65536\n lmm_stripe_count: -1\n"


def test_stripes_of_lustre_are_asked_of_lfs(program, tmp_path):
    ask = mounted(tmp_path, "10.0.0.1@tcp:/fs {} lustre rw,localflock")
    program("lfs", f'test "$3" = "{ask.directory}" || exit 2\necho "{PLAIN.format(1)}"')
    finding = storage.stripes(ask)
    assert finding.state == MUST_SET
    assert finding.commands == (f"lfs setstripe -c 8 '{ask.directory}'",)
    assert "stripe_bytes = 1048576" in finding.do
    program("lfs", f"echo '{PLAIN.format(16)}'")
    assert storage.stripes(ask).state == NOTE
    program("lfs", f"printf '{PARTS} lmm_stripe_size: 4194304'")
    finding = storage.stripes(ask)
    assert "all targets, stripes of 4194304" in finding.found
    assert "this node alone" in storage.locks(ask).found


def test_lustre_without_lfs_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    ask = mounted(tmp_path, "10.0.0.1@tcp:/fs {} lustre rw,flock")
    assert (storage.stripes(ask).state, storage.locks(ask).state) == (NOTE, OK)


@pytest.mark.parametrize(
    ("line", "word"),
    [("server:/home {} nfs4 rw", "durability"), ("overlay {} overlay rw", "container")],
)
def test_file_systems_with_surprises_are_noted(tmp_path, line, word):
    finding = storage.file_system(mounted(tmp_path, line))
    assert finding.state == NOTE
    assert word in finding.do


@pytest.mark.parametrize("mounts", [None, "", "tmpfs /elsewhere tmpfs rw 0 0\n"])
def test_a_file_system_that_a_container_does_not_show_is_said(tmp_path, mounts):
    root = tree(tmp_path / "root", **({} if mounts is None else {"proc__self__mounts": mounts}))
    ask = Ask(tmp_path, root=root)
    words = "the file system is not known: /proc/self/mounts does not name it"
    finding = storage.file_system(ask)
    assert (finding.state, finding.found.partition("; ")[0]) == (OK, words)
    assert (storage.stripes(ask).state, storage.stripes(ask).found) == (ABSENT, words)
    assert storage.locks(ask).state == OK


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="needs /dev/shm")
def test_results_in_memory_are_noted():
    finding = storage.file_system(Ask(Path("/dev/shm")))
    assert (finding.state, finding.found[:5]) == (NOTE, "tmpfs")


# ------------------------------------------------------------------------------------ job scripts

APPLICATION = """#!/bin/sh
cores=$(env -u OMP_NUM_THREADS nproc)
echo "rank on $cores with OMP_NUM_THREADS=$OMP_NUM_THREADS and $HDF5_PLUGIN_PATH"
"""
SETTING = Finding(MUST_SET, "not found", "Do it.", {"HDF5_PLUGIN_PATH": "/a b:/c"}, ("echo said",))


def run_script(text: str, folder: Path, **variables: str) -> str:
    tree(folder, application=APPLICATION)
    (folder / "application").chmod(0o755)
    done = subprocess.run(
        ["bash", "-s"], input=text, cwd=folder, env={**os.environ, **variables},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.skipif(not HAS_OPEN_MPI, reason="needs Open MPI")
@pytest.mark.parametrize("ranks", [None, HERE, HERE + 1])
def test_the_script_for_pbs_starts_ranks_that_get_what_was_set(tmp_path, ranks):
    ask = Ask(tmp_path, ranks)
    root = dict.fromkeys(("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"), "1")
    findings = [SETTING, replace(SETTING, variables=root, commands=())]
    text = jobs.script("pbs", ask, findings)
    assert " -x HDF5_PLUGIN_PATH " in text  # on this node a rank would inherit it
    said = run_script(text, tmp_path, PBS_O_WORKDIR=str(tmp_path))
    assert said.startswith("said\n")
    count = ranks or jobs.layout(ask)[0]
    assert said.count("with OMP_NUM_THREADS=1 and /a b:/c\n") == count
    if ranks is None and WHOLE == HERE >= 2:
        assert said.count("rank on 2 ") == count  # and one to compress on


def test_the_script_for_pbs_speaks_to_the_mpi_that_is_there(tmp_path, program):
    program("mpirun", "echo HYDRA")
    program("mpiexec", "printf '%s\\n' \"$*\"")
    said = run_script(jobs.script("pbs", Ask(tmp_path, 1), []), tmp_path, PBS_O_WORKDIR=".")
    assert said == f"-n 1 -bind-to core:{min(2, WHOLE)} ./application\n"


def test_the_script_for_slurm_hands_on_the_cores_of_a_rank(tmp_path, program):
    program("srun", 'echo "$@"; eval "shift $(($# - 1))"; exec "$1"')
    text = jobs.script("slurm", Ask(tmp_path, 1), [SETTING])
    first, second, third = run_script(text, tmp_path).splitlines()
    per_rank = min(2, WHOLE)
    assert f"#SBATCH --cpus-per-task={per_rank}\n" in text
    assert first == "said"
    assert second == f"--cpus-per-task={per_rank} --cpu-bind=cores ./application"
    assert third.endswith("/a b:/c")


def test_only_the_script_is_on_standard_output(tmp_path):
    answer = command(tmp_path, "--job", "slurm")
    assert answer.stdout.startswith("#!/bin/bash\n#SBATCH")
    assert "file system" in answer.stderr
    told = json.loads(command(tmp_path, "--job", "pbs", "--json").stdout)
    assert told["job"].startswith("#!/bin/bash\n#PBS")


def test_every_check_has_a_reason_and_what_must_be_set_says_how(tmp_path):
    findings = examine(Ask(tmp_path, 1000, 4))
    assert len({finding.name for finding in findings}) == len(findings)
    assert all(finding.why for finding in findings)
    wanted = [finding for finding in findings if finding.state == MUST_SET]
    assert "ranks" in [finding.name for finding in wanted]
    assert all(finding.do for finding in wanted)


def test_ranges_of_cores_are_short():
    assert cores.as_ranges({0, 1, 2, 3, 8, 10, 11}) == "0-3,8,10-11"
