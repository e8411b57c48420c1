"""Tests of all that is compiled, with sanitizers of addresses and of undefined behaviour.

    python benchmarks/sanitizers.py                  # ten minutes; exit code 1 at a fault
    python benchmarks/sanitizers.py tests/formats    # other tests

The compiled part is built once more, with sanitizers, into a copy of the package, and pytest runs
against that copy.  `fuzz_scanner.py` and `fuzz_snapshot.py` look for inputs; this looks at the
bindings, at nesting, replay and snapshots as the package calls them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = (
    "tests/formats/chrome",
    "tests/formats/memory",
    "tests/analyses/replay",
    "tests/analyses/test_forest.py",
    "tests/captures",
)
FLAGS = (
    *("-std=c++17", "-O1", "-g", "-fPIC", "-shared", "-ffp-contract=off"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-shared-libasan"),
)
RUNTIME = "libclang_rt.asan-x86_64.so"


def main(tests: list[str]) -> int:
    if shutil.which("clang++") is None:
        print("clang++ is needed", file=sys.stderr)
        return 2
    runtime = _printed("clang++", f"--print-file-name={RUNTIME}")
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "timesink"
        shutil.copytree(ROOT / "src" / "timesink", package)
        target = package / "runtime" / "_native.abi3.so"
        include = f"-I{sysconfig.get_paths()['include']}"
        source = str(ROOT / "native" / "module.cpp")
        _printed("clang++", *FLAGS, include, source, "-o", str(target))
        environment = {
            **os.environ,
            "PYTHONPATH": folder,
            # The interpreter was built without them: its allocator hides what it hands out.
            "PYTHONMALLOC": "malloc",
            "LD_PRELOAD": runtime,
            "ASAN_OPTIONS": "detect_leaks=0,abort_on_error=0,exitcode=1",
            "UBSAN_OPTIONS": "print_stacktrace=1",
        }
        check = "from timesink.runtime import native; print(native.__file__, native.native_state())"
        print(_printed(sys.executable, "-c", check, environment=environment))
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not whole", *tests]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def _printed(*command: str, environment: dict[str, str] | None = None) -> str:
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return run.stdout.strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or list(TESTS)))
