"""Write a large generated run of many ranks, and say how long that took.

  python benchmarks/ranks_generate.py ranks/ --ranks 1000

With these sizes a rank's trace holds about 20 000 events, as a short recording of a real program
does; `--layers 2 --steps 5` makes it 2 000.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

from timesink.lab.ranks import KINDS, Plan, Straggler, generate_ranks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=1000)
    parser.add_argument("--tensor", type=int, default=8)
    parser.add_argument("--pipeline", type=int, default=1)
    parser.add_argument("--layers", type=int, default=11)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--straggler", choices=KINDS)
    parser.add_argument("--rank", type=int, default=5, help="who the straggler is")
    given = parser.parse_args()
    put_in = (Straggler(given.straggler, given.rank),) if given.straggler else ()
    plan = Plan(
        ranks=given.ranks,
        seed=given.seed,
        tensor=given.tensor,
        pipeline=given.pipeline,
        layers=given.layers,
        steps=given.steps,
        stragglers=put_in,
    )
    start = time.perf_counter()
    truth = generate_ranks(plan, given.folder, jobs=given.jobs)
    took = time.perf_counter() - start
    size = sum(Path(path).stat().st_size for path in truth.files)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{plan.ranks} ranks, {truth.events / plan.ranks:.0f} events each, {size / 1e6:.0f} MB")
    print(f"{took:.1f} s, {truth.events / took / 1e6:.2f} million events/s, {peak:.0f} MB at most")
    for answer in truth.answers:
        print(
            f"{answer.cause}: ranks {answer.ranks}, steps {answer.steps}, {answer.cost_us:.0f} us"
        )


if __name__ == "__main__":
    main()
