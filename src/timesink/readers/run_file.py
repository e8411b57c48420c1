"""`run.json` beside a trace: found and read without anything heavy, as it is asked for early."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import msgspec

from timesink.model.recorded_run import SCHEMA, RecordedRun
from timesink.model.run_fields import recorded_run

RUN_FILE = "run.json"
_FAMILY = SCHEMA.rpartition("/")[0]
_MARK = f'"{_FAMILY}/'.encode()
_LARGEST_BYTES = 16 * 1024 * 1024
"""What a recorder writes takes some kilobytes; nothing so long is read as that."""
_OWN_TRACE = re.compile(r"^trace(?:\.(?:rank|pid)\d+)?\.json(?:\.gz)?$")
"""How a recorder names the traces it writes."""


@dataclass(frozen=True, slots=True)
class RunFile:
    """A description of a run: what it says, and what of it could not be used."""

    path: Path
    run: RecordedRun | None
    """None where the file as a whole cannot be read."""
    unused: tuple[str, ...] = ()

    def names(self, file: str) -> bool:
        """Whether it says that a file beside it is part of the run.

        What a broken one would say is clear from how recorders name their files.
        """
        if self.run is None:
            return file == "counters.csv" or _OWN_TRACE.match(file) is not None
        return self.run.process_of(file) is not None or file == counters_name(self.run)


def counters_name(run: RecordedRun | None) -> str:
    """The name of the counters of a run; only a plain name can lie beside it."""
    name = None if run is None else run.counters.file
    return name if name and Path(name).name == name else "counters.csv"


def describes_run(content: bytes) -> bool:
    """Whether the content of a file says that it describes a recorded run."""
    return _MARK in content


def run_file_in(folder: Path) -> RunFile | None:
    """The description of the run recorded into a folder; None where there is none.

    A broken one counts where the folder looks like a recording; other programs have such names too.
    """
    path = folder / RUN_FILE
    if not path.is_file():
        return None
    content = _content(path)
    try:
        values = msgspec.json.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        is_own = _MARK in content or any(_OWN_TRACE.match(one.name) for one in folder.iterdir())
        return RunFile(path, None, (f"{RUN_FILE}: {error}",)) if is_own else None
    if not isinstance(values, dict) or not str(values.get("schema")).startswith(f"{_FAMILY}/"):
        return None
    run, unused = recorded_run(values)
    if run.schema != SCHEMA:
        unused.append(f"schema: {run.schema!r}, and {SCHEMA} is known here")
    return RunFile(path, run, tuple(f"{RUN_FILE}: {one}" for one in unused))


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST_BYTES)
    except OSError:
        return b""
