"""What the tests protect: small faults are put into the code, and the tests must notice each.

    python benchmarks/mutants.py cover FOLDER                  # which tests run which lines
    python benchmarks/mutants.py run FOLDER BEFORE.jsonl       # a seeded sample of mutants
    python benchmarks/mutants.py rerun FOLDER BEFORE.jsonl AFTER.jsonl
    python benchmarks/mutants.py summary BEFORE.jsonl [AFTER.jsonl]

All of them work on the repository in the current folder; code is changed in copies of it.  `rerun`
finds the mutants of an earlier run again after files were moved: a mutant is known by the qualified
name of its function, the text of its statement and the kind of change, never by file or line.
What the file of results has already is not tried again.  Needs coverage.py.
"""

from __future__ import annotations

import argparse
import compileall
import difflib
import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from coverage import CoverageData

from covering_tests import SHARED
from mutations_of_code import Mutant, mutants_of

SEED = 19
GROUPS = {
    "rules": (
        "rules",
        "comparison/causes",
        "analyses/findings",
        "analyses/kernel_advice",
        "analyses/diagnosis",
    ),
    "comparison": ("comparison",),
    "formats": ("formats", "sources", "readers", "writers", "store"),
    "analyses": ("analyses",),
}
"""Where the code of each group lives, now and before; the first that fits a file counts."""
SHARES = {"analyses": 4, "formats": 3, "rules": 3}
"""How the sample is divided among the groups, unless others are named: these share it evenly."""
PER_FUNCTION = 3
MOST_TESTS = 40
MOST_SECONDS = 15.0
"""Tests of a mutant: the most specific ones that run its line, up to these limits."""
CPU_LIMIT = 30
WALL_LIMIT = 1200
"""Seconds that they may take together; the second number is for those that wait."""
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules"]
ELSEWHERE = ("browser", "recorder", "lab", "runtime", "server")
"""Tests that start programs or browsers, or that are about other code, are left out."""


@dataclass
class Outcome:
    """What the tests said to one mutant: a line of the file of results."""

    outcome: str
    killed_by: str
    tests: int
    seconds: float
    group: str
    file: str
    function: str
    statement: str
    kind: str
    nth: int
    place: int
    before: str
    after: str
    within: str

    @property
    def identity(self) -> tuple[str, str, str, int, int]:
        return (self.function, self.statement, self.kind, self.nth, self.place)


# Which tests run a line


class Covering:
    """Which tests run a line, the most specific first."""

    def __init__(self, folder: Path, most_tests: int, most_seconds: float) -> None:
        self.most_tests, self.most_seconds = most_tests, most_seconds
        data = CoverageData(no_disk=True)
        for file in sorted(folder.glob("lines-*.coverage")):
            part = CoverageData(str(file))
            part.read()
            data.update(part)
        self.seconds: dict[str, float] = {}
        used: dict[str, set[str]] = defaultdict(set)
        for file in sorted(folder.glob("tests-*.json")):
            for name, (seconds, shared) in json.loads(file.read_bytes()).items():
                self.seconds[name] = seconds
                used[name].update(shared)
        users: dict[str, set[str]] = defaultdict(set)
        for name in used:
            for thing in _closure(name, used):
                users[thing].add(name)
        self.lines: dict[str, dict[int, set[str]]] = {}
        self.size: Counter[str] = Counter()
        for file_name in data.measured_files():
            by_line = {}
            for line, contexts in data.contexts_by_lineno(file_name).items():
                tests = {user for context in contexts for user in users.get(context, (context,))}
                by_line[line] = tests - {""}
                self.size.update(by_line[line])
            self.lines[str(Path(file_name).relative_to(Path.cwd()))] = by_line

    def tests(self, mutant: Mutant) -> list[str]:
        """The tests that run the statement: few other lines first, within the limits."""
        lines = self.lines.get(mutant.file, {})
        candidates = {test for line in mutant.lines for test in lines.get(line, ())}
        chosen: list[str] = []
        spent = 0.0
        # What tests share has a cost of its own, and is no test.
        timed_tests = [
            test for test in candidates if test in self.seconds and not test.startswith(SHARED)
        ]
        for test in sorted(timed_tests, key=lambda test: (self.size[test], test)):
            fits = len(chosen) < self.most_tests and spent + self.seconds[test] < self.most_seconds
            if fits or not chosen:
                chosen.append(test)
                spent += self.seconds[test]
        return chosen


def _closure(name: str, used: dict[str, set[str]]) -> set[str]:
    """What it uses, also by way of something else."""
    closure: set[str] = set()
    waiting = [name]
    while waiting:
        for thing in used.get(waiting.pop(), ()):
            if thing not in closure:
                closure.add(thing)
                waiting.append(thing)
    return closure


def cover(folder: Path, processes: int, tests: list[str]) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    packages = sorted({place.split("/")[0] for places in GROUPS.values() for place in places})
    there = [name for name in packages if Path("src/timesink", name).is_dir()]
    paths = [str(Path.cwd() / "src"), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    command = [*PYTEST, "-p", "covering_tests", "-n", str(processes), "--dist", "loadfile", *tests]
    command += [f"--ignore=tests/{name}" for name in ELSEWHERE]
    settings = {"COVERING_TESTS": str(folder.resolve()), "COVERING_PACKAGES": " ".join(there)}
    settings["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    return subprocess.run(command, env=os.environ | settings, check=False).returncode


# The sample


def all_mutants() -> dict[str, list[Mutant]]:
    """All mutants of each group, in the order of the seed, which knows nothing of files."""
    groups: dict[str, list[Mutant]] = {name: [] for name in GROUPS}
    for file in sorted(Path("src/timesink").rglob("*.py")):
        group = _group_of(file)
        if group:
            groups[group].extend(mutants_of(str(file), file.read_text()))
    for mutants in groups.values():
        mutants.sort(key=lambda mutant: _rank(mutant.identity))
    return groups


def _group_of(file: Path) -> str | None:
    inside = file.relative_to("src/timesink").as_posix()
    return next(
        (
            group
            for group, places in GROUPS.items()
            if any(inside.startswith((f"{place}/", f"{place}.py")) for place in places)
        ),
        None,
    )


def _rank(identity: Iterable[Any]) -> str:
    return hashlib.sha256(repr((SEED, *identity)).encode()).hexdigest()


def sample_mutants(mutants: Iterable[Mutant]) -> Iterator[Mutant]:
    """One mutant of a statement and few of a function, so that no code counts twice."""
    statements: set[tuple[str, str]] = set()
    functions: Counter[tuple[str, str]] = Counter()
    for mutant in mutants:
        function = (mutant.file, mutant.function)
        statement = (mutant.function, mutant.statement)
        if statement not in statements and functions[function] < PER_FUNCTION:
            statements.add(statement)
            functions[function] += 1
            yield mutant


def first_sample(count: int, wanted: Collection[str]) -> list[tuple[str, Mutant]]:
    sample = []
    shares = SHARES if set(wanted) == set(SHARES) else dict.fromkeys(wanted, 1)
    for group, mutants in all_mutants().items():
        if group not in wanted:
            continue
        share = count * shares[group] // sum(shares.values())
        sample += [(group, mutant) for mutant in islice(sample_mutants(mutants), share)]
    # Whatever part of them is run, the groups have their shares of it.
    return sorted(sample, key=lambda entry: _rank(entry[1].identity))


def same_sample(before: list[Outcome]) -> tuple[list[tuple[str, Mutant]], list[Outcome]]:
    """The mutants of an earlier run in the code of today; further ones where code is gone."""
    by_identity: dict[Any, list[Mutant]] = defaultdict(list)
    by_statement: dict[Any, list[Mutant]] = defaultdict(list)
    groups = all_mutants()
    everywhere = [
        mutant
        for file in sorted(Path("src/timesink").rglob("*.py"))
        for mutant in mutants_of(str(file), file.read_text())
    ]
    for mutant in everywhere:
        by_identity[mutant.identity].append(mutant)
        by_statement[mutant.identity[1:]].append(mutant)
    sample: list[tuple[str, Mutant]] = []
    gone = []
    for earlier in before:
        matches = by_identity[earlier.identity]
        if not matches and len(by_statement[earlier.identity[1:]]) == 1:
            matches = by_statement[earlier.identity[1:]]
        if matches:
            sample.append((earlier.group, max(matches, key=lambda new: _likeness(new, earlier))))
        else:
            gone.append(earlier)
    taken = {mutant.identity for _, mutant in sample}
    for group, count in Counter(earlier.group for earlier in gone).items():
        further = (
            mutant for mutant in sample_mutants(groups[group]) if mutant.identity not in taken
        )
        sample += [(group, mutant) for mutant in islice(further, count)]
    return sample, gone


def _likeness(mutant: Mutant, earlier: Outcome) -> tuple[bool, float]:
    texts = difflib.SequenceMatcher(None, mutant.within, earlier.within, autojunk=False)
    return (mutant.file == earlier.file, texts.ratio())


# Running tests


class Workplace:
    """A copy of the repository in which one mutant at a time is tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        left_out = shutil.ignore_patterns(".git", ".venv", "node_modules", "__pycache__")
        shutil.copytree(Path.cwd(), folder, ignore=left_out, symlinks=True)
        compileall.compile_dir(folder / "src", quiet=2)

    def tried(self, mutant: Mutant | None, tests: list[str]) -> tuple[str, str]:
        """What the tests say to the code with this fault, and the test that noticed it first."""
        if mutant is None:
            return self._tested(tests)
        file = self.folder / mutant.file
        source, stat = file.read_bytes(), file.stat()
        file.write_bytes(mutant.applied(source))
        # Compiled code is told apart by the second its source was written.
        later = stat.st_mtime + 1000 + int(_rank(mutant.identity)[:6], 16)
        os.utime(file, (later, later))
        try:
            return self._tested(tests)
        finally:
            file.write_bytes(source)
            os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    def _tested(self, tests: list[str]) -> tuple[str, str]:
        """Run the tests in a child, which has the libraries but nothing of timesink in memory."""
        with tempfile.TemporaryDirectory(prefix="mutant-") as place:
            child = os.fork()
            if not child:
                _test(self.folder, Path(place), tests)
            outcome = _await_child(child)
            seen = Path(place) / "failed"
            return outcome, seen.read_text() if seen.exists() else ""


class _FirstFailure:
    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.file.exists():
            self.file.write_text(report.nodeid)


def _test(folder: Path, place: Path, tests: list[str]) -> None:
    """Run tests in this process and leave it; the exit status is pytest's."""
    status = 3
    try:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT + 5))
        os.chdir(folder)
        output = os.open(place / "output", os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.path[:0] = [str(folder / "src")]
        os.environ["PYTHONPATH"] = str(folder / "src")
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--doctest-modules"]
        # Libraries are in memory already.
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        options += [f"--basetemp={place / 'base'}", f"--rootdir={folder}"]
        status = int(pytest.main([*options, *tests], plugins=[_FirstFailure(place / "failed")]))
    except BaseException:  # noqa: BLE001 - a child must never go on as if it were its parent
        traceback.print_exc()
    finally:
        if not (place / "failed").exists() and status:
            (place / "failed").write_text((place / "output").read_text()[-2000:])
        os._exit(status)


def _await_child(child: int) -> str:
    end = time.monotonic() + WALL_LIMIT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            _end_group(child)
            code = os.waitstatus_to_exitcode(status)
            if code in {-signal.SIGXCPU, -signal.SIGKILL}:
                return "timeout"
            # A crash is noticed as well; a wrong call of pytest is our own mistake.
            return {0: "survived", 3: "error", 4: "error", 5: "error"}.get(code, "killed")
        time.sleep(0.02)
    _end_group(child)
    os.waitpid(child, 0)
    return "timeout"


def _end_group(child: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def try_all(
    sample: list[tuple[str, Mutant]], covering: Covering, out: Path, processes: int
) -> None:
    """Try mutants in several processes; lines that the file has already are not tried again."""
    done = {outcome.identity for outcome in read(out)} if out.exists() else set()
    work = [(group, mutant) for group, mutant in sample if mutant.identity not in done]
    # Libraries are loaded once, without using them: a process that forks must have one thread.
    os.environ |= {"PYTEST_XDIST_WORKER": "gw0", "POLARS_MAX_THREADS": "1"}
    for name in ("hypothesis", "numpy", "polars", "msgspec", "scipy.stats", "rich.console"):
        importlib.import_module(name)
    children = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for number in range(processes):
            child = os.fork()
            if not child:
                try:
                    place = Workplace(Path(folder, str(number)))
                    for group, mutant in work[number::processes]:
                        with out.open("a") as file:
                            file.write(_line(_outcome(place, group, mutant, covering)))
                finally:
                    os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)


def _outcome(place: Workplace, group: str, mutant: Mutant, covering: Covering) -> Outcome:
    began = time.monotonic()
    tests = covering.tests(mutant)
    outcome, killed_by = place.tried(mutant, tests) if tests else ("survived", "")
    return Outcome(
        outcome=outcome,
        killed_by=killed_by,
        tests=len(tests),
        seconds=round(time.monotonic() - began, 1),
        group=group,
        file=mutant.file,
        function=mutant.function,
        statement=mutant.statement,
        kind=mutant.kind,
        nth=mutant.nth,
        place=mutant.place,
        before=mutant.before,
        after=mutant.after,
        within=mutant.within,
    )


def _line(outcome: Outcome) -> str:
    return json.dumps(asdict(outcome)) + "\n"


def read(file: Path) -> list[Outcome]:
    return [Outcome(**json.loads(line)) for line in file.read_text().splitlines()]


# Telling


def summary(outcomes: list[Outcome]) -> str:
    rows = ["group       mutants  killed  timeout  survived  of these without a test"]
    for group in [*GROUPS, "all"]:
        of_group = [outcome for outcome in outcomes if group in {outcome.group, "all"}]
        if not of_group:
            continue
        counts = Counter(outcome.outcome for outcome in of_group)
        untested = sum(not outcome.tests for outcome in of_group)
        rows.append(
            f"{group:10}  {len(of_group):7}  {counts['killed']:6}  {counts['timeout']:7}"
            f"  {counts['survived']:8}  {untested:23}"
            + (f"  ({counts['error']} could not be tried)" if counts["error"] else "")
        )
    return "\n".join(rows)


def beside(before: list[Outcome], after: list[Outcome]) -> str:
    """The same mutants before and after."""
    earlier = {outcome.identity: outcome for outcome in before}
    by_statement = {outcome.identity[1:]: outcome for outcome in before}
    same, further = [], []
    for outcome in after:
        old_outcome = earlier.get(outcome.identity) or by_statement.get(outcome.identity[1:])
        (same if old_outcome else further).append((old_outcome, outcome))
    noticed = {"killed", "timeout"}
    were = sum(old.outcome in noticed for old, _ in same if old)
    are = sum(new.outcome in noticed for _, new in same)
    lines = [f"{len(same)} mutants in both: {were} noticed before, {are} after"]
    for old, new in same:
        if old and (old.outcome in noticed) != (new.outcome in noticed):
            lines.append(f"  {old.outcome} -> {new.outcome}: {new.file} {new.function}")
            lines.append(f"    {new.before}  ->  {new.after}    (was noticed by {old.killed_by})")
    are = sum(new.outcome in noticed for _, new in further)
    lines.append(f"{len(further)} mutants instead of those whose code is gone: {are} noticed")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["cover", "run", "rerun", "check", "summary"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--count", type=int, default=400, help="mutants in a sample")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(SHARES))
    parser.add_argument("--tests", nargs="+", default=["tests"], help="those that may cover lines")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--most-tests", type=int, default=MOST_TESTS, help="tried on a mutant")
    parser.add_argument("--most-seconds", type=float, default=MOST_SECONDS, help="that they take")
    options = parser.parse_args()
    files: list[Path] = [file.resolve() for file in options.files]
    if options.what == "cover":
        return cover(files[0], options.processes, options.tests)
    if options.what in {"run", "rerun"}:
        covering = Covering(files[0], options.most_tests, options.most_seconds)
    if options.what == "run":
        sample = first_sample(options.count, options.groups)
        try_all(sample, covering, files[1], options.processes)
        print(summary(read(files[1])))
    elif options.what == "rerun":
        before = read(files[1])
        sample, gone = same_sample(before)
        for earlier in gone:
            print("gone:", earlier.function, "|", earlier.before, "->", earlier.after)
        try_all(sample, covering, files[2], options.processes)
        print(summary(read(files[2])))
        print(beside(before, read(files[2])))
    elif options.what == "check":
        return _check(read(files[0]))
    else:
        print(summary(read(files[0])))
        if files[1:]:
            print(summary(read(files[1])))
            print(beside(read(files[0]), read(files[1])))
    return 0


def _check(outcomes: list[Outcome]) -> int:
    """Tests that noticed a mutant must pass without one."""
    tests = sorted({outcome.killed_by for outcome in outcomes if "::" in outcome.killed_by})
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        settings = {"PYTHONPATH": str(Path.cwd() / "src"), "TMPDIR": folder}
        return subprocess.run([*PYTEST, *tests], env=os.environ | settings, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
