"""What every finding must say."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from msgspec import to_builtins

from builders import training_trace
from cases import DATA_LOADER, STEP, C, K, O, R, read, read_document
from timesink.answers.analysis.finding_values import FindingJson
from timesink.model.findings import HIGH, LOW, MEDIUM, SEVERITIES, RunFinding
from timesink.model.trace import Trace
from timesink.rules.register import rules_for
from timesink.rules.run_findings import find_all


def bad_run() -> Trace:
    """A run with several things wrong."""
    events = []
    for number in (1, 2):
        start = 10_000 * number
        events += [
            STEP(number, start, 10_000),
            O(DATA_LOADER, start, 2_000),
            O("DataParallel.forward", start + 2_000, 3_000),
            O("gloo:all_reduce", start + 6_000, 1_500),
            R(start + 2_100, 5, c=number),
            K("gemm", start + 2_200, 300, c=number),
            K("gemm", start + 2_200, 300, c=number, device=1),
            R(start + 2_500, 5, c=10 + number),
            C(start + 3_000, 500, c=10 + number),
        ]
    return read(*events, STEP(3, 30_000, 3_000))


def small_run() -> Trace:
    return read_document(training_trace())


@pytest.mark.parametrize("run", [bad_run, small_run])
def test_every_finding_has_numbers_evidence_and_advice(run: Callable[[], Trace]):
    findings = find_all(run())
    assert findings
    for finding in findings:
        assert re.search(r"\d", finding.sentence)
        assert finding.sentence.endswith(".")
        assert finding.advice.endswith(".")
        assert finding.evidence
        assert finding.evidence[0].numbers
        assert 0 <= finding.share <= 1
        assert bool(finding.cost_ns) == bool(finding.gain_basis)
        assert finding.cost_ns >= 0


def test_the_gravest_come_first():
    findings = find_all(bad_run())
    ranks = [SEVERITIES.index(finding.severity) for finding in findings]
    assert ranks == sorted(ranks)
    assert {"data-loading", "data-parallel", "cut-steps"} <= {finding.rule for finding in findings}


@pytest.mark.parametrize(
    ("share", "least", "severity"),
    [
        (0.2, LOW, HIGH),
        (0.19, LOW, MEDIUM),
        (0.05, LOW, MEDIUM),
        (0.049, LOW, LOW),
        (0.0, MEDIUM, MEDIUM),
        (0.5, MEDIUM, HIGH),
    ],
)
def test_severity(share: float, least: str, severity: str):
    finding = RunFinding("rule", "Sentence.", share=share, least_severity=least)
    assert finding.severity == severity


def test_as_plain_data():
    answer = to_builtins(FindingJson.of(find_all(bad_run())[0]))
    assert list(answer) == [
        "rule",
        "severity",
        "title",
        "sentence",
        "share_of_step",
        "gain_us_per_step",
        "gain_us_together",
        "gain_us_between_steps",
        "max_gain_us_per_step",
        "gain_basis",
        "saves_nothing",
        "unknown_saving",
        "overlaps",
        "evidence",
        "advice",
    ]
    assert answer["evidence"][0].keys() > {"kind", "name"}


def test_an_empty_trace_has_no_findings():
    assert [rule for rule in rules_for("run") if rule(read()) != []] == []
