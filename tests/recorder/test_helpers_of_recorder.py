"""Small cases of what the helpers of recorder give."""

from __future__ import annotations

from timesink.recorder.ncu.plan import shown_briefly
from timesink.recorder.recording import RecordPlan


def test_cycles_a_plan_skips() -> None:
    assert RecordPlan(cycles=3).skip == 5


def test_shown_briefly() -> None:
    launches = ":::1|8|15|22|29|[0-9]*(001|008|015|022|029)"
    expected = "ncu --kernel-id ':::1|8|15|...' (--dry-run shows it whole)"
    assert shown_briefly(["ncu", "--kernel-id", launches]) == expected
