"""Whatever number stands in a trace, it costs no more than its length, and no other event."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answers import damage
from builders import cuda_trace
from timesink.formats.read_options import ReadOptions
from timesink.formats.source_file import read_trace

DIGITS = st.text("0123456789", min_size=1, max_size=400).map(lambda text: text.lstrip("0") or "0")
NUMBERS = st.builds(
    lambda sign, integer, rest, exponent: f"{sign}{integer}{rest}{exponent}",
    st.sampled_from(["", "-"]),
    DIGITS,
    st.one_of(st.just(""), DIGITS.map(".{}".format)),
    st.one_of(st.just(""), st.integers(-(10**9), 10**9).map("e{}".format)),
)
DOCUMENT = json.dumps(
    cuda_trace()
    | {"baseTimeNanoseconds": 5, "distributedInfo": {"rank": 0, "world_size": 1}}
    | {"deviceProperties": [{"id": 0, "name": "GPU", "totalGlobalMem": 80, "numSms": 4}]}
)
SPANS = DOCUMENT.count('"ph": "X"')
PLACES = [match.span(1) for match in re.finditer(r": (-?\d+(?:\.\d+)?)", DOCUMENT)]


@settings(
    deadline=timedelta(seconds=20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(place=st.sampled_from(PLACES), number=NUMBERS)
def test_any_number_anywhere_is_read_or_counted(tmp_path_factory, place, number):
    start, end = place
    file = tmp_path_factory.mktemp("number") / "trace.json"
    file.write_text(DOCUMENT[:start] + number + DOCUMENT[end:])
    trace = read_trace(file, ReadOptions(jobs=1))
    lost = sum(damage(trace).values())
    assert trace.host.height + trace.device.height >= SPANS - min(lost, 1)


@pytest.mark.parametrize(
    ("key", "code"),
    [("correlation", "out_of_range"), ("pid", "out_of_range"), ("ts", "missing_ts")],
)
@pytest.mark.parametrize("number", ["-3846802344542.1e999542", f"{'7' * 500}.5"])
def test_one_number_out_of_range_is_counted_and_the_rest_is_read(read, key, code, number):
    broken = re.sub(rf'"{key}": [\d.]+', f'"{key}": {number}', DOCUMENT, count=1)
    trace, intact_trace = read(broken.encode()), read(DOCUMENT.encode())
    assert damage(trace)[code] == 1
    assert (
        trace.host.height + trace.device.height
        >= intact_trace.host.height + intact_trace.device.height - 1
    )


def test_a_value_of_a_counter_out_of_range_is_counted(read):
    counter = {"ph": "C", "name": "memory", "pid": 1, "ts": 1, "args": {"used": 5}}
    text = json.dumps({"traceEvents": [counter, {**counter, "ts": 2}]})
    trace = read(text.replace('"used": 5', '"used": 1e999', 1).encode())
    assert trace.counters.height == 1
    assert damage(trace)["out_of_range"] == 1


def test_a_piece_damaged_in_another_way_as_well(read):
    broken = DOCUMENT.replace('"correlation": 11', '"correlation": 1e999', 1)
    broken = broken.replace('"name": "aten::mm', '"name": "aten"::mm', 1)
    codes = damage(read(broken.encode()))
    assert {"out_of_range", "unescaped_quotes"} <= codes.keys()
