"""Pictures of how well kernels use the hardware."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import pytest

import timesink
from measured_kernels import H200, Launch, launch, trace_of_launches
from timesink.answers.kernels.pictures import PICTURES, draw
from timesink.answers.kernels.report import KernelReport
from timesink.answers.kernels.roof_pictures import CLASS_FILL, CLASS_HATCH
from timesink.errors import NotFoundError
from timesink.model.trace import Device, Trace
from timesink.output.drawing import (
    Circle,
    Drawing,
    Label,
    Line,
    Polygon,
    Rect,
    luminance,
    rgb,
    text_width,
)
from timesink.output.pictures import to_svg

FMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
BYTES = "dram__bytes.sum"


def launch_with_use(
    dur_ns: int | None,
    sm: float | None,
    dram: float | None,
    tensor: float | None = 0.0,
    **more: object,
) -> Launch:
    """A launch with its utilisations."""
    return launch(dur_ns, {}, sm_pct=sm, dram_pct=dram, tensor_pct=tensor, **more)


def report(*launches: Launch, source: str = "run.csv", **options: object) -> KernelReport:
    kernel_report = timesink.kernels(trace_of_launches(*launches), **options)  # type: ignore[arg-type]
    return replace(kernel_report, source=source)


def counted_launch(flop: float, moved: float, dur_ns: int, name: str) -> Launch:
    """A launch whose operations were counted; two for each fused multiply-add."""
    metrics = {FMA: flop / 2, BYTES: moved}
    return launch(dur_ns, metrics, name=name, sm_pct=50.0, dram_pct=50.0, tensor_pct=0.0)


def words(drawing: Drawing) -> list[str]:
    return [shape.text for shape in drawing.shapes if isinstance(shape, Label)]


def drawing_text(drawing: Drawing) -> str:
    return "\n".join(words(drawing))


def boxes(drawing: Drawing) -> Iterable[tuple[str, float, float, float, float]]:
    """Where level text lies."""
    for shape in drawing.shapes:
        if isinstance(shape, Label) and not shape.upright:
            # Room is reckoned for wide fonts; most are narrower.
            width = 0.8 * text_width(shape.text, shape.size, bold=shape.bold)
            left = shape.x - {"start": 0, "middle": width / 2, "end": width}[shape.anchor]
            yield shape.text, left, shape.y - 0.7 * shape.size, left + width, shape.y


def check_words(drawing: Drawing) -> None:
    """All text is on the sheet and none on other text."""
    for text, left, top, right, bottom in boxes(drawing):
        inside = left >= 0 and top >= 0 and right <= drawing.width and bottom <= drawing.height
        assert inside, f"{text!r} leaves the sheet"
    for box, other in combinations(boxes(drawing), 2):
        apart = box[1] >= other[3] or other[1] >= box[3] or box[2] >= other[4] or other[2] >= box[4]
        assert apart, f"{box[0]!r} on {other[0]!r}"


CASES = {
    "even": lambda: report(
        launch_with_use(60, 5, 5),
        launch_with_use(20, 5, 90),
        launch_with_use(15, 90, 5),
        launch_with_use(5, 90, 90),
    ),
    "one call": lambda: report(launch_with_use(1234, 60, 12, 55)),
    "nothing used": lambda: report(launch_with_use(10, 0, 0), launch_with_use(30, 0, 0)),
    "above the peak": lambda: report(
        launch_with_use(10, 104, 120, 101), launch_with_use(30, 100.1, 130)
    ),
    "some missing": lambda: report(
        launch_with_use(10, None, 5),
        launch_with_use(30, 50, 5, None),
        launch_with_use(30, 50, None),
    ),
    "no SM": lambda: report(launch_with_use(10, None, 5, 50), launch_with_use(10, None, 90, 0)),
    "low tenth": lambda: report(launch_with_use(10, 5, 5), launch_with_use(30, 50, 60), low=0.1),
    "low four fifths": lambda: report(
        launch_with_use(10, 5, 5), launch_with_use(30, 50, 60), low=0.8
    ),
    "sample": lambda: report(launch_with_use(10, 5, 5), launch_with_use(30, 50, 60), every=7),
    "long": lambda: report(launch_with_use(10, 5, 5), source=f"{'a_long_name_' * 20}.csv"),
    "hostile": lambda: report(launch_with_use(10, 5, 5), source="<b>\x1b<script>"),
    "two devices": lambda: report(launch_with_use(10, 5, 5), launch_with_use(10, 90, 90, device=1)),
    "roofs": lambda: report(
        counted_launch(2e9, 1e6, 100_000, "heavy"),
        counted_launch(1e6, 1e8, 50_000, "light"),
        launch(10_000, {}, name="uncounted", sm_pct=1.0, dram_pct=1.0),
    ),
}


@cache
def case_of(name: str) -> KernelReport:
    return CASES[name]()


class TestAll:
    @pytest.mark.parametrize("picture", [None, "density", "strip", "classes"])
    @pytest.mark.parametrize("case", CASES)
    def test_words_stay_apart_and_on_the_sheet(self, case: str, picture: str | None):
        drawing = draw([case_of(case)], picture)
        check_words(drawing)
        assert drawing.title
        assert drawing.description

    @pytest.mark.parametrize("picture", PICTURES)
    def test_names_of_recordings_are_no_markup(self, picture: str):
        name = "<b>\x1b<script>\u202e"
        escaped_report = report(counted_launch(1e9, 1e6, 1000, name), source=f"{name}.csv")
        svg = to_svg(draw([escaped_report], picture))
        assert ET.fromstring(svg).tag.endswith("svg")  # noqa: S314 - our own text
        assert "<script" not in svg
        assert not set(svg) & {"\u202e", "\x1b"}

    def test_every_call_is_not_a_shape(self):
        few, many = (
            len(
                draw(
                    [report(*(launch_with_use(10, i % 7, 5) for i in range(calls)))], "strip"
                ).shapes
            )
            for calls in (700, 1400)
        )
        assert many <= few


class TestDensity:
    def test_every_class_is_labelled_with_its_share(self):
        labels = words(draw([case_of("even")], "density"))
        for name, share in (
            ("both low", "60.0 %"),
            ("low SM", "20.0 %"),
            ("low DRAM", "15.0 %"),
            ("neither low", "5.0 %"),
        ):
            assert labels[labels.index(name) + 1] == share

    def test_cells_are_shaded_by_time(self):
        drawing = draw([case_of("even")], "density")
        cells = [
            (float(shape.tip.split(" %")[0]), luminance(shape.fill.light))
            for shape in drawing.shapes
            if isinstance(shape, Rect) and shape.fill and "DRAM" in shape.tip
        ]
        by_time = [shade for _, shade in sorted(cells)]
        assert len(by_time) == 4
        assert by_time == sorted(by_time, reverse=True)

    def test_borders_are_dashed_lines_at_the_threshold(self):
        drawing = draw([report(launch_with_use(10, 5, 5), low=0.5)], "density")
        frame = next(s for s in drawing.shapes if isinstance(s, Rect) and s.width == s.height > 300)
        middle = (frame.x + frame.width / 2, frame.y + frame.height / 2)
        dashed = [shape for shape in drawing.shapes if isinstance(shape, Line) and shape.dash]
        assert any(line.x1 == line.x2 == middle[0] for line in dashed)
        assert any(line.y1 == line.y2 == middle[1] for line in dashed)

    def test_it_tells_what_stands_for_the_multiprocessors(self):
        text = drawing_text(draw([case_of("no SM")], "density"))
        assert "no SM counter recorded" in text
        assert "low tensor" in text

    @pytest.mark.parametrize(
        ("case", "note"),
        [
            ("some missing", "57.1 % of the time has no counters."),
            ("above the peak", "100 % of the time is above 100 %: in the last cells."),
            ("sample", "A sample: 1 in 7 launches; times are estimates."),
            ("low tenth", "In the narrow fields: both low 25.0 %, low SM 0.0 %, low DRAM 0.0 %."),
        ],
    )
    def test_notes(self, case: str, note: str):
        assert note in words(draw([case_of(case)], "density"))

    def test_a_little_is_not_nothing(self):
        drawing = draw(
            [report(launch_with_use(10**7, 5, 5), launch_with_use(1, None, 5))], "density"
        )
        assert "Less than 0.1 % of the time has no counters." in words(drawing)


class TestStrip:
    def test_rows_are_the_metrics_that_were_measured(self):
        assert {"tensor pipe", "DRAM", "SM"} <= set(words(draw([case_of("even")], "strip")))
        assert "SM" not in words(draw([case_of("no SM")], "strip"))

    def test_means_stand_beside_their_rows(self):
        means = ["12.5 %", "27.5 %"]  # DRAM: 60 x 5 + 20 x 90 + 15 x 5 + 5 x 90 over 100
        labels = words(
            draw([report(launch_with_use(30, 5, 20), launch_with_use(10, 35, 50))], "strip")
        )
        assert means[0] in labels
        assert means[1] in labels

    def test_areas_rise_to_their_values(self):
        drawing = draw([report(launch_with_use(10, 25, 5), launch_with_use(30, 75, 5))], "strip")
        heights = sorted(
            max(y for _, y in shape.points) - min(y for _, y in shape.points)
            for shape in drawing.shapes
            if isinstance(shape, Polygon)
        )
        assert any(height == pytest.approx(0.75 * 84, abs=0.2) for height in heights)

    def test_stretches_without_counters_are_hatched(self):
        drawing = draw([case_of("some missing")], "strip")
        hatched = [shape for shape in drawing.shapes if isinstance(shape, Rect) and shape.hatch]
        assert len(hatched) == 5  # the lane, its legend and one part of each row
        assert any("(hatched)" in text for text in words(drawing))

    def test_a_timeline_has_occupancy_and_no_classes(self):
        labels = words(draw([timesink.kernels(timesink.sample())]))
        assert "Occupancy along the run" in labels
        assert "class" not in labels

    def test_it_says_that_it_shows_a_sample(self):
        text = drawing_text(draw([case_of("sample")], "strip"))
        assert "along the run" not in text
        assert "of the measured launches, in order" in text
        assert "2 kernel calls seen, about 280 ns in all" in text
        assert "A sample: 1 in 7 launches" in text


class TestClasses:
    def test_one_bar_a_run_with_its_time(self):
        other = replace(case_of("even"), source="other.csv")
        labels = words(draw([case_of("even"), other], "classes"))
        assert [name for name in labels if name.endswith(".csv")] == ["run.csv", "other.csv"]
        assert labels.count("100 ns") == 2
        assert labels.count("60.0 %") == 2

    def test_bars_are_whole_and_parts_as_long_as_their_shares(self):
        parts = [
            shape
            for shape in draw([case_of("even")], "classes").shapes
            if isinstance(shape, Rect) and shape.tip
        ]
        bar_width = sum(part.width for part in parts)
        assert [round(part.width / bar_width, 3) for part in parts] == [0.6, 0.2, 0.15, 0.05]
        assert all(
            after.x == pytest.approx(before.x + before.width) for before, after in pairwise(parts)
        )

    def test_narrow_parts_have_no_label(self):
        labels = words(
            draw([report(launch_with_use(99, 5, 5), launch_with_use(1, 90, 90))], "classes")
        )
        assert "99.0 %" in labels
        assert "1.0 %" not in labels

    def test_classes_are_told_apart_in_grey(self):
        greys = sorted(_grey(CLASS_FILL[name].light) for name in CLASS_FILL if name != "unknown")
        assert all(after - grey > 40 for grey, after in pairwise(greys))
        assert CLASS_HATCH["unknown"] is not None

    def test_devices_have_bars_of_their_own(self):
        labels = words(draw([case_of("two devices")], "classes"))
        assert {"run.csv, GPU 0", "run.csv, GPU 1"} <= set(labels)

    @pytest.mark.parametrize("runs", [1, 5, 12])
    def test_words_stay_apart_however_many_runs(self, runs: int):
        long = "an_experiment_with_a_name_that_does_not_fit"
        reports = [
            report(
                launch_with_use(10 + place, 5, 5),
                launch_with_use(30, None, 5),
                source=f"/{long}_{place}/x.csv",
            )
            for place in range(runs)
        ]
        drawing = draw(reports, "classes")
        check_words(drawing)
        if runs > 1:
            assert f"...{runs - 1}/x.csv" in words(drawing)

    def test_several_runs_are_compared_unless_asked_otherwise(self):
        assert draw([case_of("even"), case_of("roofs")]) == draw(
            [case_of("even"), case_of("roofs")], "classes"
        )


class TestRoofline:
    def test_dots_are_kernels_with_counted_work(self):
        dots = [
            shape
            for shape in draw([case_of("roofs")], "roofline").shapes
            if isinstance(shape, Circle) and shape.tip
        ]
        assert [dot.tip.split(":")[0] for dot in dots] == ["heavy", "light"]
        heavy, light = dots
        assert heavy.x > light.x
        assert heavy.radius > light.radius
        assert "20.0 TFLOP/s, 2e+03 FLOP/byte, 30 % of its roof" in heavy.tip

    def test_bounds_are_called_as_in_tables(self):
        labels = words(draw([case_of("roofs")], "roofline"))
        assert {"bound by compute", "bound by memory"} <= set(labels)

    def test_roofs_are_named_with_their_peaks(self):
        labels = words(draw([case_of("roofs")], "roofline"))
        assert labels[labels.index("fp32") + 1] == "66.9 TFLOP/s"
        assert "DRAM 4.80 TB/s" in labels

    def test_dots_lie_under_their_roofs_as_far_as_they_are_from_them(self):
        drawing = draw([case_of("roofs")], "roofline")
        roof = max(
            (s for s in drawing.shapes if isinstance(s, Line) and s.width > 1 and s.y1 == s.y2),
            key=lambda line: line.x2 - line.x1,
        )
        heavy = next(s for s in drawing.shapes if isinstance(s, Circle) and "heavy" in s.tip)
        assert heavy.y > roof.y1
        assert roof.x1 < heavy.x < roof.x2

    def test_what_is_not_shown_is_told(self):
        labels = words(draw([case_of("roofs")], "roofline"))
        assert "Not shown: 6.2 % of the time, in kernels without counted FLOP." in labels

    def test_without_peaks_there_are_dots_and_a_reason(self):
        unknown = Device(0, "", compute_capability="9.0")
        trace = trace_of_launches(counted_launch(2e9, 1e6, 100_000, "heavy"), devices=[unknown])
        drawing = draw([timesink.kernels(trace)], "roofline")
        assert "No roofline:" in drawing_text(drawing)
        assert any(isinstance(shape, Circle) and shape.tip for shape in drawing.shapes)
        check_words(drawing)

    def test_crowded_kernels_keep_their_numbers_apart(self):
        near = [counted_launch(2e9 + i, 1e6, 100_000 - i, f"kernel_{i}") for i in range(8)]
        drawing = draw([report(*near)], "roofline")
        numbers = [
            box for box in boxes(drawing) if box[0] in "12345" and box[1] > 100 and box[4] < 450
        ]
        assert len(numbers) == 5
        check_words(drawing)

    @pytest.mark.parametrize(
        "launches",
        [
            [counted_launch(1e-3, 1e12, 10**9, "slow")],
            [counted_launch(1e18, 1, 1, "fast"), counted_launch(1, 1e15, 10**12, "slow")],
        ],
    )
    def test_extremes_stay_on_the_sheet(self, launches: list[Launch]):
        drawing = draw([report(*launches)], "roofline")
        check_words(drawing)
        for shape in drawing.shapes:
            if isinstance(shape, Circle):
                assert 0 <= shape.x <= drawing.width
                assert 0 <= shape.y <= drawing.height


class TestRefusals:
    def test_a_timeline_has_nothing_but_occupancy(self):
        with pytest.raises(NotFoundError) as raised:
            draw([timesink.kernels(timesink.sample())], "density")
        assert "timesink ncu" in raised.value.hint

    def test_without_counted_work_there_is_no_roofline(self):
        with pytest.raises(NotFoundError) as raised:
            draw([case_of("even")], "roofline")
        assert "--metrics roofline" in raised.value.hint

    def test_without_times_there_are_no_shares(self):
        with pytest.raises(NotFoundError) as raised:
            draw([report(launch_with_use(None, 50, 50))], "density")
        assert "timesink ncu" in raised.value.hint

    def test_without_kernels_there_is_nothing(self):
        empty = replace(case_of("even"), calls=case_of("even").calls.clear(), devices=())
        with pytest.raises(NotFoundError, match="no kernels"):
            draw([empty])


def test_devices_have_pictures_of_their_own():
    trace: Trace = trace_of_launches(
        launch_with_use(10, 5, 5),
        launch_with_use(10, 90, 90, device=1),
        devices=[H200, replace(H200, id=1)],
    )
    text = drawing_text(draw([timesink.kernels(trace)], "density"))
    assert "GPU 0 (NVIDIA H200), 1 kernel call, 10 ns" in text
    assert "GPU 1 (NVIDIA H200), 1 kernel call, 10 ns" in text


def _grey(colour: str) -> float:
    red, green, blue = rgb(colour)
    return 0.299 * red + 0.587 * green + 0.114 * blue
