"""Machines to sample: made-up ones, and folders that look like /proc and /sys."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

STAND_INS = Path(__file__).parent / "stand_ins"


def _stand_in(name: str, patch: pytest.MonkeyPatch) -> Iterator[Any]:
    patch.syspath_prepend(str(STAND_INS))
    patch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module(name)
    sys.modules.pop(name, None)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A machine with one NVIDIA device."""
    for module in _stand_in("pynvml", monkeypatch):
        module.DEVICES.append(module.Device())
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        yield module


@pytest.fixture
def amd(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A machine with two AMD devices and no driver of NVIDIA."""
    for module in _stand_in("amdsmi", monkeypatch):
        module.HANDLES += ["GPU-aa", "GPU-bb"]
        for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setitem(sys.modules, "pynvml", None)
        yield module


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A Linux system with one process, 7, on two cores."""
    files = {
        "proc/stat": "cpu  100 0 50 800 40 0 0 10 0 0\ncpu0 50 0 25 400 20 0 0 5 0 0\n"
        "cpu1 50 0 25 400 20 0 0 5 0 0\n",
        "proc/meminfo": "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable:  700 kB\n",
        "proc/vmstat": "nr_free_pages 5\npswpin 10\npswpout 20\npgmajfault 30\n",
        "proc/diskstats": " 259 0 nvme0n1 1 0 80 4 2 0 160 8 0 100 12\n"
        " 259 1 nvme0n1p1 1 0 80 4 2 0 160 8 0 100 12\n 253 0 dm-0 1 0 80 4 2 0 160 8 0 100 12\n",
        "proc/net/dev": "Inter-|\n face |\n    lo: 9 0 0 0 0 0 0 0 9 0 0 0 0 0 0 0\n"
        "  eth0: 500 0 0 0 0 0 0 0 700 0 0 0 0 0 0 0\n",
        "proc/self/schedstat": "0 0 0\n",
        "proc/7/stat": "7 (python (x) y) S 1 7 7 0 -1 0 0 0 40 0 1 1 0 0 20 0 1 0 5 0 0\n",
        "proc/7/statm": "1000 300 20 1 0 50 0\n",
        "proc/7/status": "Name: python\nVmSwap:\t      12 kB\n",
        "proc/7/task/7/schedstat": "1000 2000 3\n",
        "proc/7/task/8/schedstat": "1000 2000 3\n",
        "sys/block/nvme0n1/size": "1\n",
        "sys/block/dm-0/slaves/nvme0n1": "",
        "sys/block/loop0/size": "1\n",
    }
    for kind in ("cpu", "io", "memory"):
        files[f"proc/pressure/{kind}"] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n"
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path
