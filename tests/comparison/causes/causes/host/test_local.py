"""What functions of the host gained and lost, as far as it shows in the step."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from slowed import MS, USUAL, Call, Program, pair
from timesink.comparison.causes.case import DiagnosisCase, case_of
from timesink.comparison.causes.diagnosis import attribution
from timesink.comparison.causes.host import local_changes


def case(base: Program, new: Program) -> DiagnosisCase:
    both = pair(base, new)
    before, after = both.base.anatomy, both.new.anatomy
    assert before is not None
    assert after is not None
    return case_of(both, (before, after), attribution(both, before, after), ())


def test_gains_and_losses_show_in_full_where_nothing_runs_beside_the_host() -> None:
    new = USUAL.but(
        aten__add=Call("cpu_operator", 70, 14.0), aten__mm=Call("cpu_operator", 80, 7.0)
    )
    lost, gained = local_changes(case(USUAL, new))
    assert lost == pytest.approx(-5 * MS, rel=0.1)
    assert gained == pytest.approx(10 * MS, rel=0.1)


def test_what_is_lost_beside_the_device_does_not_show() -> None:
    host_case = case(USUAL.but(aten__sort=Call("cpu_operator", 30, 9.0)), USUAL)
    still = tuple(
        structs.replace(part, new_ns=part.base_ns + MS) if part.part == "host_cpu" else part
        for part in host_case.attribution
    )
    assert local_changes(replace(host_case, attribution=still))[0] == pytest.approx(0, abs=MS / 2)
