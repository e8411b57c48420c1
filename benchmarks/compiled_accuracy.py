"""How many generated kernels of recordings have operators, modules and lines.

    python benchmarks/compiled_accuracy.py train infer ...

The folders are recordings of compiled_programs.py made with `--with compiled`.  A launch is exact
where one call of the generated code is known to have made it, and not one of several.
"""

from __future__ import annotations

import sys
from pathlib import Path

import timesink
from timesink.analyses.columns import device_columns
from timesink.analyses.compiled import GeneratedKernel, generated_kernels
from timesink.analyses.graph_breaks import graph_breaks
from timesink.model.units import share


def is_exact(kernel: GeneratedKernel, known: set[object]) -> int:
    return sum(use in known for use in kernel.uses)


def report(folder: Path) -> str:
    trace = timesink.open(folder, cache=False)
    kernels = generated_kernels(trace)
    duration = device_columns(trace)["dur_ns"].to_numpy()
    code = trace.metadata.compiled
    known = set() if code is None else {use for entry in code.kernels for use in entry.uses}
    launches = sum(len(kernel.rows) for kernel in kernels)
    time_ns = sum(int(duration[kernel.rows].sum()) for kernel in kernels)
    with_line = [k for k in kernels if k.uses and all(use.places for use in k.uses)]
    with_module = [k for k in kernels if k.uses and all(use.modules for use in k.uses)]
    cells = [
        folder.name,
        str(len(kernels)),
        *(
            f"{sum(map(bool, many))}"
            for many in ([k.operators for k in kernels], with_module, with_line)
        ),
        share(sum(int(duration[k.rows].sum()) for k in with_line), max(time_ns, 1)),
        f"{sum(is_exact(kernel, known) for kernel in kernels)} of {launches}",
        ", ".join(cost.graph_break.place.rpartition("/")[2] for cost in graph_breaks(trace)),
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print("| recording | kernels | operators | module | line | device time | exact | breaks |")
    print("|---|---|---|---|---|---|---|---|")
    for name in sys.argv[1:]:
        print(report(Path(name)))
