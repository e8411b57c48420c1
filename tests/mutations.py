"""Damaged and rearranged traces, made from clean ones by a seeded generator.

Every mutant is the same in every run: its seed is its label.
"""

from __future__ import annotations

import copy
import gzip
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from builders import DIALECTS, Document, begin, end, kineto, to_bytes, training_trace


@dataclass(frozen=True)
class Mutant:
    """A file to read: its label, the clean text it was made from, and what became of it."""

    label: str
    base: str
    content: bytes
    ending: str = ".json"
    neutral: bool = False
    """Whether it says the same as its base, in other words."""


def _repeat_events(document: Document, times: int) -> Document:
    """The same events again and again, each time later."""
    listed = document if isinstance(document, list) else document["traceEvents"]
    events = []
    for number in range(times):
        for event in copy.deepcopy(listed):
            if isinstance(event.get("ts"), (int, float)):
                event["ts"] += 10_000 * number
            events.append(event)
    return events if isinstance(document, list) else {**document, "traceEvents": events}


def _nested_trace() -> Document:
    events = []
    for number in range(20):
        arguments = {"External id": number}
        events += [
            begin(f"outer {number}", 10 * number, args=arguments),
            begin("inner", 10 * number + 2),
        ]
        events += [end(10 * number + 5), end(10 * number + 9)]
    return kineto(events)


BASES: dict[str, Callable[[], bytes]] = {
    "training": lambda: to_bytes(training_trace(steps=5)),
    "training, pretty": lambda: to_bytes(training_trace(steps=3), indent=2),
    "old": lambda: to_bytes(_repeat_events(DIALECTS["nvidia, old"](), 10)),
    "mlu": lambda: to_bytes(_repeat_events(DIALECTS["cambricon"](), 10)),
    "ascend": lambda: to_bytes(_repeat_events(DIALECTS["ascend"](), 8)),
    "probes": lambda: to_bytes(_repeat_events(DIALECTS["nvidia, probes"](), 10)),
    "nested": lambda: to_bytes(_nested_trace()),
}


# -- bytes ---------------------------------------------------------------------------------------

Mutation = Callable[[bytes, random.Random], bytes]


def _span(text: bytes, rng: random.Random, longest: int) -> tuple[int, int]:
    start = rng.randrange(len(text))
    return start, min(len(text), start + rng.randint(1, longest))


def flip_bit(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + bytes((text[at] ^ (1 << rng.randrange(8)),)) + text[at + 1 :]


def overwrite_byte(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + rng.randbytes(1) + text[at + 1 :]


def delete_byte(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + text[at + 1 :]


def delete_mark(text: bytes, rng: random.Random) -> bytes:
    """Delete a character that gives the text its shape."""
    places = [at for at, byte in enumerate(text) if byte in b'{}[]",:']
    at = rng.choice(places)
    return text[:at] + text[at + 1 :]


def delete_range(text: bytes, rng: random.Random) -> bytes:
    start, stop = _span(text, rng, 300)
    return text[:start] + text[stop:]


def insert_mark(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + rng.choice([b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\"]) + text[at:]


def insert_noise(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + rng.randbytes(rng.randint(1, 60)) + text[at:]


def insert_control_characters(text: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(text))
    return text[:at] + bytes(rng.choices(range(32), k=rng.randint(1, 4))) + text[at:]


def insert_word(text: bytes, rng: random.Random) -> bytes:
    """A bare word instead of a value."""
    at = text.index(b":", rng.randrange(len(text) // 2)) + 1
    word = rng.choice([b"N/A,", b"NaN,", b"-Infinity,", b"nan(0x1),", b"None,", b"<null>,"])
    return text[:at] + word + b'"x":' + text[at:]


def zero_range(text: bytes, rng: random.Random) -> bytes:
    start, stop = _span(text, rng, 200)
    return text[:start] + bytes(stop - start) + text[stop:]


def duplicate_range(text: bytes, rng: random.Random) -> bytes:
    start, stop = _span(text, rng, 500)
    return text[:stop] + text[start:]


def move_range(text: bytes, rng: random.Random) -> bytes:
    start, stop = _span(text, rng, 200)
    rest = text[:start] + text[stop:]
    at = rng.randrange(len(rest))
    return rest[:at] + text[start:stop] + rest[at:]


def truncate(text: bytes, rng: random.Random) -> bytes:
    return text[: rng.randrange(len(text))]


def behead(text: bytes, rng: random.Random) -> bytes:
    return text[rng.randrange(len(text) // 2) :]


def append_noise(text: bytes, rng: random.Random) -> bytes:
    return text + rng.randbytes(rng.randint(1, 100))


def append_itself(text: bytes, rng: random.Random) -> bytes:
    return text + b"\n" * rng.randrange(3) + text


def interrupt(text: bytes, rng: random.Random) -> bytes:
    """Another writer's line in the middle of the file."""
    at = rng.randrange(len(text))
    return text[:at] + b'\nWARNING: "profiler" {is} busy, [retry]\n' + text[at:]


BYTE_MUTATIONS: tuple[Mutation, ...] = (
    flip_bit,
    overwrite_byte,
    delete_byte,
    delete_mark,
    delete_range,
    insert_mark,
    insert_noise,
    insert_control_characters,
    insert_word,
    zero_range,
    duplicate_range,
    move_range,
    truncate,
    behead,
    append_noise,
    append_itself,
    interrupt,
)


# -- values: the text stays JSON -----------------------------------------------------------------

STRANGE_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    1.5,
    10**30,
    -(2**63),
    1e300,
    "",
    "text",
    "12",
    [],
    [1, "a"],
    {},
    {"ph": "X"},
)


def _events(document: Any) -> list[Any]:
    listed: list[Any] = document if isinstance(document, list) else document["traceEvents"]
    return listed


def remove_key(document: Any, rng: random.Random) -> None:
    event = rng.choice(_events(document))
    event.pop(rng.choice(sorted(event)))


def remove_key_everywhere(document: Any, rng: random.Random) -> None:
    key = rng.choice(["cat", "name", "pid", "tid", "args", "dur", "id"])
    for event in _events(document):
        event.pop(key, None)


def replace_value(document: Any, rng: random.Random) -> None:
    event = rng.choice(_events(document))
    event[rng.choice(sorted(event))] = rng.choice(STRANGE_VALUES)


def replace_argument(document: Any, rng: random.Random) -> None:
    event = rng.choice([event for event in _events(document) if event.get("args")])
    event["args"][rng.choice(sorted(event["args"]))] = rng.choice(STRANGE_VALUES)


def replace_time(document: Any, rng: random.Random) -> None:
    event = rng.choice([event for event in _events(document) if "ts" in event])
    event[rng.choice(["ts", "dur"])] = rng.choice(
        [-5, 10**15, 10**18, 10**25, 1e300, "1e5", "-3", 0]
    )


def nest_deeply(document: Any, rng: random.Random) -> None:
    value: Any = 1
    for _ in range(rng.randint(20, 60)):
        value = {"a": [value, {"b": 1}]}
    rng.choice(_events(document))["args"] = {"Input Dims": value}


def add_stray_entries(document: Any, rng: random.Random) -> None:
    for _ in range(rng.randint(1, 3)):
        entry = rng.choice([None, 5, "text, {", [1, [2]], [{"ph": "X"}], True])
        _events(document).insert(rng.randrange(len(_events(document))), entry)


def duplicate_event(document: Any, rng: random.Random) -> None:
    _events(document).append(copy.deepcopy(rng.choice(_events(document))))


def empty_event(document: Any, rng: random.Random) -> None:
    _events(document)[rng.randrange(len(_events(document)))] = {}


def replace_metadata(document: Any, rng: random.Random) -> None:
    if isinstance(document, dict):
        document["deviceProperties"] = rng.choice(STRANGE_VALUES)
        document["distributedInfo"] = rng.choice(STRANGE_VALUES)
        document["baseTimeNanoseconds"] = rng.choice(STRANGE_VALUES)


VALUE_MUTATIONS: tuple[Callable[[Any, random.Random], None], ...] = (
    remove_key,
    remove_key_everywhere,
    replace_value,
    replace_argument,
    replace_time,
    nest_deeply,
    add_stray_entries,
    duplicate_event,
    empty_event,
    replace_metadata,
)


# -- other words for the same --------------------------------------------------------------------


def lay_out(text: bytes, rng: random.Random) -> bytes:
    return json.dumps(json.loads(text), indent=rng.choice([0, 1, 7])).encode()


def reorder_keys(text: bytes, rng: random.Random) -> bytes:
    document = json.loads(text)
    for place, event in enumerate(_events(document)):
        keys = rng.sample(sorted(event), len(event))
        _events(document)[place] = {key: event[key] for key in keys}
    return to_bytes(document)


def sort_keys(text: bytes, rng: random.Random) -> bytes:
    del rng
    return json.dumps(json.loads(text), sort_keys=True).encode()


def rename(text: bytes, rng: random.Random) -> bytes:
    """Names full of what gives a trace its shape; steps and memory marks keep theirs."""
    document = json.loads(text)
    for event in _events(document):
        if event.get("ph") in ("X", "B") and "Step" not in event["name"]:
            event["name"] += rng.choice(
                ['},{"ph":"X"', '"}]}', "\\", "\u00e9\u4e2d\U0001f600", "\n\t\0", "N/A"]
            )
    return to_bytes(document)


def add_unknown_fields(text: bytes, rng: random.Random) -> bytes:
    document = json.loads(text)
    for event in rng.sample(_events(document), 10):
        event["cname"] = rng.choice(["good", [{"ph": "X"}, {"b": [{}]}], {"a": 'x"}, {"ph'}, 1e5])
    return to_bytes(document)


def windows_lines(text: bytes, rng: random.Random) -> bytes:
    return lay_out(text, rng).replace(b"\n", b"\r\n")


def mark_byte_order(text: bytes, rng: random.Random) -> bytes:
    del rng
    return b"\xef\xbb\xbf" + text + b"\n\n"


NEUTRAL_MUTATIONS: tuple[Mutation, ...] = (
    lay_out,
    reorder_keys,
    sort_keys,
    rename,
    add_unknown_fields,
    windows_lines,
    mark_byte_order,
)


# -- packing -------------------------------------------------------------------------------------


PACKED_MUTATIONS: tuple[Mutation, ...] = (
    flip_bit,
    delete_byte,
    delete_range,
    insert_noise,
    zero_range,
    truncate,
    append_noise,
    append_itself,
)


# -- the whole corpus ----------------------------------------------------------------------------


def corpus() -> Iterator[Mutant]:
    """Every mutant, the same in every run."""
    for base, make in BASES.items():
        text = make()
        for mutation, seed in _mutation_seeds(BYTE_MUTATIONS, base):
            label, rng = _seeded_random(base, mutation, seed)
            yield Mutant(label, base, mutation(text, rng))
        for change, seed in _mutation_seeds(VALUE_MUTATIONS, base):
            label, rng = _seeded_random(base, change, seed)
            document = json.loads(text)
            change(document, rng)
            yield Mutant(label, base, to_bytes(document))
        for mutation in NEUTRAL_MUTATIONS:
            label, rng = _seeded_random(base, mutation, 0)
            yield Mutant(label, base, mutation(text, rng), neutral=True)
    for base in ("training", "probes"):
        packed = gzip.compress(BASES[base](), mtime=0)
        for mutation, seed in _mutation_seeds(PACKED_MUTATIONS, base):
            label, rng = _seeded_random(f"{base}, packed", mutation, seed)
            yield Mutant(label, base, mutation(packed, rng), ending=".json.gz")


def _mutation_seeds(mutations: tuple[Any, ...], base: str) -> Iterator[tuple[Any, int]]:
    """One base is damaged in every way at two places; every way meets two of the others.

    The same reader reads all bases.
    """
    if base == "training":
        return ((mutation, seed) for mutation in mutations for seed in range(2))
    return ((mutation, 0) for mutation in mutations[list(BASES).index(base) % 3 :: 3])


def _seeded_random(base: str, mutation: Callable[..., Any], seed: int) -> tuple[str, random.Random]:
    label = f"{base}: {mutation.__name__} {seed}"
    return label, random.Random(label)  # noqa: S311 - repeatable, not secret
