"""Small cases of what the helpers of output give."""

from __future__ import annotations

from datetime import datetime, timezone
from xml.etree import ElementTree as ET

from gated import gate_check
from timesink.output import blocks
from timesink.output.blocks import Document
from timesink.output.junit import junit_xml
from timesink.output.markdown import harmless, to_comment
from timesink.output.names import short_names
from timesink.output.numbers import change_of
from timesink.output.terminal import wrap_line


def test_junit_xml() -> None:
    checks = (gate_check("cycle time", "cycle time", "passed", "As before."),)
    xml = junit_xml("a vs b", checks, "", datetime(2026, 1, 31, tzinfo=timezone.utc))
    suite = ET.fromstring(xml)[0]  # noqa: S314 - our own
    assert suite.get("tests") == "1"


def test_short_names() -> None:
    assert short_names("marked by `" + "x" * 3000 + "` in base") == (
        "marked by `" + "x" * 39 + "…" + "x" * 40 + "` in base"
    )
    assert (len(short_names("y" * 130)), len(short_names("/runs/" + "y" * 130))) == (80, 136)


def test_change_of() -> None:
    assert change_of(5_310_000, "time_ns") == "+5.31 ms"


def test_wrapped() -> None:
    assert [line.plain for line in wrap_line("they take 1.28 → 1.22 s", 16, indent=2)] == [
        "  they take",
        "  1.28 → 1.22 s",
    ]


def test_to_comment() -> None:
    sections = [blocks.Section(name, name, (blocks.Text(name),)) for name in ("why", "notes")]
    short = to_comment(Document("info", "t", "", "As @before.", "1", tuple(sections)), 6)
    assert short.startswith("## t\n\n**As @<!-- -->before.**\n\n**why**\n")


def test_harmless() -> None:
    assert (
        harmless("@main is as `@before`, {lambda#1}")
        == "@<!-- -->main is as `@before`, {lambda#<!-- -->1}"
    )
    text = "save one with  timesink baseline save"
    assert harmless(text) == "save one with timesink baseline save"
    text = 'operators "*attn*", aten::__and__, my_op'
    assert harmless(text) == r'operators "\*attn\*", aten::\_\_and\_\_, my_op'
