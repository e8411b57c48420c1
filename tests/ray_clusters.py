"""Real Ray clusters on this machine: each node is made of processes of its own, on loopback.

Only what was started here is ended: `ray stop` would end clusters of others as well.
"""

from __future__ import annotations

import importlib.util
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_RAY = (sys.executable, "-m", "ray.scripts.scripts")
_STORE_BYTES = 80_000_000
_START_SECONDS = 120


def need_ray() -> None:
    """Skip the test where no cluster can be started, unless it must not be skipped."""
    reason = ""
    if importlib.util.find_spec("ray") is None:
        reason = "needs Ray: pip install 'timesink[ray]'"
    elif sys.platform != "linux":
        reason = "nodes have addresses of their own on the loopback device of Linux"
    if reason and os.environ.get("TIMESINK_REQUIRE_RAY") == "1":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


class Cluster:
    """A head and the nodes that were added to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._nodes: list[subprocess.Popen[bytes]] = []
        self.address = f"127.0.0.2:{free_port()}"
        self.environment = {
            # A token of its own: nobody else may use it, and it uses that of nobody else.
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(16),
            "RAY_USAGE_STATS_ENABLED": "0",
            # A node that is gone is gone, not slow.
            "RAY_health_check_period_ms": "500",
            "RAY_health_check_timeout_ms": "1000",
            "RAY_health_check_failure_threshold": "3",
            "RAY_health_check_initial_delay_ms": "0",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }

    def start_head(self) -> None:
        port = self.address.rpartition(":")[2]
        ports = [f"--{name}={free_port()}" for name in ("ray-client-server-port", "dashboard-port")]
        # Nobody looks at it, and nobody adds nodes as they are needed.
        without = ("--include-dashboard=false", "--no-monitor")
        head = self._start("--head", f"--port={port}", *without, *ports)
        self._wait([head])

    def add_nodes(self, count: int) -> list[int]:
        """Start nodes, all at once; what they are called here."""
        added = [self._start(f"--address={self.address}") for _ in range(count)]
        self._wait(added)
        return [len(self._nodes) - count + number for number in range(count)]

    def _start(self, *options: str) -> subprocess.Popen[bytes]:
        number = len(self._nodes)
        command = [
            *_RAY,
            "start",
            *options,
            f"--node-ip-address=127.0.0.{number + 2}",
            "--num-cpus=1",
            f"--object-store-memory={_STORE_BYTES}",
            f"--temp-dir={self._folder / str(number)}",
            "--disable-usage-stats",
            "--include-log-monitor=false",
        ]
        with (self._folder / f"{number}.log").open("wb") as log:
            # A session of its own tells its processes from all others.
            node = subprocess.Popen(
                command,
                env={**os.environ, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._nodes.append(node)
        return node

    def _wait(self, nodes: list[subprocess.Popen[bytes]]) -> None:
        for node in nodes:
            log = self._folder / f"{self._nodes.index(node)}.log"
            assert node.wait(_START_SECONDS) == 0, log.read_text()

    def kill(self, node: int) -> None:
        """End all processes of a node at once, as a machine that loses its power does."""
        session = self._nodes[node].pid
        deadline = time.monotonic() + 10
        while (left := _in_session(session)) and time.monotonic() < deadline:
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            time.sleep(0.05)

    def stop(self) -> None:
        for number, node in reversed(list(enumerate(self._nodes))):
            self.kill(number)
            node.wait()


def _in_session(session: int) -> list[int]:
    """Processes of a session that still run."""
    pids = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            with suppress(OSError):
                # After the name, which may hold anything: state, parent, group, session.
                fields = (place / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == session and fields[0] != "Z":
                    pids.append(int(place.name))
    return pids


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def cluster_of(nodes: int, folder: Path) -> Iterator[Cluster]:
    """A head and nodes, which are gone in the end, whatever happens."""
    cluster = Cluster(folder)
    try:
        cluster.start_head()
        cluster.add_nodes(nodes)
        yield cluster
    finally:
        cluster.stop()
