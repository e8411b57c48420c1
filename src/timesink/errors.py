"""What can go wrong, said so that a user can act on it.

Every error a user may see derives from :class:`TimesinkError` and carries one line that says what
failed and on which file, and one hint that names what to try.  It reaches the user in one
place of the command line, ``timesink.cli.main``, and one of the server, ``timesink.server.app``.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


class TimesinkError(Exception):
    """Base of every error timesink raises on purpose."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def reason_of(why: OSError | str) -> str:
    """What the system says of an error, without its number and its path."""
    return why if isinstance(why, str) else why.strerror or str(why)


class UsageError(TimesinkError):
    """The command was called in a way that cannot work."""

    exit_code = 2


class UnreadableError(TimesinkError):
    """The input exists but no trace can be made of it."""

    @classmethod
    def missing(cls, path: Path | str) -> UnreadableError:
        return MissingPathError(
            f"{path}: no such file or directory", "check the path; quote names with spaces"
        )

    @classmethod
    def no_match(cls, pattern: str) -> UnreadableError:
        return MissingPathError(
            f"{pattern}: no file fits this pattern",
            "check the folder; * stands for a part of a name, ** for any folders",
        )

    @classmethod
    def no_trace(cls, folder: Path | str) -> UnreadableError:
        return cls(
            f"{folder}: no trace in this folder",
            "traces end in .json, .json.gz, .zip, .sqlite, .pftrace, .xplane.pb or results.db, "
            "memory snapshots in .pickle, behaviour tables in _perf_data.csv; "
            "name the file itself otherwise",
        )

    @classmethod
    def denied(cls, path: Path | str, why: OSError | str) -> UnreadableError:
        return cls(
            f"{path}: cannot be opened ({reason_of(why)})", "check the permissions of the file"
        )

    @classmethod
    def empty(cls, path: Path | str) -> UnreadableError:
        return cls(
            f"{path}: the file is empty",
            "the profiler was probably stopped before it wrote; record again",
        )

    @classmethod
    def unrecognised(cls, path: Path | str, looks_like: str) -> UnreadableError:
        return cls(
            f"{path}: not a trace timesink can read ({looks_like})",
            "give a profiler trace: Kineto/Chrome JSON (.json, .json.gz, .zip), .pftrace, "
            ".xplane.pb, "
            "Nsight Systems .sqlite, rocprofv3 .db or JSON, output of Nsight Compute "
            "or a behaviour table",
        )

    @classmethod
    def damaged(cls, path: Path | str, reason: str, hint: str) -> UnreadableError:
        return cls(f"{path}: damaged beyond repair ({reason})", hint)

    @classmethod
    def no_timeline(cls, path: Path | str) -> UnreadableError:
        return cls(
            f"{path}: kernel counters without a timeline",
            f"try  timesink kernels {shlex.quote(str(path))}; "
            "for a timeline, record the program with torch.profiler or nsys",
        )

    @classmethod
    def only_behaviour(cls, path: Path | str) -> UnreadableError:
        return cls(
            f"{path}: a behaviour table, which has no timeline",
            f"try  timesink compare {shlex.quote(str(path))} OTHER; "
            "for a timeline, give the trace it was made from",
        )

    @classmethod
    def only_counters(cls, path: Path | str, recorded: str = "") -> UnreadableError:
        """`recorded` says why, where a recorder made them; else they belong to some trace."""
        problem = f"{path}: only counters; no calls, kernels or steps"
        if recorded:
            seen = f"timesink info {shlex.quote(str(path))}"
            return cls(f"{problem} ({recorded})", f"{seen}  shows the counters")
        return cls(
            problem,
            "give the trace of the same run; a counter CSV beside it is read with it",
        )

    @classmethod
    def none_fits(cls, path: Path | str, names: list[str]) -> UnreadableError:
        first_names = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        return cls(f"{path}: no trace fits --worker, --span or --rank", f"it has {first_names}")


class MissingPathError(UnreadableError):
    """Nothing is where the input was said to be: the call is wrong, whatever was to be decided."""


class AmbiguousError(TimesinkError):
    """One trace was asked for and the path holds several."""


class SeveralRunsError(AmbiguousError):
    """One run was asked for and the folders at the path hold several."""


class QueryError(TimesinkError):
    """A SQL query that cannot be answered."""

    @classmethod
    def not_for_csv(cls, column: str) -> QueryError:
        return cls(f"column {column!r} holds lists, which CSV cannot", "try --format json")


class QueryLimitError(QueryError):
    """A SQL query that takes more rows, time or memory than it may."""

    exit_code = 3


class OutputError(TimesinkError):
    """The result cannot be written where it was asked for."""

    @classmethod
    def exists(cls, path: Path | str) -> OutputError:
        return cls(f"{path}: already exists", "add --force to overwrite it, or choose another -o")

    @classmethod
    def not_ours(cls, path: Path | str) -> OutputError:
        """Only what timesink wrote, as its content says, is replaced unasked."""
        why = "already exists, and timesink did not write it"
        return cls(f"{path}: {why}", "add --force to overwrite it, or choose another -o")

    @classmethod
    def overwrites(cls, path: Path | str) -> OutputError:
        """Writing would destroy what is read."""
        return cls(f"{path}: this is the input and is not overwritten", "choose another -o")

    @classmethod
    def unwritable(cls, path: Path | str, why: OSError | str) -> OutputError:
        return cls(f"{path}: cannot be written ({reason_of(why)})", "choose another place with -o")


class NotFoundError(TimesinkError):
    """What was asked for by name is not in the data: a run, an operator, a view without data."""


class NoCyclesError(NotFoundError):
    """Nothing was seen to repeat, or not what was asked for; it knows what could mark a cycle."""

    def __init__(self, message: str, marks: Sequence[str] = (), otherwise: str = "") -> None:
        options = ", ".join(f"--marker {shlex.quote(name)}" for name in marks)
        super().__init__(message, f"name what marks a step: {options}" if marks else otherwise)
        self.marks = tuple(marks)

    @classmethod
    def nothing_repeats(cls, message: str, marks: Sequence[str]) -> NoCyclesError:
        hint = "name what marks a step with --marker NAME, or record with profiler.step()"
        return cls(message, marks, hint)

    @classmethod
    def no_such_mark(cls, message: str, marks: Sequence[str]) -> NoCyclesError:
        hint = "see the names with  timesink query PATH 'SELECT DISTINCT name FROM host'"
        return cls(message, marks, hint)


class CollectError(TimesinkError):
    """A program cannot be profiled, or its profile cannot be had."""

    @classmethod
    def cannot_start(cls, program: Path | str, why: OSError | str) -> CollectError:
        return cls(
            f"{program}: cannot be started ({reason_of(why)})", "name another with --ncu PATH"
        )
