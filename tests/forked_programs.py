"""Programs with torch that start at once: each is a fork of a process that has imported it.

To import torch takes seconds, what a test has to see of a program milliseconds.  A fork is a
process like any other, with the program as its `__main__`, its own folder, environment and output.
Where its environment names a `sitecustomize`, as that of a recorded program does, it is loaded
before the first line, by the same import as at the start of Python; all that differs is that torch
is there already, as in a program that a watcher is attached to.  At its end threads are joined and
what is registered for the end is called; what torch keeps in memory, which takes a second to take
apart, goes with the process.
"""

from __future__ import annotations

import array
import atexit
import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from recorded import WITHOUT_COMPILER, Recording, record, write

_HOST = """
import array, atexit, gc, json, os, select, socket, sys, threading
# Optimizers import the compiler.
import torch, torch._dynamo

leave = os._exit  # Agents put their own in its place.
# Nobody copies pages just to look for garbage in them.
gc.freeze()

def asked_for(asker):
    ends = array.array("i")
    told, beside, _, _ = asker.recvmsg(1 << 20, socket.CMSG_SPACE(3 * ends.itemsize))
    ends.frombytes(beside[0][2])
    return json.loads(told), ends

def to_the_next_fork():
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(sys.argv[1])
        listener.listen()
        print("ready", flush=True)
        while True:
            # Who has started this closes the other side in the end.
            if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
                leave(0)
            asker, _ = listener.accept()
            # One process more waits for the end of the program, and tells of it.
            with asker:
                if os.fork() == 0:
                    program = asked_for(asker)
                    child = os.fork()
                    if child == 0:
                        return program
                    asker.send(str(child).encode())
                    status = os.waitpid(child, 0)[1]
                    asker.send(str(os.waitstatus_to_exitcode(status)).encode())
                    leave(0)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                pass

def become(told, ends):
    os.chdir(told["folder"])
    for number, end in enumerate(ends):
        os.dup2(end, number)
        os.close(end)
    # What was there may have been a file, and this may be a pipe.
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", 1, closefd=False)
    os.environ.clear()
    os.environ.update(told["environment"])
    program, *_ = sys.argv[:] = told["arguments"]
    places = os.environ.get("PYTHONPATH", "")
    here = os.path.dirname(os.path.abspath(program))
    sys.path[:0] = [here, *filter(None, places.split(os.pathsep))]
    sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize
    except ImportError:
        pass
    return program

__file__ = become(*to_the_next_fork())
with open(__file__) as text:
    code = compile(text.read(), __file__, "exec")
exec(code)
threading._shutdown()
atexit._run_exitfuncs()
sys.stdout.flush()
sys.stderr.flush()
leave(0)
"""

_STAND_IN = """
import array, json, os, socket, sys
told = {{"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as host:
    host.connect({address!r})
    ends = array.array("i", [0, 1, 2])
    host.sendmsg([json.dumps(told).encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, ends)])
    host.recv(100)
    code = int(host.recv(100))
if code < 0:
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


class ForkedProgram:
    """A program under way, to be used as one of `subprocess`."""

    def __init__(self, host: Host, folder: Path, program: Path, env: Mapping[str, str]) -> None:
        # Not where the program runs: it may remove its folder.
        self._said = [host.folder / f"{len(host.started)}.{name}" for name in ("out", "errors")]
        self._end: socket.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._end.connect(host.address)
        request = {"arguments": [str(program)], "folder": str(folder), "environment": {**env}}
        with ExitStack() as files:
            ends = array.array("i", [files.enter_context(Path(os.devnull).open()).fileno()])
            ends.extend(files.enter_context(path.open("w")).fileno() for path in self._said)
            beside = (socket.SOL_SOCKET, socket.SCM_RIGHTS, ends)
            self._end.sendmsg([json.dumps(request).encode()], [beside])
            self.pid = int(self._end.recv(100))
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            with suppress(BlockingIOError):
                self.returncode = int(self._end.recv(100, socket.MSG_DONTWAIT))
                self._end.close()
        return self.returncode

    def communicate(self, timeout: float = 60.0) -> tuple[str, str]:
        deadline = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired("a forked program", timeout)
            time.sleep(0.01)
        out, errors = (path.read_text() for path in self._said)
        return out, errors


class Host:
    """The process that has imported torch."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = str(folder / "host")
        self.started: list[ForkedProgram] = []
        self._stand_in = folder / "forked.py"
        self._stand_in.write_text(_STAND_IN.format(address=self.address))
        self._process = subprocess.Popen(
            [sys.executable, "-c", WITHOUT_COMPILER + _HOST, self.address],
            env={key: value for key, value in os.environ.items() if key != "TIMESINK_RECORD"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def start(self, folder: Path, program: Path, env: Mapping[str, str]) -> ForkedProgram:
        """Start a program in a folder."""
        started = ForkedProgram(self, folder, program, env)
        self.started.append(started)
        return started

    def command(self, *words: str) -> list[str]:
        """A command that runs a program; it ends as the program does, and passes no signal on."""
        return [sys.executable, str(self._stand_in), *words]

    def close(self) -> None:
        """Nobody needs it any more."""
        self._process.communicate()


@functools.cache
def host_of_programs() -> Host:
    """A process that has imported torch, until this one ends."""
    # In a short place: names of sockets have at most a hundred characters.
    folder = tempfile.TemporaryDirectory(prefix="host", dir="/tmp")
    atexit.register(folder.cleanup)
    host = Host(Path(folder.name))
    atexit.register(host.close)
    return host


def record_fork(folder: Path, text: str, *options: str) -> Recording:
    """A recording of a program that takes no time, not even for torch."""
    command = host_of_programs().command(write(folder, text))
    return record(folder / "run", ["--interval", "20", *options], command)
