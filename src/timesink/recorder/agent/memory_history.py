"""The history of PyTorch's memory allocator, from the first allocation of a device to a file.

What is allocated before the recorded steps, such as parameters, is worth as much as what these
allocate: history begins as soon as the program uses a device, and is kept within bounds.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from timesink.recorder.folder import MEMORY_SNAPSHOT, Notebook

MAX_EVENTS = 500_000
"""Allocations and frees that are kept; older ones go.  Each takes about half a kilobyte."""
NO_DEVICE = "no memory snapshot: the program used no device that PyTorch allocates memory of"


class MemoryHistory:
    """Records what the allocator does, and leaves a snapshot at the end and where memory runs out.

    Nothing in here may end the program, and no device is woken up for it.
    """

    def __init__(self, torch: Any, notebook: Notebook, *, is_wanted: bool) -> None:
        self._torch, self._notebook = torch, notebook
        self._is_on = self._is_over = False
        self._pid = os.getpid()
        if is_wanted:
            with suppress(Exception):
                # At once where the program uses a device already, else when it begins to.
                torch.cuda._lazy_call(self._begin)  # noqa: SLF001 - nothing public waits for that
        self._is_wanted = is_wanted

    def _begin(self) -> None:
        """Begin to record; called by torch, in whichever process uses a device."""
        if self._is_over or self._is_on:
            return
        with suppress(Exception):
            self._torch.cuda.memory._record_memory_history(  # noqa: SLF001 - it has no other name
                "all", context="all", stacks="python", max_entries=MAX_EVENTS
            )
            self._is_on = True
            self._pid = os.getpid()
            self._torch._C._cuda_attach_out_of_memory_observer(self._failed)  # noqa: SLF001

    def _failed(self, *_facts: object) -> None:
        """An allocation fails: what is live now says why, whatever the program does next."""
        if self._is_on and not self._is_over and not self._path("oom.").exists():
            self._leave("oom.")

    def end(self) -> None:
        """Leave the snapshot, and record no more."""
        if self._is_over:
            return
        if self._is_on and self._pid == os.getpid():
            self._leave()
            with suppress(Exception):
                self._torch.cuda.memory._record_memory_history(None)  # noqa: SLF001 - as above
        elif self._is_wanted:
            self._notebook.add("remark", text=NO_DEVICE)
        self._is_over = True

    def forget(self) -> None:
        """This process is a fork: its history is that of the process it was made from."""
        self._is_over = True

    def _path(self, kind: str = "") -> Path:
        return self._notebook.control / MEMORY_SNAPSHOT.format(pid=self._pid, kind=kind)

    def _leave(self, kind: str = "") -> None:
        """Write a snapshot; the file has its name only once it is whole."""
        path = self._path(kind)
        part = path.with_suffix(".unfinished")
        try:
            self._torch.cuda.memory._dump_snapshot(str(part))  # noqa: SLF001 - as above
            part.replace(path)
        except Exception as error:  # noqa: BLE001 - nobody knows what an allocator may raise
            with suppress(OSError):
                part.unlink()
            why = str(error).partition("\n")[0]
            self._notebook.add("remark", text=f"the memory snapshot was not written: {why}")
