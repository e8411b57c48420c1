"""The build of the compiled part, where there is a compiler; without one the package has none."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = "native/module.cpp"
TARGET = "src/timesink/runtime/_native.abi3.so"
FLAGS = (
    *("-O3", "-std=c++17", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-shared"),
    # Sums as Python has them: no machine rounds once for two of them.
    "-ffp-contract=off",
)
NOT_COMPILED = "TIMESINK_BUILD_WITHOUT_SCANNER"
"""With anything in this variable nothing is compiled."""


class ScannerBuild(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles one C++ file with the limited API: one binary serves every Python from 3.10 on."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        root = Path(self.root)
        target = root / TARGET
        if not compiled(root / SOURCE, target):
            target.unlink(missing_ok=True)
            return
        if version != "editable":
            platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
            build_data["pure_python"] = False
            build_data["tag"] = f"cp310-abi3-{platform}"
            build_data["force_include"][str(target)] = TARGET.removeprefix("src/")


def compiled(source: Path, target: Path) -> bool:
    """Whether the scanner was built; what the compiler says otherwise is shown, and no error."""
    command = compiler()
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if os.environ.get(NOT_COMPILED) or command is None or not header.is_file():
        return False
    shared = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else []
    made = subprocess.run(  # noqa: S603 - the compiler of this machine
        [*command, *FLAGS, *shared, f"-I{header.parent}", str(source), "-o", str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        sys.stderr.write(f"timesink is installed without its native scanner:\n{made.stderr}\n")
    return made.returncode == 0


def compiler() -> list[str] | None:
    """The C++ compiler of this machine."""
    if os.environ.get("CXX"):
        return shlex.split(os.environ["CXX"])
    names = ("c++", "g++", "clang++")
    return next(([path] for name in names if (path := shutil.which(name))), None)
