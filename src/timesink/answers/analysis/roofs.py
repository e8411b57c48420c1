"""How near a run comes to what its device can do, as a section: figures, waterfall, tables."""

from __future__ import annotations

from timesink.analyses.work.efficiency import (
    LINK,
    MATRIX,
    MEMORY,
    REACHED,
    VECTOR,
    Efficiency,
    StepEfficiency,
)
from timesink.answers.analysis.efficiency import efficiency_sentences, notes_of
from timesink.answers.analysis.tables import Analysed, Empty, Made
from timesink.answers.views import NO_KERNELS, NO_SHAPES_RECORDED
from timesink.output.blocks import Block, Part, Parts, Section, Text, Tile, Tiles

_TITLE = "How near to the limit"
_TERA = 1e12
_PARTS = {
    MATRIX: ("kernel", "at the roof of matrix units"),
    VECTOR: ("5", "at the roof of vector units"),
    MEMORY: ("memcpy", "at the roof of memory"),
    LINK: ("communication", "at the roof of links"),
}
"""Parts of the ideal time: the colour and the words of each."""
_BEYOND = {
    "below_ns": ("1", "kernels below their roofs", "what kernels take beyond their roofs"),
    "unmodelled_ns": ("other", "kernels not modelled", "kernels whose work is not known"),
    "communication_ns": ("communication", "exposed communication", "and nothing else runs"),
    "copies_ns": ("memset", "copies", "copies and memsets, and no kernel runs"),
    "idle_ns": ("idle", "idle", "nothing runs on the device"),
}
"""What a step takes beyond the ideal: the colour, the words and the meaning of each part."""


def efficiency_section(run: Analysed) -> Made:
    """What a step computes and moves, how long that takes at the roofs, who is far from them."""
    found = run.efficiency
    if found.modelled.kernels.is_empty():
        return Empty("efficiency", _TITLE, NO_KERNELS)
    if not found.modelled.modelled_share:
        return Empty("efficiency", _TITLE, NO_SHAPES_RECORDED)
    lines = [*efficiency_sentences(found), *notes_of(found)]
    said = tuple(Text(f"{line[0].upper()}{line[1:]}.") for line in lines)
    if run.brief:
        return Section("efficiency", _TITLE, (*said, run.table("efficiency")))
    made: list[Block] = list(said)
    step = found.step
    if step is not None:
        made += [_tiles(found, step), _waterfall(step)]
    made += [run.table(view) for view in ("efficiency", "efficiency-families")]
    modules = run.table("efficiency-modules")
    made += [modules] if modules.rows else []
    return Section("efficiency", _TITLE, tuple(made))


def _tiles(found: Efficiency, step: StepEfficiency) -> Tiles:
    peaks = found.peaks
    main = next(iter(step.matrix_flop_by_precision), "")
    peak = peaks.peak(f"{main}_tensor") or peaks.peak(main) if peaks else None
    of = f" of {peak / _TERA:,.1f} TFLOP/s {main}" if peak else ""
    ideal = sum(step.ideal_ns.values()) if peaks else None
    share = ideal / step.step_ns if ideal is not None and step.step_ns else None
    return Tiles(
        (
            Tile("Step", step.step_ns, "time_ns", "mean of the complete steps"),
            Tile("Speed of light", ideal, "time_ns", "all kernels at their roofs", share),
            Tile("MFU", step.mfu, "share", f"matrix operations of the model{of}", step.mfu),
            Tile("HFU", step.hfu, "share", "the same with what is recomputed", step.hfu),
            Tile("MBU", step.mbu, "share", "compulsory bytes at the memory's bandwidth", step.mbu),
            Tile(
                "Modelled",
                found.step_modelled_share,
                "share",
                "part of the kernel time whose work is known",
                found.step_modelled_share,
            ),
        )
    )


def _waterfall(step: StepEfficiency) -> Parts:
    parts = [
        Part(colour, words, step.ideal_ns[name], "time at the roof")
        for name, (colour, words) in _PARTS.items()
        if step.ideal_ns[name]
    ]
    parts += [
        Part(colour, words, getattr(step, name), about)
        for name, (colour, words, about) in _BEYOND.items()
        if getattr(step, name)
    ]
    return Parts("From the ideal step to the real one", "time_ns", step.step_ns, tuple(parts))


REACH_NOTE = (
    f"Good kernels reach about {REACHED[MATRIX]:.0%} of the published peak of matrix units and "
    f"{REACHED[MEMORY]:.0%} of that of memory; headroom to there is told beside that to the roof."
)
