"""Comparing two runs beside the plain way to do it, and how the cost grows with rows and roles.

Every figure is a whole process, imports included, from the files to the table on disk.  The plain
way goes through the functions, metrics and devices one by one with pandas and scipy.stats.  Both
read the same behaviour tables: generated ones, or a case folder with `normal_perf_data` and
`abnormal_perf_data` in it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from run import hand_over, machine, markdown_table

PLAIN = """
import sys
from pathlib import Path
import numpy as np
import pandas as pd
from scipy import stats

case, pid = Path(sys.argv[1]), int(sys.argv[2])
KEY = ["function_name", "metric_name", "device"]


def read(side):
    found = sorted((case / f"{side}_perf_data").glob("*_perf_data.csv*"))[0]
    table = pd.read_csv(found)
    return table[(table["pid"] == pid) & table["metric_name"].notna()]


def summary(rows, column, log=False):
    values = rows[column].fillna(0.0)
    values = np.log1p(values) if log else values
    if len(values) == 0:
        return 0.0, 0.0, values
    constant = values.nunique() == 1
    spread = 0.0 if len(values) < 2 or constant else values.std(ddof=1)
    return (values.iloc[0] if constant else values.mean()), spread, values


def z(base, new):
    return (new[0] - base[0]) / base[1] if base[1] > 1e-9 else 0.0


def welch(base, new, n):
    if min(n) < 2:
        return 1.0
    return stats.ttest_ind_from_stats(
        base[0], base[1], n[0], new[0], new[1], n[1], equal_var=False
    ).pvalue


def ranks(base, new):
    if min(len(base[2]), len(new[2])) < 2:
        return 1.0
    return stats.mannwhitneyu(base[2], new[2], alternative="two-sided").pvalue


np.seterr(all="ignore")
sides = [read("normal"), read("abnormal")]
keys = pd.concat(sides)[KEY].drop_duplicates().sort_values(KEY)
table = []
for function, metric, device in keys.itertuples(index=False):
    of_key = [
        side[
            (side["function_name"] == function)
            & (side["metric_name"] == metric)
            & (side["device"] == device)
        ]
        for side in sides
    ]
    n = [rows["cycle"].nunique() for rows in of_key]
    beta = [summary(rows, "beta_pct") for rows in of_key]
    mu = [summary(rows, "mu_pct") for rows in of_key]
    log_mu = [summary(rows, "mu_pct", log=True) for rows in of_key]
    delta = beta[1][0] - beta[0][0]
    score = abs(delta) * (abs(z(*beta)) + abs(z(*log_mu)))
    table.append(
        [function, metric, device, score, beta[0][0], beta[1][0], delta, z(*beta),
         welch(*beta, n), ranks(*beta), mu[0][0], mu[1][0], mu[1][0] - mu[0][0], z(*mu),
         z(*log_mu), welch(*mu, n), ranks(*mu)]
    )
result = pd.DataFrame(table).sort_values(3, ascending=False)
result.to_csv(case / "plain.csv", index=False, float_format="%.6f")
"""
COMPARE = """
import sys
from timesink.cli import main
case, pid = sys.argv[1:]
options = ["--pid", pid, "--format", "csv", "-o", case + "/timesink.csv", "--force"]
sys.exit(main(["compare", case, *options]))
"""
EXPLORE = """
import sys
from timesink.cli import main
case = sys.argv[1]
sys.exit(main(["compare", case, "--explore", "--format", "json", "-o", case + ".json", "--force"]))
"""
PID = 944615
_CYCLE_US = 750_000.0
_METRICS = 10
_FUNCTIONS = 27
_PER_HOST = 8


def table(
    pids: Sequence[int], cycles: int, seed: int, slower: float = 1.0, functions: int = _FUNCTIONS
) -> pl.DataFrame:
    """A behaviour table in the published form: every function with every metric in every cycle."""
    random = np.random.default_rng(seed)
    shape = len(pids), cycles, functions, _METRICS
    pid, cycle, function, metric = (place.reshape(-1) for place in np.indices(shape))
    duration = slower * 1_000.0 * (1 + np.arange(functions)) * random.normal(1, 0.03, shape[:3])
    level = 100.0 * (1 + np.arange(_METRICS)) * random.normal(1, 0.05, (*shape[:2], _METRICS))
    took = duration[pid, cycle, function]
    names = pl.Series([f"kernel_of_the_model_{number}" for number in range(functions)])
    return pl.DataFrame(
        {
            "cycle": cycle + 1,
            "pid": np.array(pids)[pid],
            "hostname": "",
            "beta_pct": 100 * took / _CYCLE_US,
            "function_name": names[function],
            "metric_name": pl.Series([f"counter_{n}" for n in range(_METRICS)])[metric],
            "device": "GPU 7",
            "func_type": "gpu_compute",
            "mu_pct": level[pid, cycle, metric],
            "sigma_pct": 0.0,
            "duration": took,
            "interpolation_status": "*",
            "anchor_name": "Scheduler.run_batch",
            "anchor_dur_us": _CYCLE_US + cycle,
            "cycle_start_ts": 1.7e15 + 2 * _CYCLE_US * cycle,
            "instances_count": 64,
        }
    )  # fmt: skip


def write_case(folder: Path, cycles: int) -> Path:
    """A case folder with a process in both runs, slower in the second."""
    for seed, (side, slower) in enumerate((("normal", 1.0), ("abnormal", 1.3))):
        target = folder / f"{side}_perf_data" / "result_perf_data.csv"
        target.parent.mkdir(parents=True)
        table([PID], cycles, seed, slower).write_csv(target, float_precision=4)
    return folder


def write_roles(folder: Path, roles: int) -> Path:
    """Tables of hosts with eight processes each, every second host slower."""
    folder.mkdir()
    for host, first in enumerate(range(0, roles, _PER_HOST)):
        pids = range(first, min(first + _PER_HOST, roles))
        slower = 1.0 if host % 2 == 0 else 2.0
        perf_data = table(pids, 12, host, slower, functions=8)
        perf_data.write_csv(folder / f"host{host:03d}_perf_data.csv", float_precision=4)
    return folder


def seconds(program: str, *arguments: object, **environment: str) -> float:
    """Wall time of one run in a process of its own."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    around = {**_environment(), **environment}
    start = time.perf_counter()
    finished = subprocess.run(
        command, check=False, env=around, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    taken = time.perf_counter() - start
    if finished.returncode:
        sys.exit(f"benchmark program failed: {finished.stderr.decode()}")
    return taken


def _environment() -> dict[str, str]:
    """Every package has its bytecode, as an installed one has."""
    folder = Path(tempfile.gettempdir()) / "timesink-benchmark-bytecode"
    variables = {
        name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    return {**variables, "PYTHONPYCACHEPREFIX": str(folder)}


def in_turn(rounds: int, *runs: tuple[object, ...]) -> list[float]:
    """Medians of several programs that are run in turn, after each was run once."""
    for program, *arguments in runs:
        seconds(str(program), *arguments)
    taken = [
        [seconds(str(program), *arguments) for program, *arguments in runs] for _ in range(rounds)
    ]
    return [statistics.median(column) for column in zip(*taken, strict=True)]


def pair_row(name: str, case: Path, pid: int, rounds: int) -> list[str]:
    rows = sum(
        pl.scan_csv(path).select(pl.len()).collect().item()
        for path in sorted(case.glob("*normal_perf_data/*_perf_data.csv*"))
    )
    plain, ours = in_turn(rounds, (PLAIN, case, pid), (COMPARE, case, pid))
    return [
        name,
        f"{rows}",
        f"{plain:.2f} s",
        f"{ours:.2f} s",
        f"**{ours / plain:.2f}**",
        f"{1e6 * ours / rows:.1f} us",
    ]


def growth_row(name: str, case: Path, rounds: int) -> list[str]:
    rows = pl.scan_csv(case / "*normal_perf_data/*.csv").select(pl.len()).collect().item()
    (ours,) = in_turn(rounds, (COMPARE, case, PID))
    return [name, f"{rows}", "", f"{ours:.2f} s", "", f"{1e6 * ours / rows:.1f} us"]


def role_rows(folder: Path, counts: Sequence[int], rounds: int) -> list[list[str]]:
    cases = [write_roles(folder / f"roles{count}", count) for count in counts]
    taken = in_turn(rounds, *((EXPLORE, case) for case in cases))
    return [
        [
            f"{count}",
            f"{spent:.2f} s",
            f"**{spent / taken[0]:.1f}**",
            f"{1e3 * spent / count:.1f} ms",
        ]
        for count, spent in zip(counts, taken, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=Path, help="a case folder of published tables")
    parser.add_argument("--pid", type=int, default=PID, help="the process of the case folder")
    parser.add_argument("--cycles", type=int, nargs="+", default=[12, 120, 1200, 12_000])
    parser.add_argument("--roles", type=int, nargs="*", default=[100, 1000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path, help="append the tables to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = _pair_rows(options, folder)
        above = machine(Path()).partition(";")[0] + "."
        header = ["pair", "rows", "plain", "compare", "compare / plain", "per row"]
        hand_over(markdown_table(above, header, rows), options.output)
        if options.roles:
            roles = role_rows(folder, options.roles, options.rounds)
            header = ["roles", "compare --explore", "of the first", "per role"]
            hand_over(markdown_table("Many roles at once.", header, roles), options.output)


def _pair_rows(options: argparse.Namespace, folder: Path) -> list[list[str]]:
    rows = []
    if options.case:
        linked = _copy_tables(options.case, folder / "case")
        rows.append(pair_row(options.case.name, linked, options.pid, options.rounds))
    for number, cycles in enumerate(options.cycles):
        case = write_case(folder / f"cycles{cycles}", cycles)
        label = f"{cycles} cycles"
        # The plain way is measured where people would wait for it.
        small = number == 0
        rows.append(
            pair_row(label, case, PID, options.rounds)
            if small
            else growth_row(label, case, options.rounds)
        )
    return rows


def _copy_tables(case: Path, target: Path) -> Path:
    """The tables of a case where results may be written."""
    for path in case.glob("*normal_perf_data/*_perf_data.csv*"):
        copy = target / path.relative_to(case)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    return target


if __name__ == "__main__":
    main()
