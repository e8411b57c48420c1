"""Test results that CI systems read.

What is checked are the rules of Ant's JUnit schema, the strictest in use, and those of Jenkins.
"""

from __future__ import annotations

import re
from datetime import datetime, timezone
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gated import failed_gate, gate_check
from timesink.answers.comparison.gate import gate_xml
from timesink.answers.comparison.gate_result import GateAnswer

NOW = datetime(2026, 1, 31, 12, 30, tzinfo=timezone.utc)
SUITE = {
    "name", "package", "id", "timestamp", "hostname", "tests", "failures", "errors", "skipped",
    "time",
}  # fmt: skip
RESULTS = {"failure": "failures", "error": "errors", "skipped": "skipped"}
CHECKS = (
    gate_check("cycle time", "cycle time", "failed", "Cycles take longer.", time_ns=76_672_407.4),
    gate_check("budget", 'operators "aten::mm" max', "failed", "too long", time_ns=1_000_000.6),
    gate_check("budget", 'operators "gone" max', "unjudged", "matches nothing"),
    gate_check("budget", "cycle max", "passed", "within"),
    gate_check("budget", "not asked", "failed", "too long", counts=False),
    gate_check("recordings", "recordings", "passed", "All were read."),
)


def suite_of(gate: GateAnswer, host: str = "runner-7") -> ET.Element:
    """The only suite, of a document that keeps all rules."""
    text = gate_xml(gate, NOW, host)
    assert text.isascii()
    root = ET.fromstring(text)  # noqa: S314 - our own
    assert (root.tag, root.attrib, len(root)) == ("testsuites", {}, 1)
    suite = root[0]
    assert suite.tag == "testsuite"
    assert set(suite.attrib) == SUITE
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    tags = [child.tag for child in suite]
    assert tags[0] == "properties"
    assert tags[-2:] == ["system-out", "system-err"]
    assert set(tags[1:-2]) == {"testcase"}
    for case in suite.findall("testcase"):
        check_case(case)
    for result, count in RESULTS.items():
        assert int(suite.attrib[count]) == len(suite.findall(f"testcase/{result}"))
    assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
    times = [seconds(case) for case in suite.findall("testcase")]
    assert seconds(suite) == sum(times)
    return suite


def check_case(case: ET.Element) -> None:
    assert set(case.attrib) == {"name", "classname", "time"}
    for value in (case.attrib["name"], case.attrib["classname"]):
        assert value == " ".join(value.split())  # tokens
    assert len(case) <= 1
    for result in case:
        assert result.tag in RESULTS
        wanted = {"message"} if result.tag == "skipped" else {"message", "type"}
        assert set(result.attrib) == wanted


def seconds(element: ET.Element) -> Decimal:
    text = element.attrib["time"]
    assert re.fullmatch(r"\d+\.\d+", text)
    return Decimal(text)


def test_every_check_is_a_test_case():
    cases = suite_of(failed_gate(checks=CHECKS)).findall("testcase")
    assert [[result.tag for result in case] for case in cases] == [
        ["failure"], ["failure"], ["error"], [], ["skipped"], [],
    ]  # fmt: skip
    assert cases[0].attrib["classname"] == "timesink.cycle_time"
    assert cases[1].attrib["name"] == 'operators "aten::mm" max'


def test_times_are_those_of_the_new_run_in_seconds():
    case = suite_of(failed_gate(checks=CHECKS)).find("testcase")
    assert case is not None
    assert case.attrib["time"] == "0.076672407"


def test_a_failure_carries_the_reason():
    failure = suite_of(failed_gate()).find("testcase/failure")
    assert failure is not None
    assert failure.attrib == {"message": "Cycles take longer.", "type": "regression"}
    assert (failure.text or "").startswith("timesink: FAILED (limit 5 %): base vs new")


@pytest.mark.parametrize(
    "name",
    ['f<int&, "x">', "naïve 🚀 快", "a\x00\x1b[31mb\x7f", "\ud800lone", "\ufffe", " a \n b "],
)
def test_names_may_hold_anything(name: str):
    gate = failed_gate(
        subject=name, checks=(gate_check("budget", name, "failed", name),), notes=(name,)
    )
    case = suite_of(gate, host=name).find("testcase")
    assert case is not None
    printable = re.sub(r"[\x00\x1b\ud800\ufffe]", "", name)
    assert case.attrib["name"] == " ".join(printable.split())


@given(st.text())
def test_any_text_makes_a_document(text: str):
    check = gate_check("cycle time", "cycle time", "failed", text, time_ns=1e18)
    suite_of(failed_gate(subject=text, checks=(check,), command=(text,)))


def test_the_command_can_be_pasted():
    suite = suite_of(failed_gate(command=("timesink", "compare", "my runs", "b")))
    command = suite.find("properties/property[@name='command']")
    assert command is not None
    assert command.attrib["value"] == "timesink compare 'my runs' b"
