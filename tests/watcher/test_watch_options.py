"""`timesink.watch` and its options, and a folder that is gone on with."""

from __future__ import annotations

import pytest

import timesink
from timesink.errors import CollectError, UsageError


def test_options_of_the_command_are_arguments_in_python(tmp_path):
    plan = timesink.watch(
        tmp_path, learn_seconds=2, gap=5, quota="1M", false_alarms=1, workload="mine:told",
        no_record=True, on_alarm="true 'a b'", metrics=9400, counters="none",
    )._plan  # fmt: skip
    assert (plan.learn_s, plan.gap_s, plan.quota_bytes, plan.is_recording) == (2, 5, 1 << 20, False)
    assert (plan.alarms_per_hour, plan.extractor, plan.counters) == (1, "mine:told", frozenset())
    assert (plan.on_alarm, plan.metrics) == (("true", "a b"), ("127.0.0.1", 9400))


@pytest.mark.parametrize(
    "options",
    [{"learn": -1}, {"learn": "many"}, {"preset": "foo"}, {"gap": None, "speed": 1}, {"span": 3}],
)
def test_what_cannot_be_meant_is_one_error_in_python(tmp_path, options):
    with pytest.raises(UsageError):
        timesink.watch(tmp_path / "w", **options)


def test_what_the_process_beside_refuses_is_raised(tmp_path, capfd):
    (tmp_path / "model.json").write_text("{}")
    watched = timesink.watch(tmp_path / "w", model=tmp_path / "model.json", counters="none")
    with pytest.raises(CollectError, match="not a model"):
        watched.__enter__()
    assert "Traceback" not in capfd.readouterr().err
