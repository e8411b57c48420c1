"""Small documents, for the tests of writers."""

from __future__ import annotations

from timesink.output.blocks import (
    AttributedPart,
    Attribution,
    Block,
    CauseCard,
    Causes,
    Code,
    Curve,
    Curves,
    Detail,
    Document,
    Facts,
    FindingCard,
    Findings,
    Health,
    HealthItem,
    Heatmap,
    HeatRow,
    Icicle,
    Measured,
    Part,
    Parts,
    Picture,
    Point,
    PointGroup,
    Roof,
    Scatter,
    Section,
    StackPart,
    Stacks,
    Tile,
    Tiles,
    Tree,
    TreeSide,
    Verdict,
)
from timesink.output.numbers import column, table, words

HOSTILE = "<img src=x>|\x1b[31m`a`"

KERNELS = table(
    "kernels",
    "Kernels",
    [
        column("name", "kernel", "text", ["gemm", HOSTILE, None]),
        column("calls", "calls", "count", [1200, 7, None]),
        column("total_ns", "total", "time_ns", [1_500_000, 2_500, None]),
        column("share", "share", "share", [0.75, 0.25, None]),
        column("grid", "grid", "text", ["64 x 1", "8 x 1", None], main=False),
    ],
    total_rows=40,
    rest="37 more take 12.00 us",
)
PARTS = Parts(
    "The average step", "time_ns", 4e6, (Part("kernel", "kernels", 3e6), Part("x", "other", 1e6))
)
FINDINGS = Findings(
    (
        FindingCard(
            "tiny-kernels",
            "high",
            "Many kernels are tiny",
            "1 200 kernels take less than 5 us.",
            "Use CUDA graphs.",
            "may save 2.00 ms a step if all go",
            ("kernel gemm: calls 1 200",),
        ),
    ),
    "No rule found anything to gain.",
)
CAUSES = Causes(
    (
        CauseCard(
            "host_code",
            "straggler",
            "Host code in rank 3",
            "Rank 3 delays the others.",
            6e6,
            "time_ns",
            0.12,
            "of the run",
            "Look at its Python code.",
            ("It starts 2 ms late.",),
        ),
    ),
    "Nobody does.",
)
VERDICT = Verdict(
    "regression", "Slower", "Cycles are longer.", Measured("base", 1e6), Measured("new", 2e6),
    "time_ns", 1.0, 0.9, 1.1, ("Two cycles were cut.",),
)  # fmt: skip
ATTRIBUTION = Attribution(
    "Where the change is",
    "time_ns",
    1e6,
    (
        AttributedPart("kernel", "kernels", "", 1e6, 2.5e6, 1.5e6, 1.4e6, 1.6e6, sure=True),
        AttributedPart("idle", "idle", "", 1e6, 0.5e6, -0.5e6, None, None, sure=False),
    ),
)
HEALTH = Health(
    (HealthItem("overlap", "warning", 36, "activities overlap", "a and b", "all are kept", "look"),)
)
HEATMAP = Heatmap(
    "waits", "Wait caused", "time_ns", "wait", "rank", "step", ("7", "8"),
    (
        HeatRow("0", (0.0, 4e6)),
        HeatRow("1", (16e6, None), marked=True),
    ),
)  # fmt: skip
TREE = Tree(
    "calls",
    "Calls",
    (0, 1, 0, 1),
    words(["aten::to", "copy", "aten::linear", HOSTILE]),
    words(["same", "same", "changed", "added"]),
    (1, 0, 0, 0),
    TreeSide("base", (Detail("calls", "count", (1, 1, 2, 0)),), (7, 7, 9, None)),
    TreeSide("new", (Detail("calls", "count", (1, 1, 2, 3)),), (8, 8, 9, 10)),
    3,
)
OTHER_BLOCKS: tuple[Block, ...] = (
    Code("triton_poi_fused_add_0: 2.00 ms", ("def triton_(x):", "    <b>pass</b>"), "Cut."),
    Facts((("device", "NVIDIA H200"),)),
    Tiles((Tile("Step", 1e6, "time_ns"), Tile("Occupancy", None, "share"))),
    Stacks("Steps", "time_ns", ("3", "4"), (StackPart("kernel", "kernels", (1e6, 2e6)),)),
    Curves("memory", "Memory", "bytes", (0, 1, 2), (Curve("allocated", (0.0, 512.0, 1024.0)),)),
    Icicle("tree", "Modules", "time_ns", (-1, 0), (0, 1), ("UNet", "Conv2d"), (8e6, 4e6)),
    Picture("", "<svg/>", "A picture"),
    Scatter(
        "roofline", "Roofs", "FLOP per byte", "FLOP/s", "time", "time_ns",
        (Point(HOSTILE, "8x8", 0.25, 1e12, 4e6, "2"),),
        (PointGroup("2", "bound by memory"),),
        (Roof("memory", 4.8e12, slopes=True),),
    ),
)  # fmt: skip


def document(*blocks: Block, title: str = "Section", lead: str = "", **about: str) -> Document:
    """A document of one section."""
    return Document(
        kind="analysis",
        title="run",
        subject=about.get("subject", ""),
        headline=about.get("headline", ""),
        version="1",
        sections=(Section("section", title, blocks, lead),),
    )
