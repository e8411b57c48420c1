"""Watch a running program for slow steps.

  timesink watch -- python train.py                      learn, watch, record slow steps
  timesink watch --preset vllm --metrics 9400 -- vllm serve ...
  timesink watch --marker decode_step --on-alarm 'notify perf' -- python serve.py
  timesink watch --pid 4711                              a running program (Python 3.14)
  timesink watch --logs LOGS                             logs of collectives, without a profiler
  timesink watch status timesink-watch
  timesink watch accept timesink-watch                   learn the present step times as normal

The program is not edited.  The watcher learns from the first steps.  Later steps that take longer
than their workload explains raise an alarm.  It then records 20 steps, compares them with a
reference recording and writes what changed to DIR/incidents.  The exit code is that of the program.

All options for watching:  timesink watch run --help

Tables of steps work as well, with the columns duration_us, job_name, start_ts and any numbers that
describe the workload:

  timesink watch learn normal.csv.gz -o model.json
  timesink watch judge model.json today.csv --format json -o today.json
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from functools import partial
from pathlib import Path

from timesink.cli.command_line import log_line
from timesink.cli.options import (
    add_actions,
    add_force,
    add_option,
    add_output,
    add_place,
    add_program,
    argument_error,
    cycles_or_none,
    file_only,
    fraction,
    program_in,
    seconds,
    value_parser,
    whole_number,
)
from timesink.cli.outputs import answer_form, check_output, give_document, give_json, write_bytes
from timesink.errors import UsageError
from timesink.formats.small_files import encode_json
from timesink.recorder.agent.watched_marks import preset_names
from timesink.recorder.processes import check_program
from timesink.recorder.watch_plan import (
    DEFAULT_PLACE,
    OPTION_NAMES,
    WatchPlan,
    command_words,
    metrics_address,
    plan_in_place,
    plan_of,
    size_bytes,
)
from timesink.sources.watch_folder import LOG_WATCH_FILE
from timesink.version import __version__

_FORMATS = ("text", "json", "md")
_ACTIONS = {
    "run": "watch a program (may be left out)",
    "status": "show the state of a watched program",
    "accept": "learn from the latest steps: their times are normal from now on",
    "reference": "record a new reference of healthy steps",
    "off": "stop watching; the program continues",
    "learn": "learn step times by workload from a table of normal steps",
    "judge": "find the slow steps of a table",
}
_PER_HOUR = ("/hour", "/h")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink watch`."""
    actions = add_actions(parser, _ACTIONS, usual="run")
    _add_live(actions["run"])
    where = f"folder of the watch (default: {DEFAULT_PLACE})"
    summary = ", or the folder or URL of --summary"
    for name, more in {"status": summary, "accept": "", "reference": "", "off": ""}.items():
        add_option(
            actions[name], "folder DIR", f"{where}{more}", completed="folder", nargs="?",
            default=str(DEFAULT_PLACE),
        )  # fmt: skip
    add_output(actions["status"], "write to a file; .txt, .md, .json choose the format", _FORMATS)
    learn, judge = actions["learn"], actions["judge"]
    add_option(
        learn, "rows ROWS", "table of normal steps: CSV, CSV.gz or Parquet", completed="file"
    )
    add_place(learn, "FILE", "model file to write", required=True)
    add_force(learn)
    rate = "accepted false alarms: a share of the steps, or N/hour (default: 2%%)"
    add_option(learn, "--false-alarms RATE", rate, type=_rate, default=(0.02, False))
    add_option(
        learn, "--seed N", "seed of random samples (default: 0)", type=_seed_number, default=0
    )
    add_option(judge, "model MODEL", "model of  timesink watch learn", completed="file")
    add_option(judge, "rows ROWS", "table of steps: CSV, CSV.gz or Parquet", completed="file")
    add_output(judge, "write to a file; .txt, .md, .json choose the format", _FORMATS)


def _add_live(parser: argparse.ArgumentParser) -> None:
    # Nobody writes the word: errors do not, either.
    parser.prog = "timesink watch"
    place = "folder of the watch (default: %(default)s)"
    add_place(parser, "DIR", place, default=DEFAULT_PLACE)
    add_option(parser, "--force", "start again, without the model and incidents in the folder")
    process = partial(whole_number, things="a process")
    add_option(parser, "--pid N", "watch this running process", type=process)
    logs = "watch the logs that NCCL and PyTorch write of collectives into a folder: no profiler"
    add_option(parser, "--logs LOGS", logs, type=Path, completed="folder")
    what = parser.add_argument_group("how steps are found")
    marker = "Python function or annotation that begins a step (default: the optimizer ends one)"
    add_option(what, "--marker NAME", marker, default="")
    preset = f"steps of a known program: {', '.join(preset_names())}"
    add_option(what, "--preset NAME", preset, default="")
    span = "loop: a step lasts from call to call; call: as long as the call (default: loop)"
    add_option(what, "--span", span, choices=("loop", "call"), default="")
    workload = "function that returns the workload of a step from the arguments of its call"
    add_option(what, "--workload MODULE:FUNCTION", workload, default="")
    _add_learning(parser.add_argument_group("what is normal"))
    _add_recording(parser.add_argument_group("what is recorded"))
    notify_group = parser.add_argument_group("notifications")
    command = "command to run at an alarm, at its cause and at its end; it runs without a shell"
    add_option(
        notify_group,
        "--on-alarm CMD",
        command,
        type=value_parser(command_words, "a command", bool),
        default=(),
    )
    serve = "serve metrics for Prometheus at this port (default host: 127.0.0.1)"
    add_option(
        notify_group,
        "--metrics [HOST:]PORT",
        serve,
        type=value_parser(metrics_address, "a port, or HOST:PORT"),
    )
    add_option(notify_group, "--otel", "send metrics by OpenTelemetry; needs timesink[otel]")
    summary = "folder or URL to which all watchers write their status"
    add_option(notify_group, "--summary URL", summary, default="")
    add_program(parser, "watch")


def _add_learning(group: argparse._ArgumentGroup) -> None:
    learn = "steps to learn from (default: %(default)s)"
    add_option(group, "--learn N", learn, type=_cycles, default=WatchPlan.learn)
    least = "seconds to learn, at least (default: %(default)g)"
    add_option(group, "--learn-seconds S", least, type=seconds, default=WatchPlan.learn_s)
    skip = "steps of each process to leave out first (default: %(default)s)"
    add_option(group, "--skip N", skip, type=cycles_or_none, default=WatchPlan.skip)
    model = "model.json of another watch, instead of learning"
    add_option(group, "--model FILE", model, completed="file", type=file_only)
    rate = "accepted false alarms per hour (default: %(default)g)"
    add_option(group, "--false-alarms N", rate, type=_per_hour, default=WatchPlan.alarms_per_hour)
    shift = "smallest slow-down that raises an alarm (default: 10%%)"
    add_option(group, "--at-least SHARE", shift, type=fraction, default=WatchPlan.at_least)


def _add_recording(group: argparse._ArgumentGroup) -> None:
    steps = "steps to record (default: %(default)s)"
    add_option(
        group, "--steps --cycles N", steps, dest="cycles", type=_cycles, default=WatchPlan.cycles
    )
    plain = "unprofiled steps to time before them (default: %(default)s)"
    add_option(
        group, "--unprofiled --plain N", plain,
        dest="plain", type=cycles_or_none, default=WatchPlan.plain,
    )  # fmt: skip
    gap = "seconds between two recordings, at least (default: %(default)g)"
    add_option(group, "--gap S", gap, type=seconds, default=WatchPlan.gap_s)
    many = "most incidents per hour (default: %(default)s)"
    incidents = partial(whole_number, things="incidents")
    add_option(group, "--most-incidents N", many, type=incidents, default=WatchPlan.most_incidents)
    quota = "size of the folder above which the oldest incidents are deleted (default: 2G)"
    add_option(
        group,
        "--quota SIZE",
        quota,
        type=value_parser(size_bytes, "a size such as 500M or 2G"),
        default=WatchPlan.quota_bytes,
    )
    counters = "counters: all, none, or groups and names (default: %(default)s)"
    add_option(group, "--counters LIST", counters, default="all")
    add_option(group, "--no-record", "raise alarms without recording")


_cycles = partial(whole_number, things="steps")


def _rate(text: str) -> tuple[float, bool]:
    """False alarms, and whether they are per hour."""
    number = next(
        (text.removesuffix(suffix) for suffix in _PER_HOUR if text.endswith(suffix)), None
    )
    if number is None:
        return fraction(text), False
    return _positive(number, text, "a rate of false alarms, as 1/hour or 0.1%"), True


def _per_hour(text: str) -> float:
    number = next(
        (text.removesuffix(suffix) for suffix in _PER_HOUR if text.endswith(suffix)), text
    )
    return _positive(number, text, "a number of false alarms per hour, as 0.1")


def _positive(number: str, text: str, what: str) -> float:
    with suppress(ValueError):
        value = float(number)
        if 0 < value < 1e9:
            return value
    raise argument_error(text, what)


def _seed_number(text: str) -> int:
    return min(whole_number(text, "a seed"), 2**20) if text.strip("0") else 0


def run(options: argparse.Namespace) -> int:
    """Watch, learn or judge, as the options ask."""
    # --help does not wait for these.
    return {"run": _watch, "learn": _learn, "judge": _judge, "status": _status}.get(
        options.action, _ask
    )(options)


def _watch(options: argparse.Namespace) -> int:
    if options.pid is not None and options.program:
        raise UsageError("--pid and a program cannot go together", "leave out one of them")
    if options.logs is not None:
        return _watch_logs(options)
    program = () if options.pid is not None else program_in(options, "watch", "watch")
    plan_options = {name: getattr(options, name) for name in OPTION_NAMES}
    plan = plan_of(options.output.absolute(), plan_options, command=program, timesink=__version__)
    if program:
        check_program(program)
    plan = plan_in_place(plan, force=options.force)
    from timesink.watcher.interface import one_thread  # noqa: PLC0415 - start-up time

    with one_thread():
        from timesink.watcher.interface import watch_pid, watch_program  # noqa: PLC0415 - start-up time

    if options.pid is not None:
        return watch_pid(plan, options.pid, log_line)
    return watch_program(plan, log_line)


def _watch_logs(options: argparse.Namespace) -> int:
    """Watch logs of collectives, of a program where one is named."""
    if options.pid is not None:
        raise UsageError("--pid is not for --logs", "leave out --pid: the logs are enough")
    command = program_in(options, "watch", "watch") if options.program else ()
    plan_options = {name: getattr(options, name) for name in OPTION_NAMES}
    plan = plan_of(options.output.absolute(), plan_options, command=command, timesink=__version__)
    if command:
        check_program(command)
    from timesink.watcher.interface import watch_logs  # noqa: PLC0415 - start-up time

    return watch_logs(plan, options.logs, log_line, force=options.force)


def _ask(options: argparse.Namespace) -> int:
    from timesink.watcher.interface import ask_watcher  # noqa: PLC0415 - start-up time

    print(ask_watcher(Path(options.folder), options.action))
    return 0


def _status(options: argparse.Namespace) -> int:
    form = answer_form(options, _FORMATS, options.folder)
    folder = Path(options.folder)
    if (folder / LOG_WATCH_FILE).is_file():
        from timesink.watcher.interface import log_watch_document, log_watch_status  # noqa: PLC0415 - few

        logged = log_watch_status(folder)
        if form == "json":
            give_json(encode_json(logged), options.output)
        else:
            give_document(log_watch_document(folder, logged), form, options.output)
        return 0
    from timesink.watcher.interface import place_document, status_of  # noqa: PLC0415 - start-up time

    status = status_of(options.folder)
    if form == "json":
        give_json(encode_json(status), options.output)
    else:
        give_document(place_document(options.folder, status), form, options.output)
    return 0


def _judge(options: argparse.Namespace) -> int:
    form = answer_form(options, _FORMATS, options.rows, options.model)
    from timesink.watcher.interface import judge_durations, watch_document  # noqa: PLC0415 - --help waits not

    judgement = judge_durations(options.model, options.rows)
    if form == "json":
        give_json(judgement.to_json(), options.output)
    else:
        give_document(watch_document(judgement), form, options.output)
    return 0


def _learn(options: argparse.Namespace) -> int:
    check_output(options.output, options.rows, force=options.force)
    from timesink.watcher.interface import learn_durations, learned_sentences  # noqa: PLC0415 - start-up time

    rate, per_hour = options.false_alarms
    model = learn_durations(options.rows, rate=rate, per_hour=per_hour, seed=options.seed)
    write_bytes(model.to_json(), options.output)
    print("\n".join(learned_sentences(model)))
    return 0
