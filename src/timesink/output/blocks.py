"""The blocks of a document, which every writer serves; the types of the pages come from here.

A block says what is to be seen, never how.  Numbers stay numbers, with a kind that says how to read
them, so that tables can be sorted and the wording of numbers is one.
"""

from __future__ import annotations

import sys
from typing import Literal, TypeAlias

import msgspec

from timesink.version import __version__

SCHEMA = "timesink/document/1"

Kind: TypeAlias = Literal[
    "text",
    "time_ns",
    "moment_ns",
    "bytes",
    "bytes_per_s",
    "count",
    "number",
    "share",
    "percent",
    "p_value",
]
Tone: TypeAlias = Literal["plain", "good", "notice", "warning", "bad"]
Cut: TypeAlias = Literal["end", "start", "nothing"]
"""Of dotted paths the start goes, which many have in common; some words are told whole."""
Medium: TypeAlias = Literal["", "page", "text"]
Clock: TypeAlias = Literal["", "own", "recorded"]
"""Times of the program by itself, or as they were recorded; nothing where that is one."""
CellLink: TypeAlias = Literal[
    "", "operator", "kernel", "module", "moment", "worker", "incident", "report"
]


class Link(msgspec.Struct, frozen=True):
    """To a section of the document (or page of the app), a row in it, a place in the trace."""

    label: str
    section: str
    """Id of a section of the document, or of a page of the app."""
    search: str = ""
    """Row to look for in the tables of that section; may be empty."""
    from_ns: int | None = None
    """Place in the trace, nanoseconds since its start; null where there is none."""
    to_ns: int | None = None


class Text(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    text: str
    tone: Tone = "plain"


class Facts(msgspec.Struct, frozen=True, tag_field="type", tag="facts"):
    rows: tuple[tuple[str, str], ...]


class Tile(msgspec.Struct, frozen=True):
    label: str
    value: float | None
    kind: Kind
    help: str = ""
    """A sentence for hover and screen readers."""
    share: float | None = None
    """0 to 1 where the figure is a part of a whole: drawn as a bar."""
    tone: Tone = "plain"
    section: str = ""
    """Section of the document, or page of the app, that tells more."""


class Tiles(msgspec.Struct, frozen=True, tag_field="type", tag="tiles"):
    """Key figures."""

    tiles: tuple[Tile, ...]


class Part(msgspec.Struct, frozen=True):
    id: str
    """Decides the colour, e.g. "kernel", "communication"; the same everywhere."""
    name: str
    value: float
    help: str = ""


class Parts(msgspec.Struct, frozen=True, tag_field="type", tag="parts"):
    """A whole and its parts, as one bar with a legend."""

    title: str
    kind: Kind
    total: float
    parts: tuple[Part, ...]


class StackPart(msgspec.Struct, frozen=True):
    id: str
    name: str
    values: tuple[float, ...]


class Stacks(msgspec.Struct, frozen=True, tag_field="type", tag="stacks"):
    """One bar of parts per step, worker or device."""

    title: str
    kind: Kind
    labels: tuple[str, ...]
    parts: tuple[StackPart, ...]


class FindingCard(msgspec.Struct, frozen=True):
    rule: str
    severity: str
    title: str
    sentence: str
    advice: str
    gain: str = ""
    """Estimated saving, as a clause; may be empty."""
    evidence: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()


class Findings(msgspec.Struct, frozen=True, tag_field="type", tag="findings"):
    items: tuple[FindingCard, ...]
    empty: str
    """What to say when there is none."""


class Measured(msgspec.Struct, frozen=True):
    label: str
    value: float | None


class Verdict(msgspec.Struct, frozen=True, tag_field="type", tag="verdict"):
    verdict: str
    word: str
    """The verdict for people, e.g. "slower", "no real difference"."""
    sentence: str
    base: Measured
    new: Measured
    kind: Kind
    change: float | None
    """Change and its interval, as ratios (0.23 is 23 % more); null where there is none."""
    low: float | None
    high: float | None
    notes: tuple[str, ...] = ()
    """Confidence, number of steps, level: a clause each."""


class AttributedPart(msgspec.Struct, frozen=True):
    id: str
    name: str
    help: str
    base: float
    new: float
    change: float
    low: float | None
    high: float | None
    sure: bool


class Attribution(msgspec.Struct, frozen=True, tag_field="type", tag="attribution"):
    """Where a change comes from: rows add up to the change."""

    title: str
    kind: Kind
    change: float
    rows: tuple[AttributedPart, ...]


class CauseCard(msgspec.Struct, frozen=True):
    cause: str
    """The code, e.g. "gpu_clock"."""
    role: str
    """"cause", "anomaly" or "slow cycle": what the card stands for."""
    title: str
    sentence: str
    explained: float | None
    """Part of the change it explains; null where it explains none."""
    kind: Kind
    share: float | None
    """0 to 1: part of the change, or severity of an anomaly; null where there is none."""
    share_word: str
    """What `share` is a share of, e.g. "of the change", "severity"."""
    advice: str
    evidence: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    interval: str = ""
    """Between which bounds `explained` is; text and Markdown say it."""


class Causes(msgspec.Struct, frozen=True, tag_field="type", tag="causes"):
    items: tuple[CauseCard, ...]
    empty: str


class Numbers(msgspec.Struct, frozen=True):
    values: tuple[float | None, ...]


class Words(msgspec.Struct, frozen=True):
    """Text that repeats: codes into its distinct values, -1 for none."""

    codes: tuple[int, ...]
    texts: tuple[str, ...]


class Column(msgspec.Struct, frozen=True):
    key: str
    title: str
    kind: Kind
    data: Numbers | Words
    help: str = ""
    """What the column means."""
    main: bool = True
    """Whether it is seen at once on a page; text and Markdown have it, or what may be spared."""
    bar: bool = False
    """Whether numbers get a bar behind them."""
    link: CellLink = ""
    """What a click on a cell leads to in the app; "" for nothing."""
    spare: int = 0
    """Text that is too wide loses the columns with the highest number first; those with 0 stay."""
    cut: Cut = "end"
    """What goes of words that are too long for a line of text."""
    right: bool = False
    """Words that stand to the right, as numbers do: numbers with units of their own."""
    signed: bool = False
    """Changes: a plus is told as well."""
    medium: Medium = ""
    """Where it belongs: what pages have in two columns may be one in text."""


class Sort(msgspec.Struct, frozen=True):
    key: str
    descending: bool = True


class Table(msgspec.Struct, frozen=True, tag_field="type", tag="table"):
    id: str
    """Unique in the document."""
    title: str
    columns: tuple[Column, ...]
    rows: int
    """Rows in `columns`; the first ones of `total_rows`."""
    total_rows: int
    note: str = ""
    """What is to be known of it, such as why it is empty."""
    sort: Sort | None = None
    """Column it is sorted by and whether the largest come first."""
    rest: str = ""
    """What the rows that are not shown come to; said in text and Markdown."""
    whole: bool = False
    """Whether pages show long texts whole at first."""


class Curve(msgspec.Struct, frozen=True):
    name: str
    values: tuple[float | None, ...]
    shape: Literal["line", "step", "area", "dots", "band"] = "line"
    """A band is filled down to the curve before it."""


class Mark(msgspec.Struct, frozen=True):
    x: float
    label: str


class Curves(msgspec.Struct, frozen=True, tag_field="type", tag="curves"):
    """Values over time; x is nanoseconds since the start of the recording."""

    id: str
    title: str
    kind: Kind
    """Of the values; x is nanoseconds since the start of the recording, unless it has labels."""
    x: tuple[float, ...]
    series: tuple[Curve, ...]
    marks: tuple[Mark, ...] = ()
    labels: tuple[str, ...] = ()
    """What each x is called, where it is no moment."""
    from_zero: bool = True
    """Whether zero is in sight; of levels, differences matter."""
    of_day: bool = False
    """Whether x counts from midnight: moments are then told as times of day."""


class Picture(msgspec.Struct, frozen=True, tag_field="type", tag="picture"):
    """A drawing of ours; names of a trace stand in it as escaped text only."""

    title: str
    svg: str
    caption: str = ""


class Code(msgspec.Struct, frozen=True, tag_field="type", tag="code"):
    """Code of a program or of a compiler, folded up at first."""

    title: str
    lines: tuple[str, ...]
    note: str = ""
    """What to know of it, such as what is left out."""


class Detail(msgspec.Struct, frozen=True):
    title: str
    kind: Kind
    values: tuple[float | None, ...]


class Icicle(msgspec.Struct, frozen=True, tag_field="type", tag="icicle"):
    """A tree, nodes in pre-order; `parent` is -1 for roots, `codes` point into `texts`."""

    id: str
    title: str
    kind: Kind
    parent: tuple[int, ...]
    """Index of the parent, -1 for roots."""
    codes: tuple[int, ...]
    texts: tuple[str, ...]
    value: tuple[float, ...]
    details: tuple[Detail, ...] = ()
    """Further figures of each node for hover and the table beside, e.g. calls."""


class TreeSide(msgspec.Struct, frozen=True):
    """What one side has at each node."""

    label: str
    details: tuple[Detail, ...]
    """Figures of each node: calls, device time, ..."""
    moments_ns: tuple[int | None, ...] = ()
    """Where in its trace each node comes first; None where it does not."""


class Tree(msgspec.Struct, frozen=True, tag_field="type", tag="tree"):
    """Two sides as one tree, nodes in pre-order, with what became of each."""

    id: str
    title: str
    depth: tuple[int, ...]
    names: Words
    states: Words
    """"added", "removed", "changed", "varies" or "same"."""
    folded: tuple[int, ...]
    """Nodes below it that are not seen at first, whether they are here or not."""
    base: TreeSide
    new: TreeSide
    total: int
    """Nodes to be seen at first, of which the last may be missing."""

    @property
    def seen(self) -> list[int]:
        """Nodes that are not folded into one above."""
        rows: list[int] = []
        hidden = sys.maxsize
        for row, (deep, folded) in enumerate(zip(self.depth, self.folded, strict=True)):
            if deep <= hidden:
                rows.append(row)
                hidden = deep if folded else sys.maxsize
        return rows


class HeatRow(msgspec.Struct, frozen=True):
    name: str
    values: tuple[float | None, ...]
    """One per column; None where there is none."""
    about: str = ""
    """What to know of the row, e.g. why it is marked."""
    worker: str = ""
    """The recording it is of; empty where it stands for several."""
    marked: bool = False


class Heatmap(msgspec.Struct, frozen=True, tag_field="type", tag="heatmap"):
    """Rows x columns of one number each, told by colour; nothing is below zero."""

    id: str
    title: str
    kind: Kind
    value_title: str
    """What the numbers, rows and columns are, e.g. "wait caused", "rank", "step"."""
    row_title: str
    column_title: str
    columns: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    mark_title: str = ""
    """What marked rows have in common."""
    note: str = ""
    """What rows and columns stand for where they are not one thing each."""


class Point(msgspec.Struct, frozen=True):
    name: str
    about: str
    """What tells it from others of that name."""
    x: float
    y: float
    size: float
    group: str


class PointGroup(msgspec.Struct, frozen=True):
    id: str
    """Decides the colour."""
    name: str


class Roof(msgspec.Struct, frozen=True):
    name: str
    value: float
    """The highest y; where it slopes, by each x."""
    slopes: bool = False


class Scatter(msgspec.Struct, frozen=True, tag_field="type", tag="scatter"):
    """Points on two logarithmic axes, below the roofs of what can be; areas are sizes."""

    id: str
    title: str
    x_title: str
    y_title: str
    size_title: str
    kind: Kind
    """Of the sizes."""
    points: tuple[Point, ...]
    """The largest first."""
    groups: tuple[PointGroup, ...]
    """By `id`, which decides the colour."""
    roofs: tuple[Roof, ...]
    details: tuple[Detail, ...] = ()
    """Further figures of each point."""
    link: CellLink = ""
    """What a click on a point leads to in the app."""
    section: str = ""
    """Section of a report whose tables have it."""
    note: str = ""
    """What is not in the picture."""


class HealthItem(msgspec.Struct, frozen=True):
    code: str
    severity: str
    count: int
    title: str
    told: str
    consequence: str
    advice: str
    is_example: bool = False
    """Whether `told` is one of the cases, which text says below."""


class Health(msgspec.Struct, frozen=True, tag_field="type", tag="health"):
    items: tuple[HealthItem, ...]


Block: TypeAlias = (
    Text
    | Facts
    | Tiles
    | Parts
    | Stacks
    | Findings
    | Verdict
    | Attribution
    | Causes
    | Table
    | Curves
    | Picture
    | Code
    | Icicle
    | Tree
    | Heatmap
    | Scatter
    | Health
)


class Section(msgspec.Struct, frozen=True):
    """Blocks under a heading; several texts in a row are a list."""

    id: str
    """Unique in the document; anchors and pages of the app name it."""
    title: str
    blocks: tuple[Block, ...]
    lead: str = ""
    """A sentence below the title."""
    medium: Medium = ""
    """Where it belongs: on pages alone, in text and Markdown alone, or everywhere."""
    clock: Clock = ""
    """Of two sections with one id, one for each clock, a reader sees one; text that of the
    document."""


class Document(msgspec.Struct, frozen=True):
    kind: Literal[
        "analysis",
        "kernels",
        "comparison",
        "diagnosis",
        "info",
        "cycles",
        "behaviour",
        "table",
        "whatif",
        "history",
        "watch",
    ]
    title: str
    """For the title of the window."""
    subject: str
    """What was read: file, worker, device."""
    headline: str
    """The answer in a sentence."""
    version: str = __version__
    sections: tuple[Section, ...] = ()
    tone: Tone = "plain"
    schema: str = SCHEMA
    notes: tuple[str, ...] = ()
    """What to know before reading on; pages say it where it matters."""
    clock: Clock = ""
    """What all of its times are on, but for sections that say otherwise."""

    def in_text(self) -> list[Section]:
        """Sections that text and Markdown show."""
        clocks = ("", self.clock)
        return [
            section
            for section in self.sections
            if section.medium != "page" and section.clock in clocks
        ]
