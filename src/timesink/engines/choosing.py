"""Which engine is meant."""

from __future__ import annotations

from timesink.engines.engine import Engine
from timesink.engines.local import LocalEngine
from timesink.errors import UsageError

ENGINES = ("local", "ray")


def engine_of(
    engine: str | Engine = "local", *, jobs: int | None = None, address: str | None = None
) -> Engine:
    """An engine by its name; one that is an engine already stays as it is.

    `jobs` is how many processes of this machine work at once, `address` where a Ray cluster is.
    """
    if not isinstance(engine, str):
        return engine
    if engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!r}", f"choose one of {', '.join(ENGINES)}")
    if engine == "ray":
        from timesink.engines.ray_engine import RayEngine  # noqa: PLC0415 - few need it

        return RayEngine(address, jobs=jobs)
    if address is not None:
        raise UsageError(
            "an address of a Ray cluster is of no use to the local engine",
            "choose the engine as well: --engine ray",
        )
    return LocalEngine(jobs)
