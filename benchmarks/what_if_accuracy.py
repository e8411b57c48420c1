"""What `timesink whatif` predicts beside what was measured, change by change.

    python benchmarks/what_if_accuracy.py FOLDER

FOLDER holds `whatif.csv`, a row per pair of programs: `program`, `change` in words, the folders of
both recordings (`base_folder`, `changed_folder`), what a cycle of either takes without a profiler
(`base_plain_us`, `changed_plain_us`) and `asked`, options of `timesink whatif`.  Rows whose `asked`
is prose take the options of `WHATIF_OPTIONS`.  A prediction sees the
recording of the base alone, and where
other kernels or copies are the change, what these take in the changed program as a factor: of all
together, `{kernels}` and `{copies}`.

Measured are cycles without a profiler, of both programs at the one speed of the host that the base
was recorded at, where plain.json has enough of them; where a host runs ahead of its device, blocks
of cycles that end with a wait for it.  A change is within the noise where it is below `--noise`, or
where cycles and blocks contradict each other: then its sign is not judged.
"""

from __future__ import annotations

import argparse
import csv
import json
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

import timesink
from recording_cost import FEWEST, SPEED_TOLERANCE, busy_us
from tables import markdown_table
from timesink.analyses.replay.changes import AskedChange, parse_change
from timesink.analyses.steps import find_steps
from timesink.model.trace import Trace

KERNELS = "--scale kernel:*={kernels}"
WHATIF_OPTIONS = {
    "bert_fused": "--fuse Optimizer.step",
    "gpt2_fused": "--fuse Optimizer.step",
    "wav2vec2_fused": "--fuse Optimizer.step",
    "vit_no_item": "--remove sync:aten::item",
    "vit_no_item_prepared": "--remove sync:aten::item",
    "neox_no_item": "--remove sync:aten::item",
    "bert_no_items": "--remove sync:aten::item --remove op:aten::mean",
    "bert_no_row_items": "--remove sync:aten::item --remove op:aten::mean",
    "vit_pinned": "--scale copy:*HtoD*={copies} --remove sync:aten::to",
    "mobilenet_pinned": "--scale copy:*HtoD*={copies} --remove sync:aten::to",
    "cnn_workers": "--loader-workers inf",
    "autoencoder_workers": "--loader-workers inf",
    "gpt2_sdpa": KERNELS,
    "bart_sdpa": KERNELS,
    "encoder_compiled": KERNELS,
    "encoder_large_compiled": KERNELS,
    "diffusion_compiled": KERNELS,
    "bert_twice": "--batch 2",
    "vit_twice": "--batch 2",
    "neox_twice": "--batch 2",
    "encoder_graph": "--graph cycle",
    "mixer_graph": "--graph cycle",
    "cnn_channels_last": KERNELS,
    "mobilenet_channels_last": KERNELS,
    "bert_rows": "--scale op:aten::softmax=0.03 --scale op:aten::amax=0.03 "
    "--scale op:aten::mean=0.03",
    "lstm_library": f"--graph cycle {KERNELS}",
    "gpt2_autocast": KERNELS,
    "gpt2_no_empty_cache": "--remove call:cudaFree --remove call:cudaMalloc",
    "bert_no_preparing": "--scale self:ProfilerStep=0.34",
    "bert_one_gather": "--remove sync:aten::to --scale host:aten::to=0.68",
    "encoder_one_gather": "--remove op:aten::to",
}
"""What each change of the corpus is, in the words of `timesink whatif`."""


@dataclass(frozen=True)
class Pair:
    """One change: what it was predicted to save, and what it saved; times in us."""

    program: str
    change: str
    options: str
    base: float
    """What a cycle takes without the profiler."""
    measured: float
    """What it takes less after the change."""
    predicted: float

    @property
    def error(self) -> float:
        """How far the prediction is off, as a share of the cycle."""
        return (self.predicted - self.measured) / self.base

    noisy: bool
    """Whether what was measured may be chance."""

    @property
    def sign(self) -> str:
        """Whether both say faster, or slower."""
        if self.noisy:
            return "(noise)"
        return "yes" if (self.predicted > 0) == (self.measured > 0) else "no"


def changes_of(text: str) -> list[AskedChange]:
    """Options of the command line as changes."""
    words = shlex.split(text)
    changes: list[tuple[str, str]] = []
    for word in words:
        if word.startswith("--"):
            changes.append((word[2:], "cycle" if word == "--graph" else ""))
        else:
            changes[-1] = (changes[-1][0], word)
    return [parse_change(*change) for change in changes]


def factors(base: Trace, changed: Trace) -> dict[str, str]:
    """What kernels and copies to the device take after a change, as shares."""

    def per_step(trace: Trace, chosen: pl.Expr) -> float:
        return trace.device.filter(chosen)["dur_ns"].sum() / max(find_steps(trace).height, 1)

    ratios = {}
    name = pl.col("name").cast(pl.String)
    sorts = {"kernels": pl.col("kind") == "kernel", "copies": name.str.contains("HtoD")}
    for sort, chosen in sorts.items():
        new, old = (per_step(trace, chosen) for trace in (changed, base))
        ratios[sort] = f"{new / old if old else 1.0:.3f}"
    return ratios


def cycles_us(place: Path, wanted_probe: float, busy: float) -> float | None:
    """A unprofiled step at a speed of the host; None where too few were."""
    timings = json.loads((place / "plain.json").read_text())
    cycles, probes = (np.array(timings[f"plain_{key}_us"]) for key in ("cycles", "probes"))
    if np.median(cycles) < busy:
        return float(min(timings["blocks_us"]))
    many = min(len(cycles), len(probes))
    is_same_speed = np.abs(np.log(probes[-many:] / wanted_probe)) < SPEED_TOLERANCE
    return (
        float(np.median(cycles[-many:][is_same_speed])) if is_same_speed.sum() >= FEWEST else None
    )


def pairs_in(folder: Path, noise: float) -> Iterator[Pair]:
    """The pairs of a corpus, predicted."""
    with (folder / "whatif.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        places = [folder / row[f"{side}_folder"] for side in ("base", "changed")]
        traces = [timesink.open(place) for place in places]
        whatif_options = (
            row["asked"] if row["asked"].startswith("--") else WHATIF_OPTIONS[row["program"]]
        )
        whatif_options = whatif_options.format(**factors(*traces))
        answer = timesink.whatif(traces[0], changes_of(whatif_options), best=False)
        probe = float(
            np.median(json.loads((places[0] / "plain.json").read_text())["profiled_probes_us"])
        )
        at_speed = [
            cycles_us(place, probe, busy_us(trace) / max(find_steps(trace).height, 1))
            for place, trace in zip(places, traces, strict=True)
        ]
        base, new = (float(row[f"{side}_plain_us"]) for side in ("base", "changed"))
        if None not in at_speed:
            base, new = at_speed
        by_blocks = float(row["base_block_us"]) - float(row["changed_block_us"])
        small = abs(base - new) <= noise * base or (by_blocks > 0) != (base > new)
        saved = base * answer.saving_ns / answer.today_ns
        yield Pair(row["program"], row["change"], whatif_options, base, base - new, saved, small)


def table_of(pairs: list[Pair]) -> str:
    """Predicted beside measured."""
    rows = [
        [
            pair.program,
            pair.change,
            f"`{pair.options}`",
            f"{pair.base / 1000:.2f}",
            f"{pair.measured / 1000:+.2f}",
            f"{pair.predicted / 1000:+.2f}",
            f"{100 * pair.error:+.1f} %",
            pair.sign,
        ]
        for pair in pairs
    ]
    header = ["program", "change", "asked", "cycle", "saved", "predicted", "error", "sign"]
    return markdown_table("Times in ms; the error is of the cycle.", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    noise = "share of a cycle below which a change is none"
    parser.add_argument("--noise", type=float, default=0.05, help=noise)
    options = parser.parse_args()
    pairs = [pair for folder in options.folders for pair in pairs_in(folder, options.noise)]
    errors = np.array([abs(pair.error) for pair in pairs])
    signs = [pair.sign for pair in pairs]
    print(table_of(pairs))
    print(
        f"{len(pairs)} changes: median error {100 * np.median(errors):.1f} % of the cycle, worst "
        f"{100 * errors.max():.1f} %; sign right in {signs.count('yes')} of "
        f"{len(signs) - signs.count('(noise)')} that are beyond the noise."
    )


if __name__ == "__main__":
    main()
