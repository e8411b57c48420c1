"""How well kernels use the hardware, as a page that needs no network."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import timesink
from measured_kernels import launch, measured
from timesink.model.health import HealthEntry
from timesink.render.kernels.classes import CLASS_FILL
from timesink.render.kernels.groups import Choice
from timesink.render.kernels.page import to_html
from timesink.reports.kernels import KernelReport

NO_END = {"meta", "rect", "line", "circle", "path", "polygon"}


def report(*uses: tuple[str, int, float | None], source: str = "run.csv") -> KernelReport:
    """Launches by name, length and SM use; a tenth of that is DRAM use."""
    launches = (
        launch(length, {}, name=name, sm_pct=sm, tensor_pct=0.0, dram_pct=sm and sm / 10)
        for name, length, sm in uses
    )
    return replace(timesink.kernels(measured(*launches)), source=source)


ONE = report(("gemm", 60, 90.0), ("relu", 40, 5.0))


class Balanced(HTMLParser):
    """Fails where a page closes what it did not open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        if tag not in NO_END:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in NO_END:
            assert self.open.pop() == tag


def check_page(page: str) -> None:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    assert set(re.findall(r"https?://[^\"]*", page)) <= {"http://www.w3.org/2000/svg"}
    assert "<script" not in page


def test_one_run():
    page = to_html([ONE])
    check_page(page)
    assert ONE.headline.split(":")[0] in page
    assert page.count("<svg") == 2
    for shown in ("Where kernel time lies", "Utilisation along the run", "Kernels (2)", "gemm"):
        assert shown in page


def test_a_roofline_is_drawn_where_there_is_one():
    metrics = {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 1e9, "dram__bytes.sum": 1e6}
    page = to_html([timesink.kernels(measured(launch(1000, metrics, sm_pct=50.0, tensor_pct=0.0)))])
    check_page(page)
    assert page.count("<svg") == 3


def test_a_timeline_has_what_it_knows():
    page = to_html([timesink.kernels(timesink.sample())])
    check_page(page)
    assert "Occupancy along the run" in page
    assert "Where kernel time lies" not in page


def test_nothing_to_draw():
    trace = measured(launch(1000, {}))
    page = to_html([timesink.kernels(trace)])
    check_page(page)
    assert "<svg" not in page


def test_several_runs_are_compared_and_then_shown_one_by_one():
    page = to_html([ONE, replace(ONE, source="other.csv")])
    check_page(page)
    assert page.count("Kernel time by what it leaves unused") == 2  # its title, and for readers
    assert page.count("<svg") == 5
    assert "<h2>run.csv</h2>" in page
    assert "<h2>other.csv</h2>" in page


def test_notes_that_all_runs_share_are_told_once():
    runs = [replace(ONE, source=f"{name}.csv", notes=("for all", f"for {name}")) for name in "ab"]
    page = to_html(runs)
    assert page.count(">for all<") == 1
    assert page.count(">for a<") == page.count(">for b<") == 1


def test_devices_have_pictures_of_their_own():
    trace = measured(
        launch(10, {}, sm_pct=5.0, dram_pct=5.0), launch(10, {}, sm_pct=5.0, dram_pct=5.0, device=1)
    )
    assert to_html([timesink.kernels(trace)]).count("<svg") == 4


def test_hostile_names_stay_text():
    page = to_html([report(("</td><script>\x00\u202e", 10, 5.0), source="<script>.csv")])
    check_page(page)
    assert not set(page) & {"\u202e", "\x00"}


def test_rows_are_shown_as_chosen():
    many = report(*((f"kernel_{number:02}", 100 - number, 50.0) for number in range(30)))
    assert "Kernels (20 of 30)" in to_html([many])
    assert "Kernels (3 of 30)" in to_html([many], Choice(top=3))


def test_notes_and_health_say_things_once():
    trace = measured(launch(10, {}), profiler_notes=["Note: clocks vary"])
    entry = HealthEntry("profiler_warning", 1, "Note: clocks vary")
    page = to_html([timesink.kernels(replace(trace, health=(entry,)))])
    assert page.count("clocks vary") == 1


def test_health_of_all_runs_is_told_together():
    code = "nan_value"
    trace = replace(ONE.trace, health=(HealthEntry(code, 2),))
    assert "4 x " in to_html([replace(ONE, trace=trace)] * 2)


@pytest.mark.parametrize("name", ["gpt_infer.csv.gz", "matmul_relu.csv"])
def test_real_recordings(name: str, shared: Path):
    page = to_html([timesink.kernels(shared / "data/h200/ncu" / name, cache=False)])
    check_page(page)
    assert len(page) < 400_000


def test_bars_of_classes_have_the_colours_of_the_pictures():
    page = to_html([ONE])
    bars = re.findall(r'<span class="bar" style="width: ([0-9.]+)%; background: (#\w+)">', page)
    fills = [CLASS_FILL[name].light for name in ("both_low", "low_dram")]
    assert bars == list(zip(("40.00", "60.00"), fills, strict=True))
