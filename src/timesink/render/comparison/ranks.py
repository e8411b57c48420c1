"""What changed over all ranks of a run, for people: sentences and tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import RenderableType

from timesink.analyses.ranks.changes.comparing import RankChanges
from timesink.analyses.ranks.numbers import ranges_of
from timesink.analyses.statistics.discovery import ALPHA
from timesink.model import units
from timesink.model.amounts import change, from_to, signed_ns, times
from timesink.model.units import brief_ns
from timesink.output.markdown import bullets
from timesink.output.names import in_line
from timesink.output.terminal import text
from timesink.render.cells import top_title
from timesink.render.comparison.blocks import wrapped
from timesink.render.diagnosis.words import interval
from timesink.render.shown import Shown, table_blocks, titled_lines
from timesink.reports.comparison.late_ranks import late_together, straggler_sentences
from timesink.reports.comparison.rank_headline import steps_sentence

TITLE = "Ranks"
PART_NAMES = {
    "compute": "kernels",
    "copies": "copies",
    "transfer": "exposed transfer",
    "waiting": "waiting for other ranks",
    "data_loading": "data loading",
    "host": "host code",
    "idle": "no activity recorded",
}
"""Parts of a step in words."""
SOURCE_NAMES = {
    "kernels": "kernels",
    "copies": "copies",
    "loading": "data loading",
    "host": "host",
}
"""Where own time of a rank comes from, in words."""
NO_STRAGGLER = "No rank is a straggler on either side."
NOT_NEW = "No straggler is new, gone or worse."
_MOST = 8


def sentences(found: RankChanges) -> Iterator[str]:
    """Steps of the whole run, and stragglers that came, went or became worse."""
    yield steps_sentence(found)
    late = list(straggler_sentences(found))
    yield from late or [NOT_NEW if found.stragglers else NO_STRAGGLER]


def rank_lines(found: RankChanges, width: int, top: int | None) -> Iterable[RenderableType]:
    """The section for the terminal."""
    yield ""
    yield text(TITLE, "bold")
    for line in sentences(found):
        yield from wrapped(line, width, indent=2)
    for table in tables(found, top):
        yield from titled_lines(table, width)


def rank_md(found: RankChanges) -> list[str]:
    """The section as Markdown."""
    return [
        f"# {TITLE}",
        bullets(map(in_line, sentences(found))),
        *(block for table in tables(found, None) for block in table_blocks(table)),
    ]


def tables(found: RankChanges, top: int | None) -> Iterator[Shown]:
    """What a step is made of, stragglers, ranks and collectives that changed."""
    if found.attribution:
        yield parts_table(found)
    if found.stragglers:
        yield stragglers_table(found)
    if found.changed_ranks.height:
        yield changed_ranks_table(found, top)
    if found.collectives.height:
        yield collectives_table(found, top)


def parts_table(found: RankChanges) -> Shown:
    """The mean step of all ranks and what each part adds to its change."""
    total = found.step_time.new_ns - found.step_time.base_ns
    rows = [
        (
            PART_NAMES[each.part],
            times(each.base_ns, each.new_ns),
            signed_ns(each.delta_ns),
            interval(each.interval_ns),
            "" if each.p_value is None else "yes" if each.p_value < ALPHA else "within noise",
        )
        for each in found.attribution
    ]
    title = f"Mean step of all ranks ({signed_ns(total)})"
    columns = ("part", "time per step", "change", "95 % interval", "changed")
    return Shown(
        title, columns, tuple(rows), (False, True, True, True, False), spare=(0, 0, 0, 2, 1)
    )


def stragglers_table(found: RankChanges) -> Shown:
    """Who holds others up on either side, those of one reason together."""
    rows = []
    for together in late_together(found):
        costs = max(together, key=lambda one: max(one.base_ns, one.new_ns))
        rows.append(
            (
                ranges_of((one.rank for one in together), most=4),
                costs.state,
                costs.cause,
                times(costs.base_ns, costs.new_ns),
                str(len({step for one in together for step in one.steps})),
                costs.evidence[0] if costs.evidence else "",
            )
        )
    columns = ("rank", "state", "cause", "others wait per step", "steps", "evidence")
    numeric = (False, False, False, True, True, False)
    return Shown("Stragglers", columns, tuple(rows), numeric, spare=(0, 0, 0, 0, 1, 2))


def changed_ranks_table(found: RankChanges, top: int | None) -> Shown:
    """Ranks that changed against themselves more than their peers did."""
    changed = found.changed_ranks
    most = changed.height if top is None else min(top, changed.height)
    rows = [
        (
            str(row["rank"]),
            SOURCE_NAMES[row["source"]],
            times(row["base_ns"], row["new_ns"]),
            signed_ns(row["change_ns"]),
            signed_ns(row["beyond_ns"]),
        )
        for row in changed.head(most).iter_rows(named=True)
    ]
    title = top_title("ranks that changed", changed.height, most)
    columns = ("rank", "where", "time per step", "change", "beyond peers")
    return Shown(title, columns, tuple(rows), (True, False, True, True, True))


def collectives_table(found: RankChanges, top: int | None) -> Shown:
    """Collectives by kind and size; those whose transfer changed first."""
    table = found.collectives
    most = min(top or _MOST, table.height)
    rows = [
        (
            _named(row),
            units.size_bytes(row["size_bytes"] or 0),
            _both(row["transfer_base_ns"], row["transfer_new_ns"]),
            _change(row["transfer_base_ns"], row["transfer_new_ns"]),
            _both(row["wait_base_ns"], row["wait_new_ns"]),
            _bus(row["bus_base_bytes_per_s"], row["bus_new_bytes_per_s"]),
            "yes" if row["changed"] else "",
        )
        for row in table.head(most).iter_rows(named=True)
    ]
    title = top_title("kinds of collectives", table.height, most)
    columns = ("collective", "size", "transfer", "change", "wait", "bus", "changed")
    numeric = (False, True, True, True, True, True, False)
    return Shown(title, columns, tuple(rows), numeric, spare=(0, 0, 0, 1, 2, 3, 0))


def _named(row: dict[str, object]) -> str:
    kind = f"{row['group_kind']} " if row["group_kind"] else ""
    return f"{row['collective'] or 'unknown'} of {row['group_size'] or '?'} ({kind.strip() or '-'})"


def _both(base: float | None, new: float | None) -> str:
    if base is None or new is None:
        only = base if new is None else new
        side = "base" if new is None else "new"
        return "-" if only is None else f"{brief_ns(only)} in {side} only"
    return times(base, new)


def _change(base: float | None, new: float | None) -> str:
    return "-" if base is None or new is None else change(base, new)


def _bus(base: float | None, new: float | None) -> str:
    if base is None or new is None:
        return "-"
    return from_to(*(f"{value / 1e9:.3g} GB/s" for value in (base, new)))
