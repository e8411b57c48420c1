"""One damage at a time: it is named, counted, and costs nothing else."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from answers import as_text, damage, sizes
from builders import (
    complete,
    kernel,
    kineto,
    operator,
    probe_trace,
    to_bytes,
    training_trace,
    write,
)
from timesink.errors import TimesinkError, UnreadableError
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import PACKED_BLOCK, read_trace


def clean_trace() -> dict[str, Any]:
    """Calls, kernels and the arrows between them: what is read soonest and may be damaged."""
    document = training_trace(steps=3)
    skipped_categories = {"python_function", "user_annotation"}
    listed = [
        event
        for event in document["traceEvents"]
        if event["ph"] in "XsfM" and event.get("cat") not in skipped_categories
    ]
    return {**document, "traceEvents": listed}


CLEAN = to_bytes(clean_trace())
EVENTS = len(clean_trace()["traceEvents"])
KERNEL = b'"void gemm<1, float>(float const*, int)"'


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """Rows of every table of the undamaged trace."""
    path = write(tmp_path_factory.mktemp("clean") / "trace.json", CLEAN)
    return sizes(read_trace(path, ReadOptions(jobs=1)))


def broken(old: bytes, new: bytes, times: int = 1) -> bytes:
    assert CLEAN.count(old) >= times
    return CLEAN.replace(old, new, times)


# -- text that is not JSON -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("bare_word", (b"N/A", b"undefined", b"None")),
        ("bare_word", (b"True",)),
        ("nan_value", (b"NaN", b"-nan(ind)", b"1.#INF")),
        ("nan_value", (b"-Infinity",)),
    ],
)
def test_mended_words_cost_no_event(read, clean, code, words):
    text = CLEAN
    for number, word in enumerate(words):
        written = b'"External id":%d1,' % number if number else b'"External id":1,'
        assert text.count(written) == 1
        text = text.replace(written, b'"External id":' + word + b",")
    trace = read(text)
    assert damage(trace) == {code: len(words)}
    assert trace.metadata.events == EVENTS
    assert sizes(trace) == clean


@pytest.mark.parametrize(
    ("written", "code", "name"),
    [
        (b'"void\ngemm\t<1>"', "control_characters", "void\ngemm\t<1>"),
        (b'"void\x00gemm\x1f"', "control_characters", "void\x00gemm\x1f"),
        (b'"void gemm<"float">(int)"', "unescaped_quotes", 'void gemm<"float">(int)'),
        (b'"operator"""', "unescaped_quotes", 'operator""'),
        (b'"an odd " quote"', "unescaped_quotes", 'an odd " quote'),
        (rb'"C:\dir\kernel"', "unescaped_quotes", r"C:\dir\kernel"),
        (rb'"ends with \"', "unescaped_quotes", "ends with \\"),
        (rb'"\q and \\d \"x\" "y""', "unescaped_quotes", r'\q and \d "x" "y"'),
        (b'"caf\xe9 kernel"', "invalid_utf8", "caf\ufffd kernel"),
        (b'"\xff\xfe\xf0\x28"', "invalid_utf8", None),
        (rb'"half \ud83d, whole \ud83d\ude00"', "invalid_utf8", "half \ufffd, whole \U0001f600"),
    ],
)
def test_mended_names_cost_no_event_and_are_what_was_meant(read, clean, written, code, name):
    trace = read(broken(KERNEL, written))
    assert damage(trace) == {code: 1}
    assert trace.metadata.events == EVENTS
    assert sizes(trace) == clean
    assert name is None or name in trace.device["name"].cast(str).to_list()


def test_names_that_look_like_bare_words_are_no_damage(read):
    trace = read(broken(KERNEL, b'"N/A and NaN"'))
    assert damage(trace) == {}
    assert "N/A and NaN" in trace.device["name"].cast(str).to_list()


def test_a_bare_word_beside_a_lone_quote_is_mended_as_well(read, clean):
    """Event by event: quotes do not tell where the strings of the whole text are."""
    text = broken(KERNEL, b'"an odd " quote"').replace(
        b'"External id":1,', b'"External id":N/A,', 1
    )
    trace = read(text)
    assert damage(trace) == {"unescaped_quotes": 1, "bare_word": 1}
    assert sizes(trace) == clean


def test_quotes_are_mended_in_any_layout(read, clean):
    """Line ends between fields are not inside the string that an odd quote leaves open."""
    text = to_bytes(clean_trace(), indent=1)
    trace = read(text.replace(b'"aten::linear"', b'"aten::"linear"'))
    assert damage(trace) == {"unescaped_quotes": 3}
    assert sizes(trace) == clean


def test_names_of_probes_may_hold_anything(read):
    """Braces, quotes and lists of objects in strings look like the shape of the file itself."""
    name = 'lambda{"ph": "X"}, {"ph": "X"}, ]}'
    trace = read(kineto([operator(name, 1, 2), kernel(name, 1, 2, 3)]))
    assert trace.host["name"].to_list() == trace.device["name"].to_list() == [name]
    assert damage(trace) == {}


def test_several_damages_in_one_event(read, clean):
    trace = read(broken(KERNEL + b',"pid":0', b'"a "q" \x01 \xff","dim":N/A,"pid":0'))
    assert damage(trace) == {
        "bare_word": 1,
        "control_characters": 1,
        "invalid_utf8": 1,
        "unescaped_quotes": 1,
    }
    assert sizes(trace) == clean


def test_every_event_damaged(read, clean):
    trace = read(CLEAN.replace(b'"pid":', b'"x":N/A,"pid":'))
    assert damage(trace) == {"bare_word": EVENTS}
    assert sizes(trace) == clean


def test_the_example_of_invalid_utf8_is_text(read):
    trace = read(to_bytes(probe_trace()).replace(b'"ts"', b'"na\xffme":"x","ts"', 1))
    (example,) = (entry.example for entry in trace.health if entry.code == "invalid_utf8")
    assert "na\ufffdme" in example
    assert "b'" not in example


def test_invalid_utf8_in_arguments(read, clean):
    stack = b'"Call stack":"caf\xe9.py(1)","External id":1,'
    trace = read(broken(b'"External id":1,', stack))
    assert damage(trace) == {"invalid_utf8": 1}
    assert sizes(trace) == clean


@pytest.mark.parametrize("objects", [2, 40])
def test_objects_in_arguments_stay_there_when_neighbours_are_damaged(read, objects):
    kinds = ({"b": 1}, {"ph": "X"}, {"ph": "X", "pid": 1, "args": {}})
    events = [operator("op", 1, 2, **{"Input Dims": [nested] * objects}) for nested in kinds]
    text = to_bytes(kineto([*events, kernel("k", 1, 2, 3), *events]))
    trace = read(text.replace(b'"k"', b'"k"k"'))
    assert damage(trace) == {"unescaped_quotes": 1}
    assert trace.metadata.events == 7


def test_a_missing_comma_costs_nothing(read, clean):
    trace = read(broken(b'},{"ph":"s"', b'}{"ph":"s"'))
    assert trace.metadata.events == EVENTS
    assert sizes(trace) == clean


def test_what_cannot_be_mended_is_lost_alone(read, clean):
    trace = read(broken(KERNEL + b',"pid":0,"tid":7,', KERNEL + b',"pid":::,"tid":7,'))
    assert damage(trace) == {"lost_events": 1}
    assert trace.metadata.events == EVENTS - 1
    assert sizes(trace) == clean | {"device": clean["device"] - 1}


def test_an_event_cut_short_does_not_swallow_the_next(read, clean):
    trace = read(broken(KERNEL + b',"pid":0,"tid":7', b'"void'))
    assert trace.metadata.events == EVENTS - 1
    assert damage(trace) == {"lost_events": 1}
    assert sizes(trace)["flows"] == clean["flows"]


@pytest.mark.parametrize("bracket", [b"]", b"}", b"],"])
def test_a_stray_bracket_does_not_end_the_list(read, clean, bracket):
    trace = read(broken(b',{"ph":"s"', bracket + b',{"ph":"s"'))
    assert damage(trace) == {"not_an_event": 1}
    assert sizes(trace) == clean


# -- the end of the file -------------------------------------------------------------------------


PARTS = (
    to_bytes(complete("cpu_op", "a", 1, 2, args={"Input Dims": [{"b": 1}, {"c": "}]"}]})),
    b'{"ph":"i","name":"b","ts":4}',
)
HEAD, TAIL = b'{"traceEvents":[', b'],"span":1}'


def truncations():
    """Every prefix of a small trace, with the events it holds in full and those it breaks."""
    text, spans = HEAD, []
    for part in PARTS:
        spans.append((len(text), len(text) + len(part)))
        text += part + b","
    text = text[:-1] + TAIL
    for cut in range(0, len(text), 5):
        complete_events = sum(end <= cut for _, end in spans)
        started_events = sum(start < cut for start, _ in spans)
        yield text[:cut], complete_events, started_events - complete_events


def test_truncated_anywhere(tmp_path):
    for text, complete_events, broken_off in truncations():
        path = write(tmp_path / "trace.json", text)
        if len(text) < len(HEAD):
            with pytest.raises(TimesinkError) as caught:
                read_trace(path, ReadOptions(jobs=1))
            assert caught.value.message
            assert caught.value.hint
            continue
        trace = read_trace(path, ReadOptions(jobs=1))
        closed = len(text) > len(HEAD) + len(b",".join(PARTS))
        expected = {"bad_metadata": 1} if closed else {"truncated_tail": 1}
        if broken_off:
            expected["lost_events"] = broken_off
        assert (damage(trace), trace.metadata.events) == (expected, complete_events), text


def test_a_bare_list_may_lack_its_end(read):
    text = to_bytes(probe_trace())
    trace = read(text.removesuffix(b"]"))
    assert damage(trace) == {"open_list": 1}
    assert as_text(trace) == as_text(read(text))


@pytest.mark.parametrize(
    "garbage", [b"garbage", b"\n{}", b"\0\0\0\0", b"}", b"]}", b'{"traceEvents":[{"ph":"X"}]}']
)
def test_text_behind_the_trace_is_reported(read, clean, garbage):
    trace = read(CLEAN + garbage)
    assert damage(trace) == {"trailing_content": 1}
    assert sizes(trace) == clean


def test_text_behind_a_bare_list_is_reported(read):
    text = to_bytes(probe_trace())
    trace = read(text + b" and more")
    assert damage(trace) == {"trailing_content": 1}
    assert as_text(trace) == as_text(read(text))


def test_white_space_around_the_trace_is_nothing(read, clean):
    trace = read(b"\n\n  " + CLEAN + b"  \n")
    assert damage(trace) == {}
    assert sizes(trace) == clean


@pytest.mark.parametrize("text", [CLEAN, to_bytes(probe_trace())])
def test_a_byte_order_mark_is_nothing(read, text):
    trace = read(b"\xef\xbb\xbf" + text)
    assert damage(trace) == {}
    assert as_text(trace) == as_text(read(text))


# -- packing -------------------------------------------------------------------------------------


def read_packed(tmp_path, content: bytes):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(content)
    return read_trace(path, ReadOptions(jobs=1))


def test_truncated_gzip(tmp_path):
    packed = gzip.compress(CLEAN, mtime=0)
    trace = read_packed(tmp_path, packed[: len(packed) * 2 // 3])
    assert damage(trace)["truncated_archive"] == 1
    assert damage(trace)["truncated_tail"] == 1
    assert 0 < trace.metadata.events < EVENTS


def test_gzip_without_its_checksum_is_complete(tmp_path, clean):
    trace = read_packed(tmp_path, gzip.compress(CLEAN, mtime=0)[:-8])
    assert damage(trace) == {"truncated_archive": 1}
    assert sizes(trace) == clean


def test_gzip_with_a_wrong_checksum_is_read_and_reported(tmp_path, clean):
    packed = bytearray(gzip.compress(CLEAN, mtime=0))
    packed[-6] ^= 0xFF
    trace = read_packed(tmp_path, bytes(packed))
    assert damage(trace) == {"wrong_checksum": 1}
    assert sizes(trace) == clean


def test_gzip_corrupt_in_the_middle_keeps_what_stands_before(tmp_path):
    compressor = zlib.compressobj(wbits=31)
    half = CLEAN.index(b'"dur"', len(CLEAN) // 2)
    sound = compressor.compress(CLEAN[:half]) + compressor.flush(zlib.Z_FULL_FLUSH)
    packed = sound + b"\xff" * 40
    trace = read_packed(tmp_path, packed)
    assert damage(trace)["truncated_archive"] == 1
    assert trace.metadata.events == CLEAN[:half].count(b'"ph":') - 1


def test_gzip_corrupt_after_many_blocks_keeps_what_stands_before(tmp_path):
    text = to_bytes(kineto([operator(1000 * "n", 10 * number, 5) for number in range(200)]))
    compressor = zlib.compressobj(level=0, wbits=31)
    whole_events = text[: text.rindex(b',{"ph"')]
    sound = compressor.compress(whole_events) + compressor.flush(zlib.Z_FULL_FLUSH)
    assert len(sound) > 2 * PACKED_BLOCK
    trace = read_packed(tmp_path, sound + b"\xff" * 40)
    assert damage(trace) == {"truncated_archive": 1, "truncated_tail": 1}
    assert trace.metadata.events == whole_events.count(b'"ph":')


def test_bytes_behind_gzip_are_reported(tmp_path, clean):
    trace = read_packed(tmp_path, gzip.compress(CLEAN) + b"garbage")
    assert damage(trace) == {"trailing_content": 1}
    assert sizes(trace) == clean


def test_gzip_of_nothing_readable_is_an_error(tmp_path):
    with pytest.raises(UnreadableError, match="damaged beyond repair"):
        read_packed(tmp_path, b"\x1f\x8b\x08\x00garbage that is no deflate stream")


def test_zip_with_wrong_content_is_reported(tmp_path):
    path = tmp_path / "trace.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("trace.json", CLEAN)
    path.write_bytes(path.read_bytes().replace(b"gemm<1, float>", b"gemm<7, float>", 1))
    trace = read_trace(path, ReadOptions(jobs=1))
    assert damage(trace) == {"wrong_checksum": 1}
    assert trace.metadata.events == EVENTS


# -- events with something missing or strange ----------------------------------------------------


def alter_kernels(*changes: Callable[[dict[str, Any]], object]) -> bytes:
    """The clean trace with its first kernels changed, each in one way."""
    document = clean_trace()
    kernels = [event for event in document["traceEvents"] if event.get("cat") == "kernel"]
    assert len(changes) <= len(kernels)
    for change, event in zip(changes, kernels, strict=False):
        change(event)
    return to_bytes(document)


def lacks(key: str) -> Callable[[dict[str, Any]], object]:
    return lambda event: event.pop(key, None)


def has(**fields: object) -> Callable[[dict[str, Any]], object]:
    return lambda event: event.update(fields)


def test_no_name(read, clean):
    trace = read(alter_kernels(lacks("name")))
    assert damage(trace) == {"missing_name": 1}
    assert sizes(trace) == clean


def test_no_category(read, clean):
    trace = read(alter_kernels(lacks("cat")))
    assert damage(trace) == {"missing_category": 1}
    assert sizes(trace) == clean | {"device": clean["device"] - 1, "host": clean["host"] + 1}
    assert trace.host["kind"].to_list().count("other") == 1


def test_no_timestamp(read, clean):
    trace = read(alter_kernels(lacks("ts"), has(ts=None), has(ts="soon"), has(ts=[])))
    assert damage(trace) == {"missing_ts": 4}
    assert trace.metadata.events == EVENTS
    assert sizes(trace) == clean | {"device": clean["device"] - 4}


def test_no_duration(read, clean):
    trace = read(alter_kernels(lacks("dur"), has(dur=None), has(dur="long")))
    assert damage(trace) == {"missing_duration": 3}
    assert sizes(trace) == clean
    assert trace.device["dur_ns"].to_list().count(0) == 3


def test_negative_duration(read, clean):
    trace = read(alter_kernels(has(dur=-5)))
    assert damage(trace) == {"negative_duration": 1}
    assert sizes(trace) == clean
    assert trace.device["dur_ns"].min() == 0


def test_no_phase_but_a_duration_is_a_slice(read, clean):
    assert sizes(read(alter_kernels(lacks("ph")))) == clean


def test_no_phase_and_a_negative_duration(read, clean):
    text = alter_kernels(lambda event: event.update(dur=-5) or event.pop("ph"))
    trace = read(text)
    assert sizes(trace) == clean
    assert trace.device["dur_ns"].min() == 0


def test_no_phase_and_no_duration(read, clean):
    text = alter_kernels(lambda event: (event.pop("ph"), event.pop("dur")))
    trace = read(text)
    assert damage(trace) == {"unknown_phase": 1}
    assert sizes(trace) == clean | {"device": clean["device"] - 1}


def test_absent_fields_that_are_not_needed(read, clean):
    trace = read(alter_kernels(*map(lacks, ("pid", "tid", "args", "id"))))
    assert damage(trace) == {}
    assert sizes(trace) == clean


def test_null_fields_are_missing_fields(read, clean):
    trace = read(alter_kernels(has(pid=None), has(tid=None), has(id=None)))
    assert damage(trace) == {}
    assert sizes(trace) == clean


def test_fields_of_other_types_are_reported(read, clean):
    names, ids = (has(name=5), has(name=["a"])), (has(id=[1]), has(pid=True))
    trace = read(alter_kernels(*names, has(pid=1.5), has(tid={"a": 1}), *ids))
    assert damage(trace)["bad_value"] == 6
    assert sizes(trace) == clean


def test_entries_that_are_no_events_are_reported(read, clean):
    entries = [b"5", b"null", b'"text {"', b"[1, [2, {}]]", b"true", b"-1.5e3"]
    before, *behind = CLEAN.split(b',{"ph":"s"', len(entries))
    strange = zip(entries, behind, strict=True)
    trace = read(before + b"".join(b"," + entry + b',{"ph":"s"' + text for entry, text in strange))
    assert damage(trace) == {"not_an_event": 6}
    assert trace.metadata.events == EVENTS
    assert sizes(trace) == clean


# -- no trace at all -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b" \n\t\n ", "empty"),
        (b"\xef\xbb\xbf", "not a trace"),
        (b"hello", "text starting with 'hello'"),
        (b"<html>", "markup"),
        (b"\x00\x01\x02binary", "binary data"),
        (b"{}", "without a list of events"),
        (b"[]", "without a list of events"),
        (b'{"schemaVersion": 1}', "no list of events"),
        (b"[[[1, 2], [3, 4]]]", "memory timeline"),
        (b"PK\x03\x04 not really", "broken zip"),
        (b"\x28\xb5\x2f\xfd...", "zstd"),
    ],
)
def test_what_is_no_trace_is_declined_with_a_hint(read, content, message):
    with pytest.raises(UnreadableError, match=message) as caught:
        read(content)
    assert caught.value.hint


def test_a_folder_is_declined_with_a_hint(tmp_path):
    with pytest.raises(UnreadableError, match="is a folder") as caught:
        read_trace(tmp_path)
    assert caught.value.hint


def test_a_missing_file_is_declined_with_a_hint(tmp_path):
    with pytest.raises(UnreadableError, match="no such file") as caught:
        read_trace(tmp_path / "absent.json")
    assert caught.value.hint


def test_values_nested_without_end_are_declined(read):
    with pytest.raises(UnreadableError, match="nested too deeply"):
        read(b'{"traceEvents":[{"ph":"X","args":' + b"[" * 100_000 + b"]" * 100_000 + b"}]}")
