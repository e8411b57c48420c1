"""Long work beside the event loop, in threads that do not keep the program from ending."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TypeVar

Result = TypeVar("Result")


async def in_thread(call: Callable[[], Result]) -> Result:
    """What a call returns; other requests are answered meanwhile."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Result] = loop.create_future()

    def settle(set_outcome: Callable[[], None]) -> None:
        if not outcome.done():
            set_outcome()

    def work() -> None:
        try:
            told = partial(outcome.set_result, call())
        except Exception as error:  # noqa: BLE001 - handed to whoever asked
            told = partial(outcome.set_exception, error)
        # Whoever asked may be gone, and the loop with it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(settle, told)

    Thread(target=work, name="timesink request", daemon=True).start()
    return await outcome
