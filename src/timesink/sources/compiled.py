"""Compiled code that lies beside a recording: which files say something of it, and reading them.

`<trace>.compiled.json` is what the recorder writes.  Without it files of the compiler count: those
beside the trace, and those in a folder that is called as the compiler calls it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from timesink.errors import TimesinkError
from timesink.formats.file_names import stem_of
from timesink.patterns import regex

if TYPE_CHECKING:
    from timesink.model.trace import Trace

ENDING = ".compiled.json"
_PACKINGS = ("", ".gz")
FOLDERS = ("torch_compile_debug", "compiled")
"""The compiler makes the first; whoever copies its files by hand may take the second."""
OUTPUTS = (
    "output_code.py",
    "inductor_generated_kernel_to_stack_traces.json",
    "inductor_provenance_tracking_kernel_stack_traces.json",
    "kernel_information.json",
)
_KERNEL_FILE = regex(r"c[a-z2-7]{51}\.py")
"""How the compiler calls files of kernels: by their content."""
_MAX_FILES = 2000
"""Files of the compiler that are read; a graph has some ten, and programs some hundred graphs."""


def compiled_beside(trace: Path) -> tuple[Path, ...]:
    """What lies beside a trace: the file of the recorder, else files of the compiler."""
    stem = stem_of(trace.name)
    for packing in _PACKINGS:
        file = trace.with_name(f"{stem}{ENDING}{packing}")
        if file != trace and file.is_file():
            return (file,)
    beside = [file for name in OUTPUTS if (file := trace.with_name(name)).is_file()]
    for name in FOLDERS:
        folder = trace.parent / name
        if folder.is_dir() and not folder.is_symlink():
            beside += _outputs_in(folder)
    return tuple(beside)


def _outputs_in(folder: Path) -> list[Path]:
    return sorted(
        Path(place) / name
        for place, _, names in os.walk(folder)
        for name in names
        if name in OUTPUTS or _KERNEL_FILE.fullmatch(name)
    )


def with_compiled(trace: Trace, files: Sequence[Path]) -> Trace:
    """The trace with what is known of its compiled code.

    A file that cannot be read does not make the trace unreadable.
    """
    from timesink.formats.compiled_code import read_compiled, read_output  # noqa: PLC0415 - few
    from timesink.model.health import HealthEntry, merge_entries  # noqa: PLC0415 - as above

    try:
        if len(files) == 1 and files[0].name.endswith(tuple(ENDING + end for end in _PACKINGS)):
            code = read_compiled(files[0])
        else:
            outputs = [file for file in files if file.name in OUTPUTS]
            launched = _kernel_files(trace) if len(outputs) < len(files) else frozenset()
            kernels = [file for file in files if file.name in launched]
            room = max(0, _MAX_FILES - len(outputs))
            code = read_output(outputs[:_MAX_FILES], kernels[:room])
            beyond = len(outputs[_MAX_FILES:]) + len(kernels[room:])
            code = structs.replace(code, left_out=code.left_out + beyond)
    except (TimesinkError, OSError) as error:
        entry = HealthEntry("unreadable_compiled", 1, getattr(error, "message", str(error)))
        return replace(trace, health=merge_entries([*trace.health, entry]))
    counts = {
        "compiled_left_out": code.left_out,
        "compiled_cut": sum(use.is_cut for kernel in code.kernels for use in kernel.uses),
    }
    lost = [HealthEntry(what, many, code.source) for what, many in counts.items() if many]
    return replace(
        trace,
        metadata=replace(trace.metadata, compiled=code),
        health=merge_entries([*trace.health, *lost]),
    )


def _kernel_files(trace: Trace) -> frozenset[str]:
    """Names of the files of kernels that launches state."""
    import polars as pl  # noqa: PLC0415 - start-up time

    arguments = trace.lazy("event_args").filter(pl.col("key").cast(pl.String) == "kernel_file")
    # As JSON has them; what it writes in other letters is no name of such a file.
    values = arguments.select(pl.col("value").unique()).collect()["value"]
    return frozenset(value.strip('"').rpartition("/")[2] for value in values)
