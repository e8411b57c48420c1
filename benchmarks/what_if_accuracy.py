"""What `timesink whatif` predicts beside what was measured, change by change.

    python benchmarks/what_if_accuracy.py FOLDER

FOLDER holds `whatif.csv`, a row per pair of programs: `program`, `change` in words, the folders of
both recordings (`base_folder`, `changed_folder`), what a cycle of either takes without a profiler
(`base_plain_us`, `changed_plain_us`) and `asked`, options of `timesink whatif`.  Rows whose `asked`
is prose take the options of `ASKED`.  A prediction sees the recording of the base alone; factors of
kernels that another program has are part of what is asked.
"""

from __future__ import annotations

import argparse
import csv
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import timesink
from tables import markdown_table
from timesink.analyses.replay.changes import AskedChange, parse_change

ASKED = {
    "bert_fused": "--fuse Optimizer.step",
    "gpt2_fused": "--fuse Optimizer.step",
    "vit_no_item": "--remove sync:aten::item",
    "bert_no_items": "--remove sync:aten::item --remove op:aten::mean",
    "vit_pinned": "--scale copy:*HtoD*=0.106 --remove sync:aten::to",
    "cnn_workers": "--loader-workers inf",
    "gpt2_sdpa": "--scale kernel:elementwise_kernel<CUDAFunctor_add>=0.01 "
    "--scale kernel:vectorized_elementwise_kernel<MulFunctor>=0.48 "
    "--scale kernel:unrolled_elementwise_kernel<direct_copy*=0.56 "
    "--scale kernel:*bfloat16_copy*=0.49 --scale kernel:softmax_warp*=0.34 "
    "--scale kernel:nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT=0.31 "
    "--remove kernel:nvjet_sm90_tst_64x256* --remove kernel:nvjet_sm90_tst_256x64*",
    "encoder_compiled": "--scale kernel:*=0.87",
    "bert_twice": "--batch 2",
    "vit_twice": "--batch 2",
    "encoder_graph": "--graph cycle",
    "cnn_channels_last": "--remove kernel:*nchwToNhwc* --remove kernel:*nhwcToNchw*",
    "bert_rows": "--scale op:aten::softmax=0.03 --scale op:aten::amax=0.03 "
    "--scale op:aten::mean=0.03",
    "gpt2_autocast": "--scale kernel:*gemm*=0.125 --scale kernel:fmha*=0.125",
    "gpt2_no_empty_cache": "--remove call:cudaFree --remove call:cudaMalloc",
    "bert_no_preparing": "--scale self:ProfilerStep=0.34",
    "bert_one_gather": "--remove sync:aten::to --scale host:aten::to=0.68",
}
"""What each change of the corpus is, in the words of `timesink whatif`."""


@dataclass(frozen=True)
class Pair:
    """One change: what it was predicted to save, and what it saved; times in us."""

    program: str
    change: str
    asked: str
    base: float
    """What a cycle takes without the profiler."""
    measured: float
    """What it takes less after the change."""
    predicted: float

    @property
    def error(self) -> float:
        """How far the prediction is off, as a share of the cycle."""
        return (self.predicted - self.measured) / self.base

    def is_right_way(self, noise: float) -> bool:
        """Whether both say faster, or slower; or that nothing changes within the noise."""
        small = max(abs(self.predicted), abs(self.measured)) <= noise * self.base
        return small or (self.predicted > 0) == (self.measured > 0)


def changes_of(asked: str) -> list[AskedChange]:
    """Options of the command line as changes."""
    words = shlex.split(asked)
    found: list[tuple[str, str]] = []
    for word in words:
        if word.startswith("--"):
            found.append((word[2:], "cycle" if word == "--graph" else ""))
        else:
            found[-1] = (found[-1][0], word)
    return [parse_change(*one) for one in found]


def pairs_in(folder: Path) -> Iterator[Pair]:
    """The pairs of a corpus, predicted."""
    with (folder / "whatif.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        asked = row["asked"] if row["asked"].startswith("--") else ASKED[row["program"]]
        places = (folder / row["base_folder"], folder / "whatif" / row["base_folder"])
        told = timesink.whatif(next(filter(Path.exists, places)), changes_of(asked), best=False)
        base, new = float(row["base_plain_us"]), float(row["changed_plain_us"])
        saved = base * told.saving_ns / told.today_ns
        yield Pair(row["program"], row["change"], asked, base, base - new, saved)


def table_of(pairs: list[Pair], noise: float) -> str:
    """Predicted beside measured."""
    rows = [
        [
            one.program,
            one.change,
            f"`{one.asked}`",
            f"{one.base / 1000:.2f}",
            f"{one.measured / 1000:+.2f}",
            f"{one.predicted / 1000:+.2f}",
            f"{100 * one.error:+.1f} %",
            "yes" if one.is_right_way(noise) else "no",
        ]
        for one in pairs
    ]
    header = ["program", "change", "asked", "cycle", "saved", "predicted", "error", "sign"]
    return markdown_table("Times in ms; the error is of the cycle.", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    noise = "share of a cycle below which a change is none"
    parser.add_argument("--noise", type=float, default=0.02, help=noise)
    options = parser.parse_args()
    pairs = list(pairs_in(options.folder))
    errors = np.array([abs(one.error) for one in pairs])
    right = sum(one.is_right_way(options.noise) for one in pairs)
    print(table_of(pairs, options.noise))
    print(
        f"{len(pairs)} changes: median error {100 * np.median(errors):.1f} % of the cycle, worst "
        f"{100 * errors.max():.1f} %; sign right in {right}."
    )


if __name__ == "__main__":
    main()
