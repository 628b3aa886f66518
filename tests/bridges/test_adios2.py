"""ADIOS2 itself, in a program that knows nothing of Caesura, writes through Caesura's plugins by
its XML configuration alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import caesura
import h5py
import numpy as np
import pytest

BUILD = Path(os.environ.get("CAESURA_BUILD", Path(__file__).resolve().parents[2] / "build"))
PLUGINS = BUILD / "adios2"
PROGRAM = BUILD / "tests/bridges/adios2_program"
pytest.importorskip("adios2", reason="no adios2 in this Python; tools/requirements.txt has it")
pytestmark = pytest.mark.skipif(
    not (PLUGINS / "libcaesura_adios2.so").exists(), reason="this build found no ADIOS2"
)

FIELDS = """
import numpy as np
SHAPE = (24, 20, 40)
def u(n):
    z, y, x = np.meshgrid(*(np.linspace(0, 3, s) for s in SHAPE), indexing="ij")
    return np.sin(x + 0.3 * n) * np.cos(2 * y) + z
def v(n):
    return (100 * u(n) + n).astype(np.float32)
def mark(n):
    return (u(n) > 0.5).astype(np.int32) * (n + 1)
"""
WRITE = (
    FIELDS
    + """
import sys
import adios2
adios = adios2.Adios(sys.argv[1])
io = adios.declare_io("output")
start, half = [0, 0, 0], SHAPE[0] // 2
def define(name, like):
    return io.define_variable(name, like, list(SHAPE), start, list(SHAPE))
U, V, M = define("U", u(0)), define("fields/deep/V", v(0)), define("mark", mark(0))
count = io.define_variable("count", np.array(0, np.int64))
io.define_attribute("Du", np.float64(0.2))
io.define_attribute("code", "gray scott")
with adios2.Stream(io, sys.argv[2], "w") as stream:
    for _ in stream.steps(3):
        n = stream.current_step()
        for lower in (0, half):  # two boxes a step
            U.set_selection([[lower, 0, 0], [half, *SHAPE[1:]]])
            stream.write(U, np.ascontiguousarray(u(n)[lower : lower + half]))
        stream.write(V, v(n))
        stream.write(M, mark(n))
        stream.write(count, np.array(n + 7, np.int64))
"""
)
READ = (
    FIELDS
    + """
import json, sys
import adios2
worst = {"U": 0.0, "V": 0.0}
with adios2.Stream(sys.argv[1], "r") as stream:
    for _ in stream.steps():
        n = stream.current_step()
        worst["U"] = max(worst["U"], float(np.abs(stream.read("U") - u(n)).max()))
        worst["V"] = max(worst["V"], float(np.abs(stream.read("fields/deep/V") - v(n)).max()))
        assert (stream.read("mark") == mark(n)).all()
        steps = n + 1
print(json.dumps([steps, worst]))
"""
)
# Everything that a file of BP5 has, by variable and step.
DUMP = """
import sys
import adios2
import numpy as np
found = {}
with adios2.Stream(sys.argv[1], "r") as stream:
    for _ in stream.steps():
        for name in stream.available_variables():
            found[f"{name}@{stream.current_step()}"] = stream.read(name)
np.savez(sys.argv[2], **found)
"""
BOUND, TIGHT, STEPS = 1e-3, 1e-5, 3
space: dict = {}
exec(FIELDS, space)


def engine(path: Path, **more: str) -> str:
    said = {"PluginName": "caesura", "PluginLibrary": "caesura_adios2", "FileName": path, **more}
    lines = [f'<parameter key="{key}" value="{value}"/>' for key, value in said.items()]
    return f'<engine type="plugin">{"".join(lines)}</engine>'


def operator(variable: str, bound: str) -> str:
    return f"""<variable name="{variable}"><operation type="plugin">
      <parameter key="PluginName" value="caesura_operator"/>
      <parameter key="PluginLibrary" value="caesura_adios2_operator"/>
      <parameter key="Bound" value="{bound}"/></operation></variable>"""


def run(tmp_path: Path, program: str, *arguments) -> subprocess.CompletedProcess:
    """A program in a process of its own, which finds the plugins and nothing else of ours."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env["ADIOS2_PLUGIN_PATH"] = str(PLUGINS)
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
    )


def configuration(tmp_path: Path, io: str) -> Path:
    config = tmp_path / "adios2.xml"
    head = '<?xml version="1.0"?>'
    config.write_text(f'{head}<adios-config><io name="output">{io}</io></adios-config>')
    return config


def write(tmp_path: Path, io: str, target: str) -> subprocess.CompletedProcess:
    return run(tmp_path, WRITE, configuration(tmp_path, io), target)


def run_program(tmp_path: Path, io: str, target: str, ranks: int) -> subprocess.CompletedProcess:
    """The program of C++, whose memory has ghost cells."""
    command = [PROGRAM, configuration(tmp_path, io), target, str(STEPS)]
    if PARALLEL:
        command = ["mpirun", "-np", str(ranks), *command]
    env = {**os.environ, "ADIOS2_PLUGIN_PATH": str(PLUGINS)}
    return subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
    )


def has_mpi() -> bool:
    """Whether the ADIOS2 of this build has: the wheel, of which other tests are, has none."""
    if not PROGRAM.exists():
        return False
    return "libmpi" in subprocess.run(["ldd", PROGRAM], capture_output=True, text=True).stdout


PARALLEL = has_mpi()
of_the_wheel = pytest.mark.skipif(PARALLEL, reason="the wheel's ADIOS2 cannot load these plugins")


@of_the_wheel
def test_the_engine_writes_what_h5py_reads(tmp_path):
    path = tmp_path / "run.h5"
    bounds = {"Bound": "1e-3", "Bound.fields/deep/V": "relative 1e-4"}
    done = write(tmp_path, engine(path, **bounds), "ignored")
    assert done.returncode == 0, done.stderr
    with caesura.open(path) as file:
        assert list(file["data"]) == ["0", "1", "2"]
        assert file.attrs["Du"] == 0.2
        assert file.attrs["code"] in ("gray scott", b"gray scott")
        for n in range(3):
            step = file[f"data/{n}"]
            assert step.attrs["count"] == n + 7
            assert np.abs(step["meshes/U"][...] - space["u"](n)).max() <= 1e-3
            v = space["v"](n)
            allowed = 1e-4 * float(v.max() - v.min())
            assert np.abs(step["meshes/fields.deep/V"][...] - v).max() <= allowed * (1 + 1e-6)
            assert (step["meshes/mark"][...] == space["mark"](n)).all()
    raw = 3 * space["u"](0).nbytes
    assert path.stat().st_size < raw


@of_the_wheel
def test_the_engine_has_the_layout_of_the_hdf5_engine(tmp_path):
    path = tmp_path / "run.h5"
    done = write(tmp_path, engine(path, Layout="steps"), "ignored")
    assert done.returncode == 0, done.stderr
    with caesura.open(path) as file:
        for n in range(3):
            assert (file[f"Step{n}/U"][...] == space["u"](n)).all()  # without a bound: all bits


@of_the_wheel
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"Bonud": "1"}, "parameter 'Bonud' is not known"),
        ({"Bound": "tight"}, "'tight' is no bound"),
        ({"FileName": "/nowhere/at/all/run.h5"}, "/nowhere/at/all/run.h5"),
    ],
)
def test_what_the_engine_cannot_do_is_said_when_it_is_opened(tmp_path, more, words):
    done = write(tmp_path, engine(tmp_path / "run.h5", **more), "ignored")
    assert done.returncode != 0
    assert "Caesura's engine" in done.stderr and words in done.stderr


@pytest.mark.parametrize("ranks", [1, 2, 4] if PARALLEL else [1])
def test_a_program_writes_what_it_writes_by_bp5(tmp_path, ranks):
    said = {"Bound": str(BOUND), "Bound.fields/dense": str(TIGHT), "Ranks": "all"}
    for io, target in (
        ('<engine type="BP5"/>', "run.bp"),
        (engine(tmp_path / "run.h5", **said), "ignored"),
    ):
        done = run_program(tmp_path, io, target, ranks)
        assert done.returncode == 0, done.stderr
    read = run(tmp_path, DUMP, "run.bp", "run.npz")
    assert read.returncode == 0, read.stderr
    wanted = np.load(tmp_path / "run.npz")
    with caesura.open(tmp_path / "run.h5") as file:
        assert file.attrs["Du"] == 0.25
        for n in range(STEPS):
            step = file[f"data/{n}"]
            for name in ("ghosts", "pairs", "grows"):
                values, of_bp5 = step[f"meshes/{name}"][...], wanted[f"{name}@{n}"]
                assert values.shape == of_bp5.shape
                # Each of the two numbers of a complex one has the bound.
                assert np.abs(values.view("f8") - of_bp5.view("f8")).max() <= BOUND
            dense = step["meshes/fields/dense"][...] - wanted[f"fields/dense@{n}"]
            assert np.abs(dense).max() <= TIGHT * (1 + 1e-6)
            assert (step["meshes/share"][...] == wanted[f"share@{n}"]).all()
            assert step.attrs["count"] == wanted[f"count@{n}"]


OF_OPENPMD = BUILD / "tests/bridges/openpmd_program"
CONFIG_OF_OPENPMD = """
[adios2.engine]
type = "plugin"
pretend_engine = "bp4"
[adios2.engine.parameters]
PluginName = "caesura"
PluginLibrary = "caesura_adios2"
FileName = "run.h5"
Ranks = "all"
"""
# What HDF5's backend says otherwise: a constant mesh is a dataset here, with these left out.
OF_CONSTANTS = {"data/0/meshes/E/z", "data/10/meshes/E/z", "data/20/meshes/E/z"}


def objects(file: h5py.File) -> dict:
    found = {}
    file.visititems(lambda name, one: found.__setitem__(name, one))
    return found


def assert_attributes_are_there(wanted, there, name: str) -> None:
    for key, value in wanted.attrs.items():
        if name in OF_CONSTANTS and key in ("value", "shape"):
            continue
        if key != "date":
            assert np.array_equal(np.atleast_1d(value), np.atleast_1d(there.attrs[key])), name


@pytest.mark.skipif(not OF_OPENPMD.exists(), reason="this build found no openPMD-api of its ADIOS2")
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_openpmd_api_writes_what_it_writes_by_hdf5(tmp_path, ranks):
    (tmp_path / "caesura.toml").write_text(CONFIG_OF_OPENPMD)
    env = {**os.environ, "ADIOS2_PLUGIN_PATH": str(PLUGINS)}
    for name, config in (("plain.h5", "{}"), ("run.bp", "@caesura.toml")):
        command = ["mpirun", "-np", str(ranks), OF_OPENPMD, name, config]
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
    with h5py.File(tmp_path / "plain.h5") as plain, caesura.open(tmp_path / "run.h5") as ours:
        assert_attributes_are_there(plain, ours, "/")
        wanted, there = objects(plain), objects(ours)
        assert len(wanted) == 58
        for name, one in wanted.items():
            assert_attributes_are_there(one, there[name], name)
            if isinstance(one, h5py.Dataset):
                assert one.dtype == there[name].dtype
                assert np.array_equal(one[...], there[name][...]), name


@pytest.mark.skipif(not PARALLEL, reason="this ADIOS2 has no MPI")
def test_several_ranks_have_to_say_who_opens(tmp_path):
    done = run_program(tmp_path, engine(tmp_path / "run.h5"), "ignored", 2)
    assert done.returncode != 0
    assert "'Ranks' is missing: 'all' where every rank" in done.stderr


@of_the_wheel
def test_an_operation_on_a_variable_of_the_engine_is_refused(tmp_path):
    io = engine(tmp_path / "run.h5") + operator("U", "1e-3")
    done = write(tmp_path, io, "ignored")
    assert done.returncode != 0
    assert "'Bound.U' of the engine" in done.stderr


@of_the_wheel
def test_the_operator_brings_blocks_back_within_the_bound(tmp_path):
    io = '<engine type="BP5"/>'
    plain = write(tmp_path, io, "plain.bp")
    assert plain.returncode == 0, plain.stderr
    io += operator("U", "1e-3") + operator("fields/deep/V", "relative 1e-4")
    io += operator("mark", "0.5")  # integers are lossless
    done = write(tmp_path, io, "small.bp")
    assert done.returncode == 0, done.stderr
    read = run(tmp_path, READ, tmp_path / "small.bp")
    assert read.returncode == 0, read.stderr
    steps, worst = json.loads(read.stdout)
    assert steps == 3
    v = [space["v"](n) for n in range(3)]
    assert 0 < worst["U"] <= 1e-3
    assert 0 < worst["V"] <= max(1e-4 * float(one.max() - one.min()) for one in v) * (1 + 1e-6)

    def size(name: str) -> int:
        return sum(file.stat().st_size for file in (tmp_path / name).iterdir())

    assert size("small.bp") < size("plain.bp") / 4
