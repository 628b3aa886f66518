"""The lines that `caesura tune` prints for C, C++ and Fortran compile as they are, and a program
with them defines the fields that one with the lines for Python defines."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import caesura
import numpy as np
import pytest
from caesura.tuning import configuration
from user_program import compiled

EXTENTS = {"nt": 3, "nz": 4, "ny": 5, "nx": 64}
C_EXTENTS = "const uint64_t " + ", ".join(f"{n} = {v}" for n, v in EXTENTS.items()) + ";"


@dataclass(frozen=True)
class Case:
    """A field, and what its variable is called in the lines."""

    name: str
    variable: str
    dtype: str
    axes: int
    bound: caesura.Bound
    codec: str
    missing: tuple[float, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(EXTENTS.values())[-self.axes :]

    def lines(self, language: str) -> str:
        dtype = np.dtype(self.dtype)
        missing = tuple(dtype.type(one) for one in self.missing)
        field = configuration.Recommended(
            self.name, "", dtype, self.axes, self.bound, self.codec, missing
        )
        return configuration.lines(field)[language]


CASES = [
    Case("rho", "rho", "f4", 3, caesura.relative(2.56e-4), "caesura"),
    Case("v/x", "v_x", "f8", 1, caesura.pointwise_relative(1e-5), "caesura:strong"),
    Case("T-T.0", "T_T_0", "f8", 4, caesura.absolute(2.0), "caesura"),
    Case("1." + 60 * "n", "field_1_" + 38 * "n", "f4", 2, caesura.lossless(), "caesura:fast"),
    Case("sst", "sst", "f4", 2, caesura.relative(1e-3), "caesura", (-9999, 9.969209968386869e36)),
    Case("ice", "ice", "f8", 2, caesura.absolute(1e-3), "caesura:fast", (2.5,)),
    Case("w" * 40, "w" * 40, "f4", 4, caesura.pointwise_relative(1.25e-5), "caesura:strong"),
]


def c(cases: list[Case]) -> str:
    begin = """#include <caesura/caesura.h>
int main(void) {
    static double wide[100000];
    static float narrow[100000];
    const uint64_t begin[4] = {0, 0, 0, 0};
    caesura_writer* writer = NULL;
    int i;
    for (i = 0; i < 100000; ++i) narrow[i] = (float)(wide[i] = i + 1);
    if (caesura_writer_create("run.h5", NULL, NULL, &writer) != CAESURA_OK) return 1;
"""
    puts = "".join(
        f"caesura_put(writer, {one.variable}, begin, {one.variable}_shape, "
        + (
            "narrow, CAESURA_FLOAT32, 0);\n"
            if one.dtype == "f4"
            else "wide, CAESURA_FLOAT64, 0);\n"
        )
        for one in cases
    )
    return (
        begin + C_EXTENTS + "\n".join(["", *(one.lines("c") for one in cases), ""])
        + "caesura_begin_iteration(writer, 0);\ncaesura_begin_dump(writer, 0.0, 1.0);\n" + puts
        + "caesura_end_iteration(writer);\nreturn caesura_writer_close(writer);\n}\n"
    )  # fmt: skip


def cpp(cases: list[Case]) -> str:
    begin = """#include <caesura/writer.hpp>
#include <numeric>
int main() {
    std::vector<float> narrow(100000);
    std::vector<double> wide(narrow.size());
    std::iota(narrow.begin(), narrow.end(), 1.0f);
    std::iota(wide.begin(), wide.end(), 1.0);
    auto writer = caesura::Writer::create("run.h5", nullptr, {});
    if (!writer.ok()) return 1;
"""
    puts = "".join(
        f"if (!dump.put(*{one.variable}, {{{{{', '.join(['0'] * one.axes)}}}, "
        f"{{{', '.join(list(EXTENTS)[-one.axes :])}}}}}, "
        f"{'narrow' if one.dtype == 'f4' else 'wide'}.data()).ok()) return 2;\n"
        for one in cases
    )
    return (
        begin + C_EXTENTS.replace("uint64_t", "std::uint64_t")
        + "\n".join(["", *(one.lines("c++") for one in cases), ""])
        + "auto iteration = (*writer)->begin_iteration(0);\n"
        + "auto dump = iteration.begin_dump(0.0, 1.0);\n" + puts
        + "if (!iteration.end().ok()) return 3;\nreturn (*writer)->close().ok() ? 0 : 4;\n}\n"
    )  # fmt: skip


def fortran(cases: list[Case]) -> str:
    """The lines begin with declarations, as blocks do."""
    constants = ", ".join(f"{name} = {value}" for name, value in EXTENTS.items())
    declared, filled, puts = "", "", ""
    for number, one in enumerate(cases):
        kind = "real32" if one.dtype == "f4" else "real64"
        shape = f"[{', '.join(reversed(list(EXTENTS)[-one.axes :]))}]"
        declared += f"real({kind}) :: values{number}({shape[1:-1]})\n"
        filled += (f"values{number} = reshape([(real(i, {kind}), i = 1, size(values{number}))], "
                   f"{shape})\n")  # fmt: skip
        puts += f"call caesura_put(writer, {one.variable}, values{number})\n"
    blocks = "".join(f"block\n{one.lines('fortran')}\n" for one in cases)
    return f"""program run
use caesura
use, intrinsic :: iso_fortran_env, only: real32, real64
implicit none
integer, parameter :: {constants}
integer :: i
type(caesura_writer) :: writer
{declared}{filled}call caesura_create(writer, 'run.h5')
{blocks}call caesura_begin_iteration(writer, 0)
call caesura_begin_dump(writer, time=0.0_real64, dt=1.0_real64)
{puts}call caesura_end_iteration(writer)
{("end block" + chr(10)) * len(cases)}call caesura_close(writer)
if (writer%code /= caesura_ok) print *, writer%message
if (writer%code /= caesura_ok) error stop 1
end program
"""


def described(path: Path) -> dict[str, tuple]:
    """Each field's values, shape, attributes, and filter with its parameters."""
    found = {}
    with caesura.open(path) as file:
        for one in CASES:
            dataset = file[f"data/0/meshes/{one.name}"]
            pipeline = dataset.id.get_create_plist().get_filter(0)
            attributes = {name: np.asarray(value).tolist() for name, value in dataset.attrs.items()}
            found[one.name] = (dataset.dtype, dataset.shape, pipeline, attributes,
                               dataset[...].tobytes())  # fmt: skip
    return found


@pytest.fixture(scope="module")
def by_python(tmp_path_factory) -> dict[str, tuple]:
    path = tmp_path_factory.mktemp("python") / "run.h5"
    with caesura.Writer(path) as writer:
        names = {"writer": writer, "numpy": np, "caesura": caesura, **EXTENTS}
        for one in CASES:
            exec(one.lines("python"), names)
        with writer.iteration(0) as iteration:
            dump = iteration.begin_dump(time=0.0, dt=1.0)
            for one in CASES:
                values = np.arange(1, np.prod(one.shape) + 1).astype(one.dtype)
                dump.put(names[one.variable], values.reshape(one.shape))
    return described(path)


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("language", "suffix", "whole"),
    [("c", ".c", c), ("c++", ".cpp", cpp), ("fortran", ".f90", fortran)],
    ids=["c", "c++", "fortran"],
)
def test_a_program_with_the_lines_writes_what_python_writes(
    language, suffix, whole, tmp_path, by_python
):
    source = tmp_path / f"run{suffix}"
    source.write_text(whole(CASES), encoding="utf-8")
    assert all(one.lines(language) in source.read_text(encoding="utf-8") for one in CASES)
    run([str(compiled(source, run))], tmp_path)
    assert described(tmp_path / "run.h5") == by_python


def test_fortran_says_which_numbers_it_lacks():
    half = configuration.lines(
        configuration.Recommended("h", "/h", np.dtype("f2"), 1, caesura.absolute(1.0), "caesura")
    )
    assert half["fortran"] == "! Fortran has no float16"
    assert "CAESURA_FLOAT16" in half["c"]
