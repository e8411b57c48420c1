"""Files of flame graphs, read again by what others say the formats are."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from timesink.errors import UsageError
from timesink.formats.flame_files import (
    FlameProfile,
    collapsed,
    pprof,
    speedscope,
    write_flame,
)

HOST = {("train.py(3): main", "step", "aten::mm"): 5, ("train.py(3): main", "step"): 2}
DEVICE = {("train.py(3): main", "step", "aten::mm", "gemm"): 7}
PROFILES = [
    FlameProfile("host time", "nanoseconds", HOST),
    FlameProfile("device time", "nanoseconds", DEVICE),
]
BASE = {("train.py(3): main", "step", "aten::mm"): 9, ("train.py(3): main", "gone"): 1}
CHANGE = [FlameProfile("host time", "nanoseconds", HOST, BASE)]


def test_collapsed_stacks_are_lines():
    assert collapsed(PROFILES[:1]).splitlines() == [
        "train.py(3): main;step 2",
        "train.py(3): main;step;aten::mm 5",
    ]
    assert collapsed(CHANGE).splitlines() == [
        "train.py(3): main;gone 1 0",
        "train.py(3): main;step 0 2",
        "train.py(3): main;step;aten::mm 9 5",
    ]


def test_collapsed_stacks_hold_one_graph():
    with pytest.raises(UsageError):
        collapsed(PROFILES)


def test_names_do_not_break_lines():
    text = collapsed([FlameProfile("host", "nanoseconds", {("a;b\nc", "d"): 1})])
    assert text == "a,b c;d 1\n"


def _stacks(profile: dict[str, Any], frames: list[dict[str, Any]]) -> dict[tuple[str, ...], int]:
    return {
        tuple(frames[place]["name"] for place in sample): weight
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True)
    }


def test_speedscope_has_the_same_stacks():
    made = json.loads(json.dumps(speedscope(PROFILES, "run")))
    host, device = made["profiles"]
    frames = made["shared"]["frames"]
    assert _stacks(host, frames) == {("main", "step", "aten::mm"): 5, ("main", "step"): 2}
    assert device["endValue"] == sum(device["weights"]) == 7
    assert frames[0] == {"name": "main", "file": "train.py", "line": 3}


def test_speedscope_shows_more_and_less():
    made = speedscope(CHANGE, "run")
    names = [profile["name"].partition(": ")[2] for profile in made["profiles"]]
    assert names == ["more in new", "less in new", "base", "new"]
    more, less = made["profiles"][:2]
    assert sum(more["weights"]) == 2
    assert sum(less["weights"]) == 5


def _speedscope_schema() -> Path | None:
    named = os.environ.get("TIMESINK_SPEEDSCOPE_SCHEMA")
    root = Path(__file__).parents[2]
    package = root / "web/node_modules/speedscope/dist/release/file-format-schema.json"
    return next((path for path in (Path(named or "/none"), package) if path.is_file()), None)


@pytest.mark.parametrize("profiles", [PROFILES, CHANGE], ids=["two graphs", "a difference"])
def test_speedscope_fits_its_schema(profiles: list[FlameProfile]):
    jsonschema = pytest.importorskip("jsonschema")
    file = _speedscope_schema()
    if file is None:
        pytest.skip("needs the npm package speedscope, or TIMESINK_SPEEDSCOPE_SCHEMA")
    jsonschema.validate(speedscope(profiles, "run"), json.loads(file.read_text()))


# -- pprof, by the protobuf library and the published message --------------------------------------


def _profile_message() -> Any:
    """`perftools.profiles.Profile` as pprof publishes it, field by field."""
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="profile_of_test.proto", package="perftools.profiles", syntax="proto3"
    )
    messages: dict[str, list[tuple[str, int, str, bool]]] = {
        "ValueType": [("type", 1, "i", False), ("unit", 2, "i", False)],
        "Label": [("key", 1, "i", False), ("str", 2, "i", False), ("num", 3, "i", False)],
        "Sample": [
            *(("location_id", 1, "u", True), ("value", 2, "i", True)),
            ("label", 3, "Label", True),
        ],
        "Line": [("function_id", 1, "u", False), ("line", 2, "i", False)],
        "Location": [
            *(("id", 1, "u", False), ("mapping_id", 2, "u", False)),
            *(("address", 3, "u", False), ("line", 4, "Line", True)),
        ],
        "Function": [
            *(("id", 1, "u", False), ("name", 2, "i", False), ("system_name", 3, "i", False)),
            *(("filename", 4, "i", False), ("start_line", 5, "i", False)),
        ],
        "Profile": [
            *(("sample_type", 1, "ValueType", True), ("sample", 2, "Sample", True)),
            *(("location", 4, "Location", True), ("function", 5, "Function", True)),
            *(("string_table", 6, "s", True), ("comment", 13, "i", True)),
            ("default_sample_type", 14, "i", False),
        ],
    }
    types = {"i": kinds.TYPE_INT64, "u": kinds.TYPE_UINT64, "s": kinds.TYPE_STRING}
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            added = message.field.add(
                name=field,
                number=number,
                label=kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL,
                type=types.get(kind, kinds.TYPE_MESSAGE),
            )
            if kind not in types:
                added.type_name = f".perftools.profiles.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName("perftools.profiles.Profile")
    return message_factory.GetMessageClass(found)


def _read(content: bytes) -> tuple[list[str], dict[tuple[str, ...], list[int]], Any]:
    profile = _profile_message()()
    profile.ParseFromString(content)
    texts = list(profile.string_table)
    functions = {function.id: texts[function.name] for function in profile.function}
    locations = {place.id: functions[place.line[0].function_id] for place in profile.location}
    stacks = {
        tuple(locations[place] for place in reversed(sample.location_id)): list(sample.value)
        for sample in profile.sample
    }
    return [texts[kind.type] for kind in profile.sample_type], stacks, profile


def test_pprof_has_the_same_stacks():
    kinds, stacks, profile = _read(pprof(PROFILES, "run"))
    assert kinds == ["host time", "device time"]
    assert stacks == {
        ("main", "step", "aten::mm"): [5, 0],
        ("main", "step"): [2, 0],
        ("main", "step", "aten::mm", "gemm"): [0, 7],
    }
    texts = list(profile.string_table)
    assert texts[0] == ""
    (main,) = (function for function in profile.function if texts[function.name] == "main")
    assert texts[main.filename] == "train.py"
    assert texts[profile.default_sample_type] == "host time"
    assert len({place.id for place in profile.location}) == len(profile.location)


def test_pprof_of_a_difference_is_signed():
    _, stacks, _ = _read(pprof(CHANGE, "run"))
    assert stacks == {
        ("main", "step", "aten::mm"): [-4],
        ("main", "step"): [2],
        ("main", "gone"): [-1],
    }


def test_files_are_packed_as_their_tools_expect(tmp_path: Path):
    place = tmp_path / "a.pb.gz"
    assert write_flame(PROFILES, "run", "pprof", place) == 3
    assert gzip.decompress(place.read_bytes()) == pprof(PROFILES, "run")
    with pytest.raises(UsageError):
        write_flame(PROFILES, "run", "svg", place)
