"""Telling others: metrics, a command of the user's, the status of every watcher in one place."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from pathlib import Path
from typing import Any

from timesink.errors import TimesinkError, UsageError, reason_of
from timesink.model.host_names import allowed_hosts, is_allowed
from timesink.recorder.places import write_whole
from timesink.sources.places import is_url, place_of, without_password
from timesink.sources.remote import connect, why
from timesink.watcher.watch_json import OwnCostJson

_COMMAND_S = 60.0
_MAX_WAITING = 16
_LAST_S = 5.0
"""What was told at the end gets so long."""
_ENDS_S = 1.0


class AlarmCommand:
    """Runs the command of `--on-alarm`, one at a time; no shell takes its words apart."""

    def __init__(self, words: tuple[str, ...], say: Callable[[str], None]) -> None:
        self._words = words
        self._say = say
        self._waiting: deque[tuple[Path, dict[str, str]]] = deque()
        self._running: tuple[float, subprocess.Popen[bytes]] | None = None

    def run(self, event: str, folder: Path, facts: Mapping[str, object]) -> None:
        """Start it, after those before; the folder of the incident is its last argument."""
        if not self._words:
            return
        if len(self._waiting) >= _MAX_WAITING:
            self._say(f"--on-alarm: not run for {event}: {len(self._waiting)} are waiting already")
            return
        environment = {f"TIMESINK_{name.upper()}": str(value) for name, value in facts.items()}
        self._waiting.append((folder, {"TIMESINK_EVENT": event, **environment}))
        self.look()

    def _start(self, folder: Path, environment: Mapping[str, str]) -> None:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's
                [*self._words, str(folder)], stdin=subprocess.DEVNULL,
                env={**os.environ, **environment},
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            self._say(f"--on-alarm: {self._words[0]} cannot be started ({why})")
            return
        self._running = time.monotonic(), process

    @property
    def is_running(self) -> bool:
        """Whether one is under way, or waits."""
        self.look()
        return self._running is not None

    def look(self) -> None:
        """See whether it has ended, and start the next; one that takes too long is ended."""
        if self._running is not None:
            begun_s, process = self._running
            code = process.poll()
            if code is None and time.monotonic() - begun_s > _COMMAND_S:
                self._end(process)
                self._say(f"--on-alarm: ended after {_COMMAND_S:.0f} s")
            elif code is None:
                return
            elif code:
                self._say(f"--on-alarm: failed with code {code}")
            self._running = None
        while self._waiting and self._running is None:
            self._start(*self._waiting.popleft())

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """It and what it has started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(OSError):
                os.killpg(process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_ENDS_S)
                return

    def close(self, is_hurried: Callable[[], bool] = lambda: False) -> None:
        """The watcher ends, and this with it."""
        until = time.monotonic() + _LAST_S
        while self.is_running and time.monotonic() < until and not is_hurried():
            time.sleep(0.05)
        left = len(self._waiting)
        self._waiting.clear()
        if self._running is not None:
            self._end(self._running[1])
            self._running = None
            more = f", {left} more not run" if left else ""
            self._say(f"--on-alarm: ended with the watcher{more}")


class SharedStatus:
    """Puts the status of this watcher beside those of others; a slow network delays nothing."""

    def __init__(self, place: str, say: Callable[[str], None]) -> None:
        self._place = place
        self._name = f"{socket.gethostname()}-{os.getpid()}.json"
        self._say = say
        self._has_failed = False
        self._lock = threading.Lock()
        self._next: bytes | None = None
        self._thread: threading.Thread | None = None

    def put(self, content: bytes) -> None:
        """Send it; while one is on its way the last of those that wait is the next."""
        with self._lock:
            self._next = content
            if self._place and self._thread is None:
                self._thread = threading.Thread(target=self._send_all, daemon=True)
                self._thread.start()

    def _send_all(self) -> None:
        while True:
            with self._lock:
                content, self._next = self._next, None
                if content is None:
                    self._thread = None
                    return
            self._send(content)

    def finish(self, timeout_s: float = 5.0) -> None:
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)

    def _send(self, content: bytes) -> None:
        try:
            if is_url(place_of(self._place)):
                system, folder = connect(self._place)
                with suppress(Exception):
                    system.makedirs(folder, exist_ok=True)
                system.pipe_file(f"{folder}/{self._name}", content)
            else:
                path = Path(self._place, self._name)
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, content)
        except Exception as error:  # noqa: BLE001 - each file system has errors of its own
            if not self._has_failed:
                self._has_failed = True
                message = error.message if isinstance(error, TimesinkError) else why(error)
                self._say(f"--summary {without_password(self._place)}: {message}")


# Metrics: Prometheus text over HTTP, and OpenTelemetry where it is installed.

Metric = tuple[str, str, str, dict[str, str], float]
"""Name, kind, meaning, labels, value."""

STATES = ("waiting", "learning", "watching", "alarm", "off", "ended")
_HINTS = {
    errno.EADDRINUSE: "choose another port with --metrics",
    errno.EACCES: "choose a port above 1023 with --metrics",
}
_LAST_MS = 5000
_CONTENT = "text/plain; version=0.0.4; charset=utf-8"
_OF_PHASE = {
    "observed_us": ("timesink_cycle_seconds", "median time of the last steps", 1e-6),
    "expected_us": ("timesink_cycle_expected_seconds", "expected time of the last steps", 1e-6),
    "limit_us": ("timesink_cycle_limit_seconds", "several steps above it raise an alarm", 1e-6),
    "residual_pct": (
        "timesink_cycle_residual_ratio",
        "excess over the expected time, as a share",
        0.01,
    ),
}
_HISTOGRAM = "timesink_cycle_duration_seconds"


def metrics_of(status: Mapping[str, Any]) -> Iterator[Metric]:
    """Everything a status says in numbers.

    >>> status = {"state": "watching", "cycles": 7, "phases": [], "workload": {}, "counters": {}}
    >>> [(name, value) for name, _, _, labels, value in metrics_of(status) if not labels][:1]
    [('timesink_cycles_total', 7.0)]
    """
    alarms, incidents = status.get("alarms") or {}, status.get("incidents") or ()
    is_open = [incident.get("ended_us") for incident in incidents].count(None)
    lost_s = sum(float(incident.get("lost_us") or 0) for incident in incidents) / 1e6
    for name, meaning, amount in (
        ("cycles_total", "steps of the program so far", status.get("cycles")),
        ("cycles_dropped_total", "steps that the watcher missed", status.get("dropped")),
        ("cycles_outside_total", "steps with an unknown workload", status.get("outside")),
        ("alarms_total", "alarms so far", alarms.get("raised")),
        ("brief_total", "slowdowns too short for an alarm", alarms.get("brief")),
        ("alarms_open", "open alarms", len(alarms.get("open") or ())),
        ("incidents_total", "incidents so far", status.get("incidents_begun")),
        ("incidents_open", "open incidents", is_open),
        ("lost_seconds", "time lost in the stored incidents", lost_s),
    ):
        kind = "counter" if name.endswith("_total") else "gauge"
        yield f"timesink_{name}", kind, meaning, {}, float(amount or 0)
    for state in STATES:
        is_so = float(status.get("state") == state)
        yield "timesink_watch_state", "gauge", "1 for the present state", {"state": state}, is_so
    for phase in status.get("phases") or ():
        for key, (name, meaning, scale) in _OF_PHASE.items():
            if phase.get(key) is not None:
                yield name, "gauge", meaning, {"phase": str(phase["phase"])}, phase[key] * scale
    yield from _histogram(status.get("durations") or {})
    for group, meaning in (("workload", "median of the last steps"), ("counters", "last value")):
        for name, value in (status.get(group) or {}).items():
            metric_name = "timesink_workload" if group == "workload" else "timesink_sampled"
            yield metric_name, "gauge", meaning, {"name": str(name)}, float(value)
    watcher_cost = status.get("own") or {}
    for key, name in (("cpu_pct", "cpu_percent"), ("rss_bytes", "resident_bytes")):
        if watcher_cost.get(key) is not None:
            meaning = "use by the watcher itself"
            yield f"timesink_watcher_{name}", "gauge", meaning, {}, float(watcher_cost[key])


def _histogram(durations: Mapping[str, Any]) -> Iterator[Metric]:
    """All cycles so far by how long they took, in the parts Prometheus has of a histogram."""
    bounds = [*(f"{at_most / 1e6:.9g}" for at_most in durations.get("at_most_us") or ()), "+Inf"]
    meaning = "times of all steps"
    for phase, histogram in (durations.get("phases") or {}).items():
        labels, so_far = {"phase": str(phase)}, [*accumulate(histogram["counts"])]
        for bound, count in zip(bounds, so_far, strict=True):
            bucket_labels = {**labels, "le": bound}
            yield f"{_HISTOGRAM}_bucket", "histogram", meaning, bucket_labels, float(count)
        yield f"{_HISTOGRAM}_sum", "histogram", meaning, labels, histogram["sum_us"] / 1e6
        yield f"{_HISTOGRAM}_count", "histogram", meaning, labels, float(so_far[-1])


def prometheus_text(status: Mapping[str, Any]) -> str:
    """The status as Prometheus reads it."""
    lines, families = [], set[str]()
    for name, kind, meaning, labels, value in sorted(
        metrics_of(status), key=lambda metric: metric[0]
    ):
        family = name.rpartition("_")[0] if kind == "histogram" else name
        if family not in families:
            families.add(family)
            lines += [f"# HELP {family} {meaning}", f"# TYPE {family} {kind}"]
        label_text = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
        lines.append(f"{name}{{{label_text}}} {value:.9g}" if label_text else f"{name} {value:.9g}")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class MetricsServer:
    """Serves the last status; on the loopback device unless told otherwise."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.status: Mapping[str, Any] = {}
        server, hosts = self, allowed_hosts(address[0])

        class Handler(BaseHTTPRequestHandler):
            timeout = 10

            def do_HEAD(self) -> None:
                """Answer who looks whether it is there."""
                self._answer()

            def do_GET(self) -> None:
                """Answer a scraper."""
                self.wfile.write(self._answer())

            def _answer(self) -> bytes:
                is_known = self.path.split("?")[0] in {"/", "/metrics"}
                code, text = 404, "not found\n"
                if not is_allowed(self.headers.get("Host", ""), hosts):
                    code, text = 403, "unknown host name in the request\n"
                elif is_known:
                    code, text = 200, prometheus_text(server.status)
                content = text.encode("utf-8", "replace")
                self.send_response(code)
                self.send_header("Content-Type", _CONTENT)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                return content

            def log_message(self, *_: object) -> None:
                """Say nothing: the terminal is the program's."""

        class Server(ThreadingHTTPServer):
            address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET

        try:
            self._server = Server(address, Handler)
        except OSError as error:
            host, port = f"[{address[0]}]" if ":" in address[0] else address[0], address[1]
            hint = _HINTS.get(error.errno or 0, "name an address of this machine with --metrics")
            raise UsageError(
                f"--metrics {host}:{port}: cannot be served ({reason_of(error)})", hint
            ) from None
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=[0.05], daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class OpenTelemetry:
    """Gives the same metrics to OpenTelemetry, which sends them where OTEL_... variables say."""

    def __init__(self) -> None:
        self.status: Mapping[str, Any] = {}
        try:
            metrics = importlib.import_module("opentelemetry.sdk.metrics")
            export = importlib.import_module("opentelemetry.sdk.metrics.export")
            otlp = importlib.import_module("opentelemetry.exporter.otlp.proto.http.metric_exporter")
            self._api: Any = importlib.import_module("opentelemetry.metrics")
        except ModuleNotFoundError as error:
            raise UsageError(
                f"--otel: {error.name} is not installed", "pip install 'timesink[otel]'"
            ) from None
        reader = export.PeriodicExportingMetricReader(otlp.OTLPMetricExporter())
        self._provider: Any = metrics.MeterProvider(metric_readers=[reader])
        self._meter = self._provider.get_meter("timesink")
        self._known: set[str] = set()

    def show(self, status: Mapping[str, Any]) -> None:
        """The status that is asked for from now on; new metrics are made known."""
        self.status = status
        meter = self._meter
        for name, kind, meaning, _, _ in metrics_of(status):
            if name not in self._known:
                self._known.add(name)
                # Parts of a histogram only grow, too.
                is_gauge = kind == "gauge"
                create = (
                    meter.create_observable_gauge if is_gauge else meter.create_observable_counter
                )
                create(name, callbacks=[self._observer(name)], description=meaning)

    def _observer(self, name: str) -> Callable[[object], Iterable[Any]]:
        def observe(_options: object) -> Iterable[Any]:
            for metric_name, _, _, labels, value in metrics_of(self.status):
                if metric_name == name:
                    yield self._api.Observation(value, labels)

        return observe

    def close(self) -> None:
        # A collector that does not answer is not waited for longer.
        self._provider.shutdown(timeout_millis=_LAST_MS)


_OVER = 10


class OwnCost:
    """Processor time and memory of this process, over the last seconds."""

    def __init__(self) -> None:
        self._points: deque[tuple[float, float]] = deque(maxlen=_OVER)

    def json(self, judged: int, cycles: int) -> OwnCostJson:
        """As the status has it."""
        self._points.append((time.monotonic(), time.process_time()))
        (first_s, first_cpu), (last_s, last_cpu) = self._points[0], self._points[-1]
        share = (last_cpu - first_cpu) / (last_s - first_s) if last_s > first_s else None
        return OwnCostJson(
            cpu_pct=None if share is None else round(100 * share, 2),
            rss_bytes=_resident(),
            judged_share=judged / cycles if cycles else None,
        )


def _resident() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return None
