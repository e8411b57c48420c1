"""Look at every run below a folder in the browser.

  timesink serve logs/                  then open the address it prints
  timesink serve logs/ --open           opens it

Runs are folders with traces, at any depth; new ones appear while the server runs.  Only this
machine can connect, and only files below the folder can be reached.  The routes of PyTorch's
former TensorBoard profiler plugin are under /data/plugin/pytorch_profiler/.
"""

from __future__ import annotations

import argparse
import errno
import socket
import webbrowser
from pathlib import Path

from timesink import sample, sample_runs
from timesink.cli.options import (
    add_force,
    add_option,
    add_reading,
    file_only,
    not_empty,
    progress_bar,
    refused,
)
from timesink.cli.outputs import check_output, check_page, give
from timesink.errors import TimesinkError
from timesink.model.units import counted

_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - only compared with what the user asked for
_SECONDS_TO_FINISH = 1
"""Requests under way get so long when the server is stopped."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink serve`."""
    what = "a folder of runs, a run, or one trace"
    add_option(parser, "logdir LOGDIR", what, completed="file")
    address = "address to listen on; 0.0.0.0 lets other machines in (default: %(default)s)"
    parser.add_argument("--host", default="127.0.0.1", help=address)
    port = "port to listen on; 0 takes a free one (default: %(default)s)"
    add_option(parser, "--port N", port, type=_port, default=6006)
    add_option(parser, "--path-prefix /PATH", "what every address starts with", default="")
    name = "a further name it may be asked by, such as that of a proxy"
    add_option(parser, "--allow-host NAME", name, action="append", default=[], type=not_empty)
    add_option(parser, "--follow-links", "also serve what links to other folders hold")
    add_option(parser, "--open", "open the page in the browser")
    add_reading(parser)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**16):
        raise refused(text, "a port, 0 to 65535")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Serve until the user stops it."""
    import uvicorn  # noqa: PLC0415 - --help should not wait for it

    from timesink.server.app import BoundedConnection, clean_prefix, create_app  # noqa: PLC0415
    from timesink.server.library import RunLibrary  # noqa: PLC0415
    from timesink.server.site import allowed_hosts  # noqa: PLC0415

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
        said = f"Serving {counted(runs, 'runs')} of {logdir} at {address}"
        if not runs:
            said = f"{logdir} holds no runs yet; they will appear at {address}"
        print(f"{said}\nPress Ctrl-C to stop", flush=True)
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
            f"cannot listen on port {port} of {host} ({error.strerror or error})",
            "choose others with --host and --port",
        ) from None
    return listener


def _address(host: str, listener: socket.socket, prefix: str) -> str:
    port = listener.getsockname()[1]
    name = socket.gethostname() if host in _EVERYWHERE else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}{prefix}/"


# -- timesink demo ---------------------------------------------------------------------------------

DEMO = """Show what timesink does, on a bundled recording.

Two training steps of a small U-Net on one GPU: where their time goes, how well its kernels use
the hardware and what to try.  Then two runs of a decode loop, and what changed between them.  The
same is written as HTML reports, which need no network.
"""


def add_demo_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink demo`."""
    place, what = Path("timesink-demo.html"), "where the page goes (default: %(default)s)"
    add_option(parser, "-o --output FILE", what, type=file_only, default=place)
    add_force(parser)
    add_option(parser, "--no-cache", "read the file, keep nothing")


def run_demo(options: argparse.Namespace) -> int:
    """Analyse the bundled recordings, print the answers and write the reports."""
    from timesink.answers.analysis.document import analysis_document, analysis_report  # noqa: PLC0415 - --help should not wait for it
    from timesink.answers.analysis.report import analyze  # noqa: PLC0415
    from timesink.answers.comparison.document import comparison_document  # noqa: PLC0415
    from timesink.answers.comparison.work import compare  # noqa: PLC0415
    from timesink.answers.kernels.document import kernels_document  # noqa: PLC0415
    from timesink.answers.kernels.reading import kernels  # noqa: PLC0415
    from timesink.output.html import report_html  # noqa: PLC0415
    from timesink.output.terminal import print_text  # noqa: PLC0415

    check_page("html")
    page = options.output
    beside = [page.with_name(f"{page.stem}-{what}{page.suffix}") for what in ("kernels", "compare")]
    # A page of an earlier demo is replaced; anything else might be dear to someone.
    replaces = options.force or page.suffix == ".html"
    for output in (page, *beside):
        check_output(output, sample(), force=replaces)
    keep = not options.no_cache
    with progress_bar() as progress:
        found = analyze(sample(), cache=keep, progress=progress)
    counted = kernels(sample(counters=True), trace=sample(), cache=keep)
    compared = compare(*sample_runs())
    print_text(analysis_document(found, rows=8, brief=True))
    print(f"\nOne step, kernel by kernel: {counted.headline}")
    print(f"\nA decode loop, and again with the clock lowered: {compared.headline}\n")
    give(analysis_report(found), page)
    give(report_html(kernels_document([counted])), beside[0])
    give(report_html(comparison_document(compared)), beside[1])
    print(
        f"\nNext: open {page}, {beside[0]} and {beside[1]} in a browser, then\n"
        "  timesink analyze YOUR_TRACE.json.gz -o report.html\n"
        "  timesink record -- python YOUR_PROGRAM.py\n"
        "  timesink ncu -- python YOUR_PROGRAM.py\n"
        "  timesink compare BEFORE.json.gz AFTER.json.gz -o report.html\n"
        "  timesink serve FOLDER"
    )
    return 0


# -- timesink completion ---------------------------------------------------------------------------

COMPLETION = """Print a shell completion script.

bash:  eval "$(timesink completion bash)"      in ~/.bashrc
zsh:   timesink completion zsh > ~/.zfunc/_timesink
tcsh:  timesink completion tcsh > ~/.timesink.tcsh, then source it
"""


def add_completion_arguments(parser: argparse.ArgumentParser) -> None:
    """Which shell."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")


def run_completion(options: argparse.Namespace) -> int:
    """Print what the shell is to read."""
    import shtab  # noqa: PLC0415 - nothing else needs it

    from timesink.cli import build_parser  # noqa: PLC0415 - the parser knows this module

    print(shtab.complete(build_parser(), shell=options.shell))
    return 0
