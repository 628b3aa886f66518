"""The table of what each language has is true: what it says is there is, what it denies is not.

Each row names words of the language's public sources that the capability needs. A row that is not
listed here fails, so that a new one comes with its words.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "docs" / "reference" / "faces.md"
LANGUAGES = ("C++", "Python", "C", "Fortran")
SOURCES = {
    "C++": (
        "include/caesura/*.hpp",
        "src/transit/client/objects.hpp",
        "src/hdf5/filter/filter.hpp",
        "src/lambda/file_codec.hpp",
    ),
    "Python": ("python/caesura/*.py",),
    "C": ("include/caesura/*.h",),
    "Fortran": ("fortran/*.f90", "fortran/*.inc"),
}
# Row: words of C++, Python, C, Fortran. Where the table says "no" none of them may be there; "-":
# there is no word to look for.
WORDS = {
    "create, define, iterate, dump, put, close": (
        ("create(", "define_field(", "begin_dump(", "put(", "close()"),
        ("def define_field", "def iteration", "def begin_dump", "def put", "def close"),
        (
            "caesura_writer_create",
            "caesura_define_field",
            "caesura_begin_dump",
            "caesura_put(",
            "caesura_writer_close",
        ),
        ("caesura_create", "caesura_define_field", "caesura_begin_dump", "caesura_close"),
    ),
    "going on with a file (open, after)": (
        ("struct OpenOptions", "open("),
        ("def open", "after"),
        ("caesura_writer_open", "has_after"),
        ("caesura_append",),
    ),
    "busy marks, labels, cooperative mode": (
        ("Busy busy(", "label", "cooperative"),
        ("def busy", "label", "cooperative"),
        ("caesura_busy_begin", "caesura_begin_iteration_of", "cooperative"),
        ("caesura_busy_begin", "label", "cooperative"),
    ),
    "borrowed data, released, committed": (
        ("enum class Ownership", "released(", "committed()"),
        ("borrow", "def released", "def committed"),
        ("borrow", "caesura_released", "caesura_committed"),
        ("caesura_committed",),
    ),
    "max_delay, finish_by": (
        ("max_delay_s", "finish_by"),
        ("max_delay", "def finish_by"),
        ("max_delay_s", "caesura_finish_by"),
        ("max_delay_s", "caesura_finish_by"),
    ),
    "types: float32, float64, integers of 8 to 64 bits": (
        ("uint64", "int8"),
        ("uint64", "int8"),
        ("CAESURA_UINT64", "CAESURA_INT8"),
        ("caesura_int64", "caesura_int8"),
    ),
    "types: bool, float16, bfloat16, complex": (
        ("boolean", "bfloat16", "complex128"),
        ("bool", "bfloat16", "complex"),
        ("CAESURA_BOOL", "CAESURA_BFLOAT16", "CAESURA_COMPLEX128"),
        ("caesura_bool", "caesura_complex128"),
    ),
    "missing values of a field": (
        ("std::vector<FillValue> missing",),
        ("missing",),
        ("missing_count",),
        ("missing(:)",),
    ),
    "missing values declared with a put": (
        ("declare_missing(",),
        ("declare_missing", "MaskedArray"),
        ("declare_missing",),
        ("declare_missing",),
    ),
    "put of values that lie in a device": (
        ("memory of a device", "device"),
        ("__cuda_array_interface__", "__dlpack__"),
        ("device",),
        ("cuda",),
    ),
    "put_within: values between ghost cells, copied once": (
        ("put_within(",),
        ("put_within",),
        ("caesura_put_within",),
        ("caesura_put_within",),
    ),
    "bounds: lossless, absolute, relative": (
        ("lossless()", "absolute(", "relative("),
        ("lossless", "absolute", "relative"),
        ("CAESURA_LOSSLESS", "CAESURA_ABSOLUTE", "CAESURA_RELATIVE"),
        ("absolute", "relative"),
    ),
    "bounds: point-wise relative, PSNR": (
        ("pointwise_relative(", "psnr("),
        ("pointwise_relative", "psnr"),
        ("CAESURA_POINTWISE_RELATIVE", "CAESURA_PSNR"),
        ("pointwise_relative", "psnr"),
    ),
    "bounds by place": (("BoundMap",), ("BoundMap",), ("caesura_bound_rule",), ("bound_rule",)),
    "a default bound for all fields": (
        ("ErrorBound bound = lossless()",),
        ("self._bound",),
        ("default_bound",),
        ("default_bound",),
    ),
    "codec of all fields, with its parameters and verify": (
        ("CodecSpec codec", "cd_values", "verify"),
        ("codec", "cd_values", "verify"),
        ("codec", "cd_value_count", "int verify"),
        ("codec",),
    ),
    "codec of one field, with its parameters": (
        ("std::optional<CodecSpec> codec",),
        ("cd_values",),
        ("cd_value_count",),
        ("codec",),
    ),
    "codec of a field as a chain": (("file_codec(",), ("chain",), ("chain",), ("chain",)),
    "fields covered in parts, shapes that change": (
        ("Coverage", "reshape("),
        ("partial", "def reshape"),
        ("partial", "caesura_reshape"),
        ("partial", "caesura_reshape"),
    ),
    "particles, also in any order": (
        ("define_species",),
        ("def define_species",),
        ("caesura_define_species",),
        ("caesura_define_species",),
    ),
    "a file for each dump, or each few": (
        ("dumps_per_file",),
        ("dumps_per_file",),
        ("dumps_per_file",),
        ("dumps_per_file",),
    ),
    "units, axes, grid of a field": (
        ("unit_si", "axis_labels", "grid_spacing"),
        ("unit_si", "axis_labels", "grid_spacing"),
        ("unit_si", "axis_labels", "grid_spacing"),
        ("unit_si", "axis_labels", "grid_spacing"),
    ),
    "time unit of a dump": (
        ("time_unit_si",),
        ("time_unit_si",),
        ("caesura_set_attribute",),
        ("caesura_set_attribute",),
    ),
    "own attributes of file, iteration, meshes, record, field, species; in one dump": (
        ("set_attribute(", "AttributeOwner"),
        ("def set_attribute",),
        ("caesura_set_attribute", "CAESURA_THIS_DUMP"),
        ("caesura_set_attribute",),
    ),
    "geometry, data order, position, time offset of a field": (
        ("geometry", "data_order", "position", "time_offset"),
        ("geometry", "data_order"),
        ("geometry", "data_order", "position", "time_offset"),
        ("data_order",),
    ),
    "paths of one's own (layout)": (
        ("std::string layout",),
        ('"layout"',),
        ("const char* layout",),
        ("layout",),
    ),
    "author, software": (
        ("author", "software"),
        ("author", "software"),
        ("caesura_set_attribute",),
        ("caesura_set_attribute",),
    ),
    "messages (on_message)": (("on_message",), ("on_message",), ("on_message",), ("on_message",)),
    "report": (
        ("WriterReport",),
        ("WriterReport",),
        ("caesura_writer_get_report",),
        ("caesura_report",),
    ),
    "a service that compresses and writes (transport)": (
        ("transport",),
        ("transport",),
        ("transport",),
        ("transport",),
    ),
    "analyses of dumps in transit (analyses)": (
        ("analyses",),
        ('"analyses"',),
        ("analysis_count",),
        ("analysis_count",),
    ),
    "objects of a service, also into files": (
        ("class Objects",),
        ("class Region",),
        ("caesura_objects_connect",),
        ("caesura_objects_connect",),
    ),
    "their codec in a file": (("codec",), ("codec",), ("codec",), ("persist",)),
    "trace": (("trace_path",), ("trace",), ("trace_path",), ("trace_path",)),
    "planner, balancing, reserve, stripes, buffer": (
        ("plan::Algorithm", "balance_writes", "reserve_sigmas", "stripe_bytes"),
        ("algorithm", "balance_writes", "reserve_sigmas", "stripe_bytes"),
        ("algorithm", "balance_writes", "reserve_sigmas", "stripe_bytes"),
        ("planning", "stripe_bytes", "write_buffer_bytes"),
    ),
    "observation calls for other tools": ("-", ("caesura_observe",), ("caesura_observe",), "-"),
    "reading: list, boxes into any strides, all cores": (
        ("class Reader",),
        ("class Reader", "def read"),
        ("caesura_reader_read",),
        ("caesura_open", "read_values"),
    ),
    "reading a series of files as one": (("%T",), ("%T",), ("%T",), ("caesura_open",)),
    "reading on all ranks together": (
        ("read_all(",),
        ("def read_all",),
        ("caesura_reader_read_all",),
        ("read_all",),
    ),
    "attributes of a field, when reading": (
        ("find_attribute(",),
        ("attributes",),
        ("caesura_reader_numbers", "caesura_reader_text"),
        ("reader_numbers",),
    ),
    "attributes of file and dump, when reading": (
        ("attributes() const",),
        ("attributes",),
        ("caesura_reader_dump(",),
        ("caesura_list_dumps",),
    ),
    "lazy arrays for xarray and dask": ("-", ("BackendEntrypoint",), "-", "-"),
    "codec by itself": (("compress(",), ("_core",), ("caesura_compress(",), ("caesura_compress(",)),
    "HDF5 filter parameters": (("cd_values",), ("filter_options",), "-", ("filter_options",)),
    "planner by itself": (
        ("k_default_algorithm",),
        ("plan",),
        ("caesura_plan",),
        ("caesura_plan",),
    ),
    "checkpoints of a GPU": (
        ("class Checkpointer",),
        ("class Checkpointer",),
        ("caesura_checkpointer",),
        ("caesura_checkpointer",),
    ),
}


@cache
def source_of(language: str) -> str:
    files = [path for pattern in SOURCES[language] for path in sorted(ROOT.glob(pattern))]
    assert files, f"no sources of {language}"
    return "\n".join(path.read_text() for path in files)


def plain(cell: str) -> str:
    cell = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", cell)
    return cell.replace("`", "").strip()


def rows() -> list[tuple[str, list[str]]]:
    found = []
    for line in TABLE.read_text().splitlines():
        if line.startswith("|") and not line.startswith(("|---", "| |")):
            first, *cells = (plain(cell) for cell in line.strip("|").split("|"))
            found.append((first, cells))
    return found


def test_every_row_has_its_words_and_every_word_its_row() -> None:
    named = [row for row, _ in rows()]
    assert len(named) > 30, "the table was not understood"
    assert sorted(named) == sorted(WORDS), set(named) ^ set(WORDS)


@pytest.mark.parametrize(("row", "cells"), rows(), ids=[row for row, _ in rows()])
def test_what_a_row_says_of_each_language_is_true(row: str, cells: list[str]) -> None:
    assert len(cells) == len(LANGUAGES)
    for language, cell, words in zip(LANGUAGES, cells, WORDS[row], strict=True):
        is_denied = re.match(r"no\b", cell) is not None
        assert words != "-" or is_denied or "through C" in cell or "H5P" in cell, (language, cell)
        for word in words if words != "-" else ():
            is_there = word in source_of(language)
            assert is_there != is_denied, f"{language}: the table says {cell!r} of {word!r}"
