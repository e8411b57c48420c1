"""Browse the runs of a folder.

  timesink serve logs/                  print the address to open
  timesink serve logs/ --open           open it in the browser

Runs are folders with traces, at any depth; new ones appear while the server runs.  Only this
machine can connect, and only files below the folder are served.  The routes of PyTorch's former
TensorBoard profiler plugin are under /data/plugin/pytorch_profiler/.
"""

from __future__ import annotations

import argparse
import errno
import socket
import webbrowser
from pathlib import Path

from timesink.cli.options import add_option, add_reading, argument_error, not_empty
from timesink.errors import TimesinkError, reason_of
from timesink.model.units import count_noun

_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - only compared with what the user asked for
_SECONDS_TO_FINISH = 1
"""Requests under way get so long when the server is stopped."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink serve`."""
    what = "folder of runs, a run, or one trace"
    add_option(parser, "logdir LOGDIR", what, completed="file")
    address = "address to listen on; 0.0.0.0 lets other machines in (default: %(default)s)"
    parser.add_argument("--host", default="127.0.0.1", help=address)
    port = "port to listen on; 0 takes a free one (default: %(default)s)"
    add_option(parser, "--port N", port, type=_port, default=6006)
    add_option(parser, "--path-prefix /PATH", "prefix of every address (default: none)", default="")
    name = "further host name to accept, e.g. that of a proxy"
    add_option(parser, "--allow-host NAME", name, action="append", default=[], type=not_empty)
    add_option(parser, "--follow-links", "also serve what symbolic links lead to")
    add_option(parser, "--open", "open the page in the browser")
    add_reading(parser)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**16):
        raise argument_error(text, "a port, 0 to 65535")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Serve until the user stops it."""
    import uvicorn  # noqa: PLC0415 - --help should not wait for it

    from timesink.model.host_names import allowed_hosts  # noqa: PLC0415
    from timesink.server.app import clean_prefix, create_app  # noqa: PLC0415
    from timesink.server.connections import BoundedConnection  # noqa: PLC0415
    from timesink.server.library import RunLibrary  # noqa: PLC0415

    logdir = Path(options.logdir)
    library = RunLibrary(
        logdir, cache=not options.no_cache, jobs=options.jobs, follow_links=options.follow_links
    )
    hosts = allowed_hosts(options.host, options.allow_host)
    app = create_app(library, options.path_prefix, hosts=hosts)
    config = uvicorn.Config(
        app,
        http=BoundedConnection,
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_SECONDS_TO_FINISH,
    )
    with _listen(options.host, options.port) as listener:
        address = _address(options.host, listener, clean_prefix(options.path_prefix))
        runs = len(library.all_runs())
        message = f"Serving {count_noun(runs, 'runs')} of {logdir} at {address}"
        if not runs:
            message = f"{logdir} holds no runs yet; they will appear at {address}"
        print(f"{message}\nPress Ctrl-C to stop", flush=True)
        if options.open:
            webbrowser.open(address)
        try:
            uvicorn.Server(config).run(sockets=[listener])
        except KeyboardInterrupt:
            print("Stopped")
    return 0


def _listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on, so that the address holds when it is told."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family)
        # Small answers are sent at once instead of 40 ms later; connections take this from it.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise TimesinkError(
                f"port {port} of {host} is in use", "choose another with --port, or --port 0"
            ) from None
        raise TimesinkError(
            f"cannot listen on port {port} of {host} ({reason_of(error)})",
            "choose others with --host and --port",
        ) from None
    return listener


def _address(host: str, listener: socket.socket, prefix: str) -> str:
    port = listener.getsockname()[1]
    name = socket.gethostname() if host in _EVERYWHERE else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}{prefix}/"
