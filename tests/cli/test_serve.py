"""`timesink serve`."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from builders import training_trace, write

pytestmark = pytest.mark.whole

ROUTES = "data/plugin/pytorch_profiler"


@dataclass(frozen=True)
class Server:
    """A running server: what it said first, and where it answers."""

    process: subprocess.Popen[str]
    welcome: str

    @property
    def address(self) -> str:
        return self.welcome.split()[-1]

    def status(self, path: str, host: str = "localhost") -> int:
        """What a browser gets that knows the server by some name."""
        request = Request(f"{self.address}{path}", headers={"Host": host})  # noqa: S310 - our own
        try:
            with urlopen(request) as response:  # noqa: S310
                return int(response.status)
        except HTTPError as failed:
            return failed.code

    def get(self, route: str) -> Any:
        with urlopen(f"{self.address}{ROUTES}/{route}") as response:  # noqa: S310 - our own server
            return json.load(response)


@contextmanager
def running_server(*arguments: object) -> Iterator[Server]:
    command = [sys.executable, "-m", "timesink", "serve", *map(str, arguments), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield Server(process, process.stdout.readline().strip())
        finally:
            process.kill()


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    folder = tmp_path / "logs" / "run"
    folder.mkdir(parents=True)
    write(folder / "worker0.1.pt.trace.json.gz", training_trace(3))
    return tmp_path / "logs"


def test_serves_until_it_is_interrupted(logdir: Path):
    with running_server(logdir) as server:
        assert server.welcome.startswith(f"Serving 1 run of {logdir} at http://127.0.0.1:")
        assert server.get("runs") == {"runs": ["run"], "loading": False}
        overview = server.get("overview?run=run&worker=worker0&span=1")
        assert [row[0] for row in overview["steps"]["rows"]] == ["0", "1", "2"]
        assert server.status("api/runs") == 200
        assert server.status("api/runs", host="evil.example") == 403, "this machine has other names"
        server.process.send_signal(signal.SIGINT)
        _, errors = server.process.communicate()
        assert (server.process.returncode, errors) == (0, "")


def test_prefix_is_part_of_the_address_that_is_opened(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    opened = tmp_path / "opened"
    monkeypatch.setenv("BROWSER", f"sh -c 'echo %s > {opened}'")
    with running_server(logdir, "--path-prefix", "/profiles", "--open") as server:
        assert server.address.endswith("/profiles/")
        assert server.get("runs")["runs"] == ["run"]
        assert opened.read_text().strip() == server.address


def test_empty_folder_is_served(tmp_path: Path):
    with running_server(tmp_path) as server:
        assert f"{tmp_path} holds no runs yet; they will appear at http://" in server.welcome
        assert server.get("runs")["runs"] == []


def test_port_in_use_is_told(decline, logdir: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        message, hint = decline("serve", logdir, "--port", port)
    assert message == f"port {port} of 127.0.0.1 is in use"
    assert "--port" in hint


def test_address_of_another_machine_is_told(decline, logdir: Path):
    message, hint = decline("serve", logdir, "--host", "192.0.2.1", "--port", "0")
    assert message.startswith("cannot listen on port 0 of 192.0.2.1")
    assert "--host" in hint


def test_missing_folder_is_told(decline, tmp_path: Path):
    message, _ = decline("serve", tmp_path / "nowhere")
    assert message == f"{tmp_path / 'nowhere'}: no such file or directory"


@pytest.mark.parametrize(
    "arguments", [("",), ("logs", "--port", "70000"), ("logs", "--port", "x"), ()]
)
def test_wrong_usage(run, arguments: tuple[str, ...]):
    assert run("serve", *arguments).code == 2
