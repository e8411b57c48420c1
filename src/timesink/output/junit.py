"""Whether a comparison passes, as the XML that CI systems read test results from.

The elements and attributes are those that both the schema of Ant's JUnit task and that of Jenkins
know; GitLab, GitHub actions, Azure and Bamboo read a part of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from xml.etree import ElementTree as ET

from timesink.model.findings import GateCheck
from timesink.patterns import regex

_FORBIDDEN = regex(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, not even written as a number."""
_SUITE = "timesink compare"
_TYPES = {"cycle time": "regression"}
_UNJUDGED = "not decided"
_NS_PER_S = 1e9


def junit_xml(
    subject: str,
    checks: Sequence[GateCheck],
    why: str,
    when: datetime,
    host: str = "localhost",
    *,
    notes: Iterable[str] = (),
    **gate_facts: str,
) -> str:
    """One suite with a test case per check; times are those of the new run, in seconds.

    `why` says why it does or does not pass; what else is `gate_facts` of the gate are properties.
    """
    sorts = [_sort(check) for check in checks]
    root = ET.Element("testsuites")
    suite = ET.SubElement(
        root,
        "testsuite",
        name=_line(f"{_SUITE}: {subject}"),
        package="timesink",
        id="0",
        timestamp=when.replace(tzinfo=None).isoformat(timespec="seconds"),
        hostname=_line(host) or "localhost",
        tests=str(len(sorts)),
        failures=str(sorts.count("failure")),
        errors=str(sorts.count("error")),
        skipped=str(sorts.count("skipped")),
        time=_seconds(sum(map(_time_ns, checks))),
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in gate_facts.items():
        if value:
            ET.SubElement(properties, "property", name=name, value=_line(value))
    for check in checks:
        _add_case(suite, check, why)
    ET.SubElement(suite, "system-out").text = _text("\n".join([why, *notes]))
    ET.SubElement(suite, "system-err").text = ""
    ET.indent(root)
    # Plain ASCII is UTF-8 too, whatever encoding standard output has.
    body = ET.tostring(root, encoding="us-ascii", xml_declaration=False).decode()
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}'


def _add_case(suite: ET.Element, check: GateCheck, why: str) -> None:
    case = ET.SubElement(
        suite,
        "testcase",
        classname=f"timesink.{check.kind.replace(' ', '_')}",
        name=_line(check.name),
        time=_seconds(_time_ns(check)),
    )
    sort = _sort(check)
    if not sort:
        return
    outcome = ET.SubElement(case, sort, message=_line(check.sentence))
    if sort == "skipped":
        return
    outcome.set("type", _TYPES.get(check.kind, check.kind) if sort == "failure" else _UNJUDGED)
    is_told = check.kind == "cycle time" and sort == "failure"
    outcome.text = _text(why if is_told else check.sentence)


def _sort(check: GateCheck) -> str:
    """The element that says what became of a check; empty where it passed."""
    if check.outcome == "passed":
        return "skipped" if check.is_empty else ""
    if not check.counts:
        return "skipped"
    return "failure" if check.outcome == "failed" else "error"


def _time_ns(check: GateCheck) -> int:
    """Whole, so that times of cases add up to that of their suite."""
    return round(check.time_ns or 0.0)


def _seconds(time_ns: int) -> str:
    """A decimal without an exponent, which schemas refuse."""
    return f"{time_ns / _NS_PER_S:.9f}"


def _line(text: str) -> str:
    return " ".join(_text(text).split())


def _text(text: str) -> str:
    return _FORBIDDEN.sub("", text)
