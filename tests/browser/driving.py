"""What drives pages: what is known of them, what they may not do, and the server behind them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from builders import annotation, kineto, launch, operator

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Error, Page, Request, Response

OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
OURS = ("127.0.0.1:", "localhost:")
DESKTOP = {"width": 1280, "height": 800}
LONG = 60_000
"""Milliseconds that reading may take on a busy machine."""
MARKUP = "<script>document.title='owned'</script>"
"""A kernel of this name must be seen, and must not run."""
PHONE = {"width": 360, "height": 740}


@dataclass
class Watch:
    """What a page did that it should not."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    declined: list[int] = field(default_factory=list)
    """States of answers that are errors."""
    hosts: set[str] = field(default_factory=set)
    """Who was asked for something, over the network."""

    def __post_init__(self) -> None:
        for event, seen in self._events():
            self.page.on(event, seen)

    def leave(self) -> None:
        """Look away: what the page does from now on is of another test."""
        for event, seen in self._events():
            self.page.remove_listener(event, seen)

    def _events(self) -> Iterator[tuple[Any, Callable[..., None]]]:
        yield "pageerror", self._failed
        yield "console", self._note_complaint
        yield "request", self._note_host
        yield "response", self._answered

    def _failed(self, error: Error) -> None:
        self.complaints.append(f"uncaught: {error}")

    def _note_complaint(self, message: ConsoleMessage) -> None:
        text = f"{message.type}: {message.text}"
        # Answers that are errors are watched by themselves.
        if text.startswith("error") and "Failed to load resource" not in text:
            self.complaints.append(text)

    def _note_host(self, request: Request) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("file", "data", "blob"):
            self.hosts.add(address.netloc)

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.declined.append(response.status)

    def check(self, declined: set[int]) -> None:
        """Complain about what it did; `declined` are the errors it was to get."""
        assert self.complaints == []
        assert set(self.declined) == declined
        # Nothing is ever asked of another machine, nor of another server of this one.
        assert len(self.hosts) <= 1
        assert [host for host in self.hosts if not host.startswith(OURS)] == []


@contextmanager
def serve(folder: Path, cache: Path) -> Iterator[str]:
    """The address of `timesink serve`, as a user starts it."""
    command = [sys.executable, "-m", "timesink", "serve", str(folder), "--port", "0"]
    environment = {**os.environ, "TIMESINK_CACHE_DIR": str(cache)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1]
        finally:
            server.terminate()


def named_like_markup() -> dict[str, object]:
    """A recording whose kernel, operator and annotation are named like markup."""
    return kineto(
        [
            annotation(MARKUP, 0, 100),
            operator(MARKUP, 10, 50, **{"External id": 1}),
            *launch("cudaLaunchKernel", MARKUP, 20, 7),
        ]
    )
