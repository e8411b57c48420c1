"""Files entered and climbs on the way of a value, from a command to its first result of a kind.

  python benchmarks/ways.py [-v]     the ways below; with -v every file in order

The command runs for real.  Of all calls within the package those count that the result came
through: the call that returned it, the calls that returned what that one was given, and so on back
to the command line.  They are walked in the order in which they began, each from where the one
before it was.  Where control first has to come back to a file of a higher layer than the one it
leaves, that is a climb.
"""

from __future__ import annotations

import dataclasses
import io
import os
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

import timesink
from timesink.cli import main

PACKAGE = f"{Path(timesink.__file__).parent}/"
LAYERS = (
    {"errors.py", "version.py"},
    {"model", "recorder"},
    {"output", "runtime"},
    {"formats"},
    {"sources"},
    {"analyses"},
    {"rules"},
    {"comparison"},
    {"answers"},
    {"watcher", "lab"},
    {"server"},
    {"cli"},
)
PLAIN = (str, bytes, int, float, bool, type(None), type)
"""Values that many calls share: nothing can be followed by them."""
NOTHING = ()
"""One value too, whoever makes it."""
MAX_ELEMENTS = 200
"""Of a collection; more are alike."""


@dataclasses.dataclass(eq=False)
class Call:
    """One call of a function of the package."""

    number: int
    file: str
    name: str
    arguments: list[Any]
    caller: Call | None

    def chain(self) -> list[Call]:
        """The calls that lead here, from the command line down."""
        return [*(self.caller.chain() if self.caller else []), self]


class Recorder:
    """Every call until the result is there, and which call made each value first."""

    def __init__(self, is_result: Callable[[str, Any], bool]) -> None:
        self.is_result = is_result
        self.result: Call | None = None
        self.makers: dict[int, Call] = {}
        self._count = 0
        self._stacks = defaultdict[int, list[Call]](list)
        """Of each thread: a recording may be read in one of its own."""
        self._alive: list[Any] = []  # no number of a value may come again

    def __call__(self, frame: Any, event: str, value: Any) -> None:
        code = frame.f_code
        if (
            self.result
            or event not in {"call", "return"}
            or not code.co_filename.startswith(PACKAGE)
        ):
            return
        stack = self._stacks[threading.get_ident()]
        if event == "call":
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            arguments = [frame.f_locals.get(name) for name in names]
            caller = stack[-1] if stack else None
            file = code.co_filename.removeprefix(PACKAGE)
            stack.append(Call(self._count, file, code.co_name, arguments, caller))
            self._count += 1
        elif stack:
            call = stack.pop()
            for part in parts(value):
                self._alive.append(part)
                self.makers.setdefault(id(part), call)
            if self.is_result(call.name, value):
                self.result = call


def parts(value: Any, depth: int = 1) -> Iterator[Any]:
    """A value, and what a collection holds."""
    if isinstance(value, PLAIN) or value is NOTHING:
        return
    yield value
    elements = value.values() if isinstance(value, dict) else value
    if depth and isinstance(value, list | tuple | set | frozenset | dict):
        for element in list(elements)[:MAX_ELEMENTS]:
            yield from parts(element, depth - 1)


def fields(value: Any) -> Iterator[Any]:
    """A value, what it holds, and what its fields hold."""
    if isinstance(value, PLAIN):
        return
    yield from parts(value)
    names = getattr(type(value), "__struct_fields__", ())
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    for name in names:
        with suppress(AttributeError):
            yield from parts(getattr(value, name))


def way_of(arguments: list[str], is_result: Callable[[str, Any], bool]) -> tuple[list[str], int]:
    """Files in the order in which they are entered, and how often control climbs."""
    recorder = Recorder(is_result)
    # What loading a module computes is on nobody's way.
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(SystemExit):
        main([*arguments, "--no-cache"] if arguments[0] == "analyze" else arguments)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()), suppress(SystemExit):
        threading.setprofile(recorder)
        sys.setprofile(recorder)
        try:
            main(arguments)
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    if recorder.result is None:
        raise LookupError(" ".join(arguments))
    on_way: dict[int, Call] = {}
    open_calls = [recorder.result]
    while open_calls:
        call = open_calls.pop()
        if call.number in on_way:
            continue
        on_way[call.number] = call
        given = (part for argument in call.arguments for part in fields(argument))
        open_calls += [maker for part in given if (maker := recorder.makers.get(id(part)))]
    return walk([on_way[number] for number in sorted(on_way)])


def walk(calls: list[Call]) -> tuple[list[str], int]:
    """From call to call, each time back to where both come from and down again."""
    files: list[str] = []
    climbs, before = 0, list[Call]()
    for call in calls:
        chain = call.chain()
        shared = sum(1 for a, b in zip(before, chain, strict=False) if a is b)
        if before and shared:
            turn = chain[shared - 1].file
            climbs += layer_of(turn) > layer_of(before[-1].file)
            files.append(turn)
        files += [below.file for below in chain[shared:]]
        before = chain
    return [
        file for place, file in enumerate(files) if not place or files[place - 1] != file
    ], climbs


def layer_of(file: str) -> int:
    top = file.split("/", maxsplit=1)[0]
    return next((number for number, names in enumerate(LAYERS) if top in names), len(LAYERS))


def holds(kind: str) -> Callable[[str, Any], bool]:
    """Whether a value is of a type, or holds one that is."""
    return lambda _name, value: any(type(part).__name__ == kind for part in parts(value))


def ways() -> dict[str, tuple[list[str], Callable[[str, Any], bool]]]:
    """What is asked, and by what the result is told."""
    recording = str(timesink.sample())
    base, new = map(str, timesink.sample_runs())
    return {
        "analyze to operators": (
            ["analyze", recording, "--view", "operators", "--format", "csv"],
            lambda name, _value: name in {"frame_csv", "give_frame"},
        ),
        "compare to the first cause": (["compare", base, new], holds("Claim")),
        "gate to its verdict": (["gate", base, new, "--fail-on", "5%"], holds("Gate")),
    }


def print_ways(*, is_verbose: bool) -> None:
    for name, (arguments, is_result) in ways().items():
        with tempfile.TemporaryDirectory() as folder:
            os.environ["TIMESINK_CACHE_DIR"] = folder
            files, climbs = way_of(arguments, is_result)
        print(f"{name}: {len(set(files))} files, {climbs} climbs")
        if is_verbose:
            print("  " + " > ".join(files))


if __name__ == "__main__":
    print_ways(is_verbose="-v" in sys.argv)
