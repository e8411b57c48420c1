"""Watching logs of collectives: a run in which no profiler may run, by what NCCL writes of it.

Logs of the NCCL Inspector grow while a job runs: their first collectives are learned, later ones
are compared with them, some dozens at a time.  Dumps of the flight recorder appear when it hangs.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from timesink.analyses.collective_log import NO_GROUP
from timesink.answers.comparison.collective_logs import (
    LogComparisonJson,
    logs_document,
    operation_sentence,
    rank_sentence,
)
from timesink.comparison.collective_logs import LogPair, LogSide
from timesink.errors import CollectError, OutputError, TimesinkError, UnreadableError, reason_of
from timesink.formats.collective_logs.folder import read_logs
from timesink.formats.collective_logs.inspector import NAME as INSPECTOR_NAME
from timesink.formats.collective_logs.inspector import rows_of_lines
from timesink.formats.collective_logs.rows import (
    CollectiveRow,
    Losses,
    calls_trace,
    columns_of,
)
from timesink.formats.collective_logs.signatures import FLIGHT_RECORDER, INSPECTOR, log_format
from timesink.formats.small_files import DamagedError, encode_json, read_small_json
from timesink.model import units
from timesink.output.blocks import Document, Section, Text
from timesink.output.html import report_html
from timesink.recorder.folder import RecordingFolder
from timesink.recorder.places import write_whole
from timesink.recorder.processes import collect_signals, passed_on
from timesink.recorder.watch_plan import WatchPlan
from timesink.rules.collective_log import disagreeing_ranks, hanging_collective, never_entered
from timesink.sources.watch_folder import INCIDENTS, LOG_WATCH_FILE
from timesink.watcher.notices import AlarmCommand
from timesink.watcher.thresholds import LogWatchLimits

SCHEMA = "timesink/log-watch/1"
POLL_S = 1.0
"""Between two looks at the folder."""
_MAX_READ_BYTES = 32 << 20
_MAX_LINE_BYTES = 1 << 20
"""Of a line whose end was not written yet; a line of the Inspector takes half a kilobyte."""
_ALARMS = "alarms.jsonl"
_LEARNING, _WATCHING, _ENDED = "learning", "watching", "ended"

Say = Callable[[str], None]
Subject = tuple[str | int | None, ...]
"""What changed: an operation with its size, a rank of a group, a completion."""
_Members = dict[int | str | None, CollectiveRow]


class LogAlarm(msgspec.Struct, kw_only=True):
    """Something of the collectives that is not as it was learned."""

    id: str
    sentence: str
    since_us: int
    ended_us: int | None = None


class LogWatchStatus(msgspec.Struct, kw_only=True):
    """The state of a watch of logs: `log-watch.json`."""

    schema: str = SCHEMA
    logs: str
    state: str
    """`learning`, `watching` or `ended`."""
    time_us: int
    pid: int
    collectives: int
    """That all ranks, or all but late ones, logged."""
    learned: int
    lines_lost: int
    """Lines of logs that could not be read."""
    alarms: list[LogAlarm]


class LogFollower:
    """Reads what is new in the logs of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self._rest: dict[Path, bytes] = {}
        self._dumps: dict[Path, tuple[int, int]] = {}
        self._forms: dict[Path, str] = {}
        self.losses = Losses()
        # By size and time of writing: the clock of a shared folder may be another one than ours.
        self._earlier = self._dump_stats()

    def new_calls(self) -> list[CollectiveRow]:
        """Calls that were logged since the last time, as far as their lines are whole."""
        calls: list[CollectiveRow] = []
        for file in self._files(INSPECTOR):
            with suppress(OSError):
                calls += rows_of_lines(self._new_lines(file), self.losses)
        return calls

    def has_new_dumps(self) -> bool:
        """Whether dumps of the flight recorder appeared or changed, and are still being written."""
        stats = {
            file: stat
            for file, stat in self._dump_stats().items()
            if stat != self._earlier.get(file)
        }
        is_new, self._dumps = stats != self._dumps, stats
        return is_new

    @property
    def dumps(self) -> list[Path]:
        """Dumps that were written since the watch began."""
        return list(self._dumps)

    @property
    def earlier_dumps(self) -> int:
        """How many dumps were there when the watch began."""
        return len(self._earlier)

    def _dump_stats(self) -> dict[Path, tuple[int, int]]:
        stats = {}
        for file in self._files(FLIGHT_RECORDER):
            with suppress(OSError):
                stat = file.stat()
                stats[file] = stat.st_size, stat.st_mtime_ns
        return stats

    def _files(self, form: str) -> Iterator[Path]:
        with suppress(OSError):
            for file in sorted(self._folder.iterdir()):
                file_form = self._forms.get(file)
                if file_form is None:
                    file_form = log_format(file)
                    if file_form is not None:  # else it may be one when more of it is written
                        self._forms[file] = file_form
                if file_form == form:
                    yield file

    def _new_lines(self, file: Path) -> bytes:
        begin = self._read.get(file, 0)
        if file.stat().st_size < begin:  # written anew
            begin, self._rest[file] = 0, b""
        with file.open("rb") as stream:
            stream.seek(begin)
            content = stream.read(_MAX_READ_BYTES)
        self._read[file] = begin + len(content)
        lines, separator, rest = (self._rest.get(file, b"") + content).rpartition(b"\n")
        if len(rest) > _MAX_LINE_BYTES:
            self.losses.add("lost_events", f"{file.name}: a line without an end")
            rest = b""
        self._rest[file] = rest
        return lines if separator else b""


class _Windows:
    """Calls put together to collectives, and these to windows of one length."""

    def __init__(self) -> None:
        self._open: dict[tuple[str | None, int], _Members] = {}
        self._complete: dict[str | None, list[list[CollectiveRow]]] = defaultdict(list)
        self.collectives = 0

    def add(self, calls: Sequence[CollectiveRow]) -> None:
        """Further calls."""
        for call in calls:
            if call.is_p2p or call.sequence is None:
                continue
            key = (call.group_name, call.sequence)
            members = self._open.setdefault(key, {})
            members[call.member if call.member is not None else call.process] = call
            if call.group_size and len(members) >= call.group_size:
                self._close(key)
        while len(self._open) > LogWatchLimits.max_open:
            self._close(next(iter(self._open)))

    def _close(self, key: tuple[str | None, int]) -> None:
        self._complete[key[0]].append(list(self._open.pop(key).values()))
        self.collectives += 1

    def take_all(self) -> list[CollectiveRow]:
        """All calls of complete collectives; they are not taken again."""
        taken = [call for group in self._complete.values() for calls in group for call in calls]
        self._complete.clear()
        return taken

    def take_windows(self, size: int) -> Iterator[list[CollectiveRow]]:
        """Calls of so many collectives of a group at a time; what is left over stays."""
        for group, collectives in self._complete.items():
            taken = len(collectives) - len(collectives) % size
            for start in range(0, taken, size):
                window = collectives[start : start + size]
                yield [call for calls in window for call in calls]
            self._complete[group] = collectives[taken:]

    def behind(self) -> str:
        """Which ranks are missing in the oldest collective that is not complete, in words."""
        for (group, sequence), members in self._open.items():
            call = next(iter(members.values()))
            present = {member for member in members if isinstance(member, int)}
            missing = sorted(set(range(call.group_size or 0)) - present)
            if missing:
                names = units.join_names([str(rank) for rank in missing], 6)
                word = "rank" if len(missing) == 1 else "ranks"
                return f" {call.collective} #{sequence} of {group} is not logged by {word} {names}."
        return ""


class LogWatch:
    """Learns from the first collectives, and says what later ones do otherwise."""

    def __init__(
        self, plan: WatchPlan, logs: Path, say: Say, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._plan, self._logs, self._say, self._clock = plan, logs, say, clock
        self._follower, self._windows = LogFollower(logs), _Windows()
        self._command = AlarmCommand(plan.on_alarm, say)
        self._base: LogSide | None = None
        self._learned = 0
        self._seen: Counter[Subject] = Counter()
        self._open: dict[Subject, LogAlarm] = {}
        self._alarms: deque[LogAlarm] = deque(maxlen=1000)
        self._alarm_count = 0
        self._last_s = clock()
        self._longest_s = 0.0
        """Of silences that were no alarm: a run that stood still once may do so again."""
        self._is_new = False
        if earlier := self._follower.earlier_dumps:
            dumps = units.count_noun(earlier, "dumps")
            say(f"{dumps} of the flight recorder from before the watch: not looked at")

    def look(self) -> None:
        """Read what is new, and judge it."""
        calls = self._follower.new_calls()
        now_s = self._clock()
        if calls:
            silent_s = now_s - self._last_s
            if self._windows.collectives and silent_s <= self._most_silent_s:
                self._longest_s = max(self._longest_s, silent_s)
            self._last_s = now_s
            self._end(("silence",))
        self._windows.add(calls)
        if self._base is None:
            self._learn()
        else:
            for window in self._windows.take_windows(LogWatchLimits.window):
                self._judge(window)
        self._notice_silence(now_s)
        if self._follower.has_new_dumps():
            self._is_new = True
        elif self._is_new:  # nothing was written since the last look
            self._is_new = False
            self._look_at_dumps()
        self._command.look()
        self._write(_LEARNING if self._base is None else _WATCHING)

    def _learn(self) -> None:
        if self._windows.collectives < self._plan.skip + self._plan.learn:
            return
        calls = self._windows.take_all()
        first: dict[str | None, int] = {}
        for call in calls:
            first[call.group_name] = min(first.get(call.group_name, 1 << 62), call.sequence or 0)
        warm = [
            call
            for call in calls
            if (call.sequence or 0) >= first[call.group_name] + self._plan.skip
        ]
        self._base = _side(warm or calls)
        self._learned = self._base.collectives.height
        self._say(f"learned from {units.count_noun(self._learned, 'collectives')}")

    def _judge(self, calls: Sequence[CollectiveRow]) -> None:
        if self._base is None or not calls:
            return
        pair = LogPair(self._base, _side(calls), ("learned", "now"))
        changes = dict(_slower(pair, self._plan.at_least))
        group = calls[0].group_name or NO_GROUP
        # A window is of one group: it says nothing about others.
        for subject in [s for s in self._seen if s not in changes and s[-1] == group]:
            del self._seen[subject]
            self._end(subject)
        for subject, sentence in changes.items():
            self._seen[subject] += 1
            if self._seen[subject] >= LogWatchLimits.min_windows:
                self._begin(subject, sentence, pair)

    @property
    def _most_silent_s(self) -> float:
        """A silence that lasts longer is an alarm."""
        return max(LogWatchLimits.silent_s, LogWatchLimits.silent_ratio * self._longest_s)

    def _notice_silence(self, now_s: float) -> None:
        silent_s = now_s - self._last_s
        if self._windows.collectives and silent_s > self._most_silent_s:
            text = f"No collective was logged for {silent_s:.0f} s.{self._windows.behind()}"
            self._begin(("silence",), text, None)

    def _look_at_dumps(self) -> None:
        dumps = self._follower.dumps
        if not dumps:  # somebody has removed them, which says nothing about the run
            return
        try:
            # Not the logs beside them: a long job has gigabytes, of completed calls alone.
            trace = read_logs(str(self._logs), dumps)
        except (TimesinkError, OSError) as error:
            self._say(f"dumps in {self._logs} cannot be read: {error}")
            return
        sentences: dict[Subject, str] = {
            ("completion", rule.__name__, finding.sentence): finding.sentence
            for rule in (never_entered, hanging_collective, disagreeing_ranks)
            for finding in rule(trace)
        }
        # Dumps of further ranks say more: what was said of fewer is over.
        for subject in [s for s in self._open if s[0] == "completion" and s not in sentences]:
            self._end(subject)
        for subject, sentence in sentences.items():
            self._begin(subject, sentence, None)

    def _begin(self, subject: Subject, sentence: str, pair: LogPair | None) -> None:
        if subject in self._open:
            return
        now_us = time.time_ns() // 1000
        self._alarm_count += 1
        number = f"{time.strftime('%Y%m%d-%H%M%S')}-{self._alarm_count}"
        alarm = LogAlarm(id=number, sentence=sentence, since_us=now_us)
        self._open[subject] = alarm
        self._alarms.append(alarm)
        self._say(f"alarm: {sentence}")
        folder = self._plan.folder / INCIDENTS / number
        files: dict[str, bytes] = {"incident.json": encode_json(alarm)}
        if pair is not None:
            files["comparison.json"] = encode_json(LogComparisonJson.of(pair, None))
            files["report.html"] = report_html(logs_document(pair, None)).encode()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, content in files.items():
                write_whole(folder / name, content)
        except OSError as error:
            self._say(f"{folder}: cannot be written ({reason_of(error)})")
        self._note("alarm", alarm)

    def _end(self, subject: Subject) -> None:
        alarm = self._open.pop(subject, None)
        if alarm is None:
            return
        alarm.ended_us = time.time_ns() // 1000
        self._say(f"over: {alarm.sentence}")
        with suppress(OSError):
            folder = self._plan.folder / INCIDENTS / alarm.id
            write_whole(folder / "incident.json", encode_json(alarm))
        self._note("closed", alarm)

    def _note(self, event: str, alarm: LogAlarm) -> None:
        record = {"event": event, "time_us": time.time_ns() // 1000}
        line = encode_json(record | msgspec.to_builtins(alarm)) + b"\n"
        with suppress(OSError), (self._plan.folder / _ALARMS).open("ab") as stream:
            stream.write(line)
        facts = {"incident": alarm.id, "since_us": alarm.since_us, "cause": alarm.sentence}
        self._command.run(event, self._plan.folder / INCIDENTS / alarm.id, facts)

    def _write(self, state: str) -> None:
        with suppress(OSError):
            write_whole(self._plan.folder / LOG_WATCH_FILE, encode_json(self.status(state)))

    def status(self, state: str) -> LogWatchStatus:
        """What is known now."""
        return LogWatchStatus(
            logs=str(self._logs),
            state=state,
            time_us=time.time_ns() // 1000,
            pid=os.getpid(),
            collectives=self._windows.collectives,
            learned=self._learned,
            lines_lost=self._follower.losses.count.total(),
            alarms=list(self._alarms),
        )

    def finish(self) -> None:
        """What is left is judged, and the state written for the last time."""
        self.look()
        if self._is_new:
            self._look_at_dumps()
        if self._base is not None:
            for window in self._windows.take_windows(LogWatchLimits.window // 2):
                self._judge(window)
        self._write(_ENDED)
        self._command.close()
        counts = f"watched {units.count_noun(self._windows.collectives, 'collectives')}"
        alarms = units.count_noun(self._alarm_count, "alarms") if self._alarms else "no alarm"
        if self._base is None and self._windows.collectives:
            alarms += f"; {self._plan.skip + self._plan.learn} are needed to learn (--learn)"
        self._say(f"{counts}: {alarms}")


def _side(calls: Sequence[CollectiveRow]) -> LogSide:
    # Groups by their names alone: how descriptions tell them apart depends on who else is there.
    named = [msgspec.structs.replace(call, group_description=None) for call in calls]
    return LogSide.of(calls_trace("logs", INSPECTOR_NAME, columns_of(named), Losses()))


def _slower(pair: LogPair, at_least: float) -> Iterator[tuple[Subject, str]]:
    """What takes longer, or comes later, than was learned; a sentence for each.

    A subject ends with the group that the window is of.
    """
    groups = pair.new.collectives["group"]
    group = groups[0] if len(groups) else None
    for row in pair.operations().filter("is_change").to_dicts():
        if row["change_ns"] >= at_least * row["base_ns"]:
            subject = ("operation", row["collective"], row["bytes"], row["members"], group)
            yield subject, operation_sentence(row)
    for row in pair.ranks().filter("is_change").to_dicts():
        if row["change_ns"] >= at_least * pair.usual_ns:
            yield ("rank", row["rank"], row["group"]), rank_sentence(row)


def watch_logs(
    plan: WatchPlan, logs: Path, say: Say, *, force: bool = False, poll_s: float = POLL_S
) -> int:
    """Watch the logs in a folder until we are interrupted, or the program of the plan ends.

    The exit code is that of the program, without one 0.
    """
    folder = RecordingFolder(plan.folder)
    is_ours = (plan.folder / LOG_WATCH_FILE).is_file()
    folder.check(force=force or is_ours)
    is_new = not logs.exists()
    try:
        (plan.folder / INCIDENTS).mkdir(parents=True, exist_ok=True)
        logs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError.unwritable(plan.folder, error) from None
    watch = LogWatch(plan, logs, say)
    with collect_signals() as came, passed_on():
        process = _started(plan.command, logs) if plan.command else None
        if is_new and process is None:
            say(f"{logs} did not exist and was made: nothing is seen until a program logs into it")
        say(f"watching the logs in {logs}; see  timesink watch status {plan.folder}")
        while not came and (process is None or process.poll() is None):
            watch.look()
            _wait(process, poll_s)
        if process is not None and process.poll() is None:
            process.send_signal(came[0])
            process.wait()
        watch.finish()
    if process is None:
        return 0
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _wait(process: subprocess.Popen[bytes] | None, poll_s: float) -> None:
    if process is None:
        time.sleep(poll_s)
        return
    with suppress(subprocess.TimeoutExpired):
        process.wait(poll_s)


def _started(command: Sequence[str], logs: Path) -> subprocess.Popen[bytes]:
    """The program, told to log into the folder where its user has not said otherwise."""
    try:
        return subprocess.Popen(command, env=log_environment(logs, os.environ))  # noqa: S603 - the user's
    except OSError as error:
        raise CollectError(
            f"{command[0]} cannot be started ({reason_of(error)})", "check the command after --"
        ) from None


def log_environment(logs: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that let NCCL and PyTorch log into a folder; those that are set stay.

    >>> log_environment(Path("/logs"), {"TORCH_FR_BUFFER_SIZE": "5"})["TORCH_FR_BUFFER_SIZE"]
    '5'
    """
    place = str(logs.absolute())
    return {
        "NCCL_INSPECTOR_ENABLE": "1",
        "NCCL_INSPECTOR_DUMP_DIR": place,
        "TORCH_FR_BUFFER_SIZE": "2000",
        "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": f"{place}/nccl_trace_rank_",
        "TORCH_FR_DUMP_TEMP_FILE": f"{place}/nccl_trace_rank_",
        **environment,
    }


# -- timesink watch status -------------------------------------------------------------------------


def log_watch_status(folder: Path) -> LogWatchStatus:
    """The state that a watcher wrote."""
    file = folder / LOG_WATCH_FILE
    try:
        return msgspec.convert(read_small_json(file), LogWatchStatus)
    except (OSError, DamagedError, msgspec.ValidationError) as error:
        hint = "it is written anew while watching"
        raise UnreadableError.damaged(file, str(error), hint) from None


def log_watch_document(folder: Path, status: LogWatchStatus) -> Document:
    """The state of a watch of logs, for people."""
    still = [alarm for alarm in status.alarms if alarm.ended_us is None]
    if still:
        headline = still[-1].sentence
    elif status.state == _LEARNING:
        headline = f"Learning: {units.count_noun(status.collectives, 'collectives')} so far."
    else:
        alarms = units.count_noun(len(status.alarms), "alarms") if status.alarms else "no alarm"
        headline = f"{units.count_noun(status.collectives, 'collectives')} watched: {alarms}."
    lines = [
        f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(alarm.since_us / 1e6))}"
        f"{'' if alarm.ended_us is None else ' (over)'}  {alarm.sentence}"
        for alarm in reversed(status.alarms)
    ]
    blocks = tuple(Text(line) for line in lines)
    sections = (Section("alarms", "Alarms", blocks),) if lines else ()
    notes = (f"{status.lines_lost} lines of logs could not be read",) if status.lines_lost else ()
    return Document(
        "watch", f"timesink: {folder}", str(folder), headline, sections=sections, notes=notes
    )
