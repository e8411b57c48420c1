"""What it costs to note a capture, and whether the graph is replayed as fast as another.

    python graph_captures_cost.py [ROUNDS]

In one process, captures of the same work with and without the agent, in turn, and replays of both
in turn.  Needs a GPU; prints a table.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn import functional

import graph_programs
from timesink.recorder.agent.graph_captures import GraphCaptures
from timesink.recorder.folder import Notebook


def training() -> Callable[[], object]:
    """A forward and a backward pass."""
    network, x = graph_programs.model(), graph_programs.random_input()
    target = graph_programs.random_input()
    parameters = list(network.parameters())

    def passes() -> object:
        return torch.autograd.grad(functional.mse_loss(network(x), target), parameters)

    return passes


def captured(work: Callable[[], object]) -> tuple[torch.cuda.CUDAGraph, object, float]:
    """A graph of some work, what it returns, and how long the capture took, in milliseconds."""
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    begun = time.perf_counter()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result, 1e3 * (time.perf_counter() - begun)


def replay_us(graph: torch.cuda.CUDAGraph) -> tuple[float, float]:
    """A replay and its part on the host, the middle of fifty, in microseconds."""
    whole, host = [], []
    for _ in range(50):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        graph.replay()
        host.append(1e6 * (time.perf_counter() - begun))
        torch.cuda.synchronize()
        whole.append(1e6 * (time.perf_counter() - begun))
    return statistics.median(whole), statistics.median(host)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    control = Path(tempfile.mkdtemp())
    print("| program | capture | noted | replay | of a noted graph | host | of a noted graph |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    works = {
        "vision": graph_programs.vision(graphs=False),
        "training": training(),
        "decode": graph_programs.decode(graphs=False),
    }
    for name, work in works.items():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                work()
        torch.cuda.synchronize()
        took: tuple[list[float], list[float]] = ([], [])
        replays: tuple[list[float], list[float]] = ([], [])
        host: tuple[list[float], list[float]] = ([], [])
        for number in range(2 * rounds):
            is_noted = number % 2
            agent = GraphCaptures(torch, Notebook(control), is_wanted=bool(is_noted))
            graph, _result, lasted = captured(work)
            agent.leave()
            both, launch = replay_us(graph)
            if number > 1:
                took[is_noted].append(lasted)
                replays[is_noted].append(both)
                host[is_noted].append(launch)
        cells = [
            f"{statistics.median(values):.{digits}f} {unit}"
            for pair, digits, unit in ((took, 1, "ms"), (replays, 1, "us"), (host, 1, "us"))
            for values in pair
        ]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    noted = [path.stat().st_size for path in control.iterdir()]
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; noted {sum(noted)} bytes")


if __name__ == "__main__":
    main()
