"""Any JSON makes a recorded run: what does not fit is not known."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from msgspec import to_builtins

from recorded_runs import run_fields
from timesink.model.recorded_run import recorded_run
from timesink.sources.run_facts import run_health

_NAMES = st.sampled_from([*run_fields(), "pid", "cores", "by", "missing", "offset_us", "other"])
_PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
)
_ANY = st.recursive(
    _PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=4)
)


@given(st.dictionaries(_NAMES, _ANY))
def test_any_values(values: dict[str, object]):
    run, _ = recorded_run({**run_fields(), **values})
    assert run_health(run, None) is not None
    assert recorded_run(to_builtins(run)) == (run, [])


def test_what_was_written_is_read_back():
    run, unused = recorded_run(run_fields())
    assert not unused
    assert recorded_run(json.loads(json.dumps(to_builtins(run)))) == (run, [])
