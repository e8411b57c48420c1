"""Files of flame graphs for other tools: collapsed stacks, speedscope JSON and pprof.

Each has weights by stack, the outermost frame first.  What two runs differ by is written in the way
each tool knows: two columns, profiles for more and less, or weights below zero.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from timesink.errors import UsageError
from timesink.formats.written_files import written_aside
from timesink.patterns import regex
from timesink.version import __version__

COLLAPSED, SPEEDSCOPE, PPROF = "collapsed", "speedscope", "pprof"
FORMATS = (COLLAPSED, SPEEDSCOPE, PPROF)
ENDINGS = {COLLAPSED: ".txt", SPEEDSCOPE: ".speedscope.json", PPROF: ".pb.gz"}

Stack: TypeAlias = tuple[str, ...]
Weights: TypeAlias = Mapping[Stack, int]
_FRAME = regex(r"^(?P<file>.+)\((?P<line>\d+)\): (?P<name>.+)$", re.DOTALL)
_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


class FlameProfile(msgspec.Struct, frozen=True):
    """One graph: what it is of, its unit, and the weight of each stack by itself."""

    name: str
    unit: str
    weights: Weights
    base: Weights | None = None
    """The same of another run, where what they differ by is asked for."""


def write_flame(profiles: Sequence[FlameProfile], title: str, form: str, path: Path) -> int:
    r"""Write graphs in one of `FORMATS`; how many stacks there are.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "flame.txt"
    >>> profile = FlameProfile("device time", "nanoseconds", {("step", "mm"): 7})
    >>> write_flame([profile], "run", "collapsed", file), file.read_text()
    (1, 'step;mm 7\n')
    """
    if form == COLLAPSED:
        content = collapsed(profiles).encode()
    elif form == SPEEDSCOPE:
        content = msgspec.json.encode(speedscope(profiles, title))
    elif form == PPROF:
        content = gzip.compress(pprof(profiles, title), mtime=0)
    else:
        raise UsageError(f"there is no format {form!r}", f"choose one of {', '.join(FORMATS)}")
    with written_aside(path) as aside:
        aside.write_bytes(content)
    return len({stack for profile in profiles for stack in _stacks(profile)})


def _stacks(profile: FlameProfile) -> Iterable[Stack]:
    return dict.fromkeys([*(profile.base or {}), *profile.weights])


# -- collapsed stacks ------------------------------------------------------------------------------


def collapsed(profiles: Sequence[FlameProfile]) -> str:
    r"""A line per stack: frames with `;` between, and its weight; of two runs both, the base first.

    >>> profile = FlameProfile("host", "nanoseconds", {("a", "b"): 2}, base={("a",): 3})
    >>> collapsed([profile])
    'a 3 0\na;b 0 2\n'
    """
    if len(profiles) != 1:
        raise UsageError("collapsed stacks hold one graph", "choose it with --measure")
    (profile,) = profiles
    lines = []
    for stack in sorted(_stacks(profile)):
        weights = [profile.weights.get(stack, 0)]
        if profile.base is not None:
            weights.insert(0, profile.base.get(stack, 0))
        frames = ";".join(frame.replace(";", ",").replace("\n", " ") for frame in stack)
        lines.append(f"{frames} {' '.join(map(str, weights))}\n")
    return "".join(lines)


# -- speedscope ------------------------------------------------------------------------------------


def speedscope(profiles: Sequence[FlameProfile], title: str) -> dict[str, Any]:
    """A file of speedscope: shared frames, and a profile of weighted samples for each graph.

    >>> made = speedscope([FlameProfile("host", "nanoseconds", {("a",): 3})], "run")
    >>> made["profiles"][0]["samples"], made["profiles"][0]["weights"]
    ([[0]], [3])
    """
    frames: dict[str, int] = {}
    parts = [part for profile in profiles for part in _with_difference(profile)]
    return {
        "$schema": _SCHEMA,
        "name": title,
        "exporter": f"timesink@{__version__}",
        "activeProfileIndex": 0,
        "profiles": [_sampled(part, frames) for part in parts],
        "shared": {"frames": [_frame_fields(frame) for frame in frames]},
    }


def _with_difference(profile: FlameProfile) -> Iterable[FlameProfile]:
    """Weights are never below zero there: more and less are profiles of their own."""
    if profile.base is None:
        return [profile]
    change = _change(profile)
    more = {stack: weight for stack, weight in change.items() if weight > 0}
    less = {stack: -weight for stack, weight in change.items() if weight < 0}
    return [
        FlameProfile(f"{profile.name}: {what}", profile.unit, weights)
        for what, weights in (
            ("more in new", more),
            ("less in new", less),
            ("base", profile.base),
            ("new", profile.weights),
        )
    ]


def _change(profile: FlameProfile) -> dict[Stack, int]:
    base = profile.base or {}
    return {stack: profile.weights.get(stack, 0) - base.get(stack, 0) for stack in _stacks(profile)}


def _sampled(profile: FlameProfile, frames: dict[str, int]) -> dict[str, Any]:
    samples, weights = [], []
    for stack, weight in sorted(profile.weights.items()):
        samples.append([frames.setdefault(frame, len(frames)) for frame in stack])
        weights.append(weight)
    return {
        "type": "sampled",
        "name": profile.name,
        "unit": profile.unit,
        "startValue": 0,
        "endValue": sum(weights),
        "samples": samples,
        "weights": weights,
    }


def _frame_fields(frame: str) -> dict[str, Any]:
    match = _FRAME.match(frame)
    if match is None:
        return {"name": frame}
    fields: dict[str, Any] = {"name": match["name"], "file": match["file"]}
    return {**fields, "line": int(match["line"])} if int(match["line"]) else fields


# -- pprof: the protobuf message `perftools.profiles.Profile` --------------------------------------

_VARINT, _BYTES = 0, 2
_MASK = (1 << 64) - 1


def pprof(profiles: Sequence[FlameProfile], title: str) -> bytes:
    r"""A profile of pprof, not packed: one sample per stack, with a value for each graph.

    Of two runs the values are what the new one has more; less is below zero.

    >>> pprof([FlameProfile("host", "nanoseconds", {("a",): 3})], "run")[:2]
    b'\n\\x04'
    """
    texts = {"": 0}

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    kinds = [
        _message(1, _field(1, text(profile.name)) + _field(2, text(profile.unit)))
        for profile in profiles
    ]
    values: dict[Stack, list[int]] = {}
    for place, profile in enumerate(profiles):
        weights = profile.weights if profile.base is None else _change(profile)
        for stack, weight in weights.items():
            values.setdefault(stack, list(repeat(0, len(profiles))))[place] = weight
    frames: dict[str, int] = {}
    samples = []
    for stack, numbers in sorted(values.items()):
        if not any(numbers):
            continue
        # The innermost frame comes first; numbers begin at 1.
        places = [frames.setdefault(frame, len(frames) + 1) for frame in stack][::-1]
        samples.append(_message(2, _packed(1, places) + _packed(2, numbers)))
    locations, functions = [], []
    for frame, number in frames.items():
        fields = _frame_fields(frame)
        name = text(fields["name"])
        file, line = text(fields.get("file", "")), fields.get("line", 0)
        functions.append(
            _message(5, _field(1, number) + _field(2, name) + _field(3, name) + _field(4, file))
        )
        row = _message(4, _field(1, number) + _field(2, line))
        locations.append(_message(4, _field(1, number) + row))
    comment = _field(13, text(f"{title}, by timesink {__version__}"))
    default = _field(14, text(profiles[0].name)) if profiles else b""
    table = b"".join(_message(6, value.encode("utf-8", "replace")) for value in texts)
    return b"".join([*kinds, *samples, *locations, *functions, table, comment, default])


def _varint(value: int) -> bytes:
    value &= _MASK
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, value: int) -> bytes:
    return _varint(number << 3 | _VARINT) + _varint(value) if value else b""


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _packed(number: int, values: Iterable[int]) -> bytes:
    return _message(number, b"".join(map(_varint, values)))
