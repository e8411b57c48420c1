"""Connecting to a Ray cluster, or starting one; what stands in the way is said in words."""

from __future__ import annotations

import logging
import os
import platform
import socket
import sys
from urllib.parse import urlsplit

import ray
from ray import exceptions

from timesink.errors import TimesinkError, UsageError
from timesink.readers.workers import usable_cores

_STORE_BYTES = 128 * 1024 * 1024
"""For results on their way, of a cluster that is started here."""
_REACH_SECONDS = 10.0
_START = "start it (ray start --head), or leave out --ray-address to work on this machine"


def connect(address: str | None, jobs: int | None) -> None:
    """Connect to the cluster at an address; without one, start one of `jobs` workers here."""
    # The caller's screen is not for logs, and they are kept in files anyway.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    quiet = {"log_to_driver": False, "configure_logging": False, "logging_level": logging.CRITICAL}
    if address is not None:
        _check_reachable(address)
    try:
        if address is None:
            ray.init("local", num_cpus=jobs or usable_cores(), include_dashboard=False,
                     object_store_memory=_STORE_BYTES, **quiet)  # fmt: skip
        else:
            ray.init(address, **quiet)
    except ValueError as error:
        raise UsageError(_in_a_line(error), "give HOST:PORT, ray://HOST:PORT or auto") from None
    except (OSError, RuntimeError, exceptions.RayError) as error:
        raise _refused(address, error) from None


def _check_reachable(address: str) -> None:
    """Ray waits for minutes for a cluster that is not there."""
    if address in {"auto", "local"}:
        return
    place = urlsplit(address if "://" in address else f"//{address}")
    try:
        host, port = place.hostname, place.port
    except ValueError:
        host, port = None, None
    if host is None or port is None:
        raise UsageError(
            f"{address!r} is not the address of a Ray cluster",
            "give HOST:PORT, ray://HOST:PORT or auto",
        )
    try:
        socket.create_connection((host, port), timeout=_REACH_SECONDS).close()
    except OSError as error:
        raise TimesinkError(
            f"no Ray cluster answers at {address} ({error.strerror or error})", _START
        ) from None


def _refused(address: str | None, error: Exception) -> TimesinkError:
    where = "Ray cannot be started" if address is None else f"the Ray cluster at {address}"
    said = _in_a_line(error)
    if "ersion mismatch" in said:
        return TimesinkError(
            f"{where} has other versions than this machine ({said})",
            "install the same Python and the same Ray on both",
        )
    if address is None:
        return TimesinkError(f"{where} ({said})", "try --engine local")
    return TimesinkError(f"{where} cannot be used ({said})", _START)


def other_versions(node: str, found: tuple[str, str]) -> TimesinkError:
    """A worker whose answers may differ from ours.

    >>> other_versions("node7", ("", "3.12")).message
    'the Ray worker on node7 has no timesink and Python 3.12; here are timesink ... and Python ...'
    """
    timesink, python = found
    our_timesink, our_python = own_versions()
    has = f"timesink {timesink}" if timesink else "no timesink"
    return TimesinkError(
        f"the Ray worker on {node} has {has} and Python {python}; "
        f"here are timesink {our_timesink} and Python {our_python}",
        f"install the same on every node: pip install timesink=={our_timesink}",
    )


def own_versions() -> tuple[str, str]:
    """Of timesink, and of Python as far as it matters."""
    # This is a part of it: the whole is loaded, and not to be imported from here.
    return str(sys.modules["timesink"].__version__), ".".join(platform.python_version_tuple()[:2])


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())[:400]
