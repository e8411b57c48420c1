"""How near a run comes to what its device can do, as a section: figures, waterfall, tables."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from timesink.analyses.kernels.peaks import DevicePeaks
from timesink.analyses.kernels.roofline import named_roofs
from timesink.analyses.work.efficiency import Efficiency, operator_efficiency
from timesink.analyses.work.steps import StepEfficiency
from timesink.answers.analysis.headline import efficiency_sentences, notes_of
from timesink.answers.analysis.sections import absence
from timesink.answers.analysis.tables import Analysed, Empty, SectionResult
from timesink.answers.tables import sentence
from timesink.answers.views import NO_KERNELS, parts_of
from timesink.model import units
from timesink.output.blocks import (
    Block,
    Detail,
    Part,
    Parts,
    Point,
    PointGroup,
    Roof,
    Scatter,
    Section,
    Text,
    Tile,
    Tiles,
)

_TITLE = "Efficiency"
_TERA = 1e12
_PARTS = parts_of("roofs")
"""What sets roofs: the colour and the words of each."""
_BEYOND = parts_of("beyond-roofs")
"""What a step takes beyond the ideal: the colour, the words and the meaning of each part."""


def efficiency_section(run: Analysed) -> SectionResult:
    """What a step computes and moves, how long that takes at the roofs, who is far from them."""
    efficiency = run.efficiency
    if efficiency.modelled.kernels.is_empty():
        return Empty("efficiency", _TITLE, NO_KERNELS)
    if not efficiency.modelled.modelled_share:
        if run.brief:
            # One line, where there is something to gain from recording more.
            return Section(
                "efficiency", _TITLE, (Text(sentence(absence("efficiency", efficiency))),)
            )
        return Empty("efficiency", _TITLE, absence("efficiency", efficiency))
    lines = [*efficiency_sentences(efficiency), *notes_of(efficiency)]
    texts = tuple(Text(f"{line[0].upper()}{line[1:]}.") for line in lines)
    if run.brief:
        return Section("efficiency", _TITLE, (*texts, run.table("efficiency")))
    blocks: list[Block] = list(texts)
    step = efficiency.step
    if step is not None:
        blocks += [_tiles(efficiency, step), _waterfall(step)]
    blocks += _roofline(efficiency)
    blocks += [run.table(view) for view in ("efficiency", "efficiency-families")]
    modules = run.table("efficiency-modules")
    blocks += [modules] if modules.rows else []
    return Section("efficiency", _TITLE, tuple(blocks))


def efficiency_tiles(efficiency: Efficiency) -> Iterator[Tile]:
    """What the overview has of it, where it is known."""
    step = efficiency.step
    if step is None or efficiency.peaks is None:
        return
    ideal = sum(step.ideal_ns.values())
    share = ideal / step.step_ns if step.step_ns else None
    meaning = "step time with every kernel at its roofline"
    yield Tile("Speed of light", ideal, "time_ns", meaning, share, section="efficiency")
    if step.mfu is not None:
        meaning = "matrix operations of the model over what the peak allows in a step"
        yield Tile("MFU", step.mfu, "share", meaning, step.mfu, section="efficiency")


def _tiles(efficiency: Efficiency, step: StepEfficiency) -> Tiles:
    peaks = efficiency.peaks
    main = next(iter(step.matrix_flop_by_precision), "")
    peak = peaks.peak(f"{main}_tensor") or peaks.peak(main) if peaks else None
    of = f" of {units.three_digits(peak / _TERA, 1)} TFLOP/s {main}" if peak else ""
    ideal = sum(step.ideal_ns.values()) if peaks else None
    share = ideal / step.step_ns if ideal is not None and step.step_ns else None
    return Tiles(
        (
            Tile("Step", step.step_ns, "time_ns", "mean of the complete steps"),
            Tile("Speed of light", ideal, "time_ns", "every kernel at its roofline", share),
            Tile("MFU", step.mfu, "share", f"matrix operations of the model{of}", step.mfu),
            Tile("HFU", step.hfu, "share", "MFU with recomputed operations", step.hfu),
            Tile("MBU", step.mbu, "share", "bytes that must move over peak bandwidth", step.mbu),
            Tile(
                "Modelled",
                efficiency.step_modelled_share,
                "share",
                "share of kernel time with known operations and bytes",
                efficiency.step_modelled_share,
            ),
        )
    )


def _waterfall(step: StepEfficiency) -> Parts:
    parts = [
        Part(colour, f"roofline of {words}", step.ideal_ns[name], "time at the roofline")
        for name, (colour, words, _) in _PARTS.items()
        if step.ideal_ns[name]
    ]
    parts += [
        Part(colour, words, getattr(step, name), about)
        for name, (colour, words, about) in _BEYOND.items()
        if getattr(step, name)
    ]
    return Parts("From speed of light to the step time", "time_ns", step.step_ns, tuple(parts))


_MAX_POINTS = 300
_MIN_SHARE_SHOWN = 0.0005
_FIGURES = {"tflops": "TFLOP/s", "tb_per_s": "TB/s", "roof_pct": "roofline"}


def _roofline(efficiency: Efficiency) -> list[Scatter]:
    """Operators by what they compute per byte and how fast, below the roofs of their device."""
    peaks, rows = efficiency.peaks, operator_efficiency(efficiency)
    if peaks is None:
        return []
    by_step = float(rows["step_ns"].sum()) > 0
    time = "step_ns" if by_step else "device_ns"
    placed = rows.filter(pl.all_horizontal(pl.col(time, "flop_per_byte", "tflops") > 0))
    roofed = placed.filter(pl.col("roof_pct").is_not_null()).sort(time, descending=True)
    point_rows = roofed.head(_MAX_POINTS).with_columns(
        pl.col("flop_per_byte", *_FIGURES).round_sig_figs(4), pl.col(time).round()
    )
    if point_rows.is_empty():
        return []
    points = tuple(
        Point(name, shape, x, _TERA * y, size, _PARTS[bound].colour)
        for name, shape, x, y, size, bound in point_rows.select(
            "operator", "shape", "flop_per_byte", "tflops", time, "bound"
        ).iter_rows()
    )
    return [
        Scatter(
            "roofline",
            "Roofline of the operators",
            "FLOP per byte",
            "FLOP/s",
            "time per step" if by_step else "time on the device",
            "time_ns",
            points,
            tuple(
                PointGroup(colour, f"bound by {words}")
                for colour, words, _ in _PARTS.values()
                if any(point.group == colour for point in points)
            ),
            tuple(_roofs(efficiency, peaks)),
            tuple(
                Detail(
                    title, "percent" if name == "roof_pct" else "number", tuple(point_rows[name])
                )
                for name, title in _FIGURES.items()
            ),
            "operator",
            "operators",
            _not_shown(rows[time], point_rows[time], roofed.height - point_rows.height),
        )
    ]


def _roofs(efficiency: Efficiency, peaks: DevicePeaks) -> Iterator[Roof]:
    """The slope of the memory, and peaks of what occurs."""
    if peaks.dram_bytes_per_s:
        label = f"memory {units.brief_rate(peaks.dram_bytes_per_s, 'B')}"
        yield Roof(label, peaks.dram_bytes_per_s, slopes=True)
    sets = efficiency.sets
    precisions = set(sets["peak"].drop_nulls()) - {""}
    vector = sets.filter(pl.col("vector_flop") > 0)["precision"]
    precisions |= {"fp64" if precision == "fp64" else "fp32" for precision in vector}
    for peak, name in named_roofs(peaks, sorted(precisions)).items():
        yield Roof(f"{name} {units.brief_rate(peak, 'FLOP')}", peak)


def _not_shown(times: pl.Series, point_times: pl.Series, smaller: int) -> str:
    total = float(times.sum())
    lost = total - float(point_times.sum())
    if lost < _MIN_SHARE_SHOWN * total:
        return ""
    which = "operators without arithmetic, such as copies, or without a roofline"
    more = f", and in the {smaller} smallest" if smaller else ""
    return f"Not shown: {units.share(lost, total)} of their time, in {which}{more}."
