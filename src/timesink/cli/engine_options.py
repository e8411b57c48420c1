"""Where many recordings are read: options that commands on sets of ranks share."""

from __future__ import annotations

import argparse

from timesink.cli.values import not_empty
from timesink.engines.choosing import ENGINES, engine_of
from timesink.engines.engine import Engine


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Which engine reads the recordings of a set."""
    group = parser.add_argument_group("many ranks")
    group.add_argument(
        "--engine",
        choices=ENGINES,
        default="local",
        help="where they are read: processes of this machine, or a Ray cluster",
    )
    group.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        type=not_empty,
        help="of a running cluster, HOST:PORT or auto; without one, RAY_ADDRESS or this machine",
    )


def engine_from(options: argparse.Namespace) -> Engine:
    """The engine the options name.

    >>> told = argparse.Namespace(engine="local", ray_address=None, jobs=2)
    >>> engine_from(told).name
    'local'
    """
    return engine_of(options.engine, jobs=options.jobs, address=options.ray_address)
