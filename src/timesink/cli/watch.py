"""Watch a program that runs, and say which cycles take longer than their workload explains.

  timesink watch -- python train.py                      learn, watch, record what is slow
  timesink watch --preset vllm --metrics 9400 -- vllm serve ...
  timesink watch --marker decode_step --on-alarm 'notify perf' -- python serve.py
  timesink watch --pid 4711                              a program that runs (Python 3.14)
  timesink watch status timesink-watch
  timesink watch accept timesink-watch                   what is slow now is usual from now on

The program is not edited.  The first cycles are learned from; then those that take longer than
their workload explains raise an alarm.  20 cycles are recorded then, compared with healthy ones,
and DIR/incidents says what changed.  The exit code is that of the program.

All options of watching:  timesink watch run --help

Tables of cycles (one row each: duration_us, job_name, start_ts, and columns of numbers that say
what it had to do) can be learned from and judged as well:

  timesink watch learn normal.csv.gz -o model.json
  timesink watch judge model.json today.csv --format json -o today.json
"""

from __future__ import annotations

import argparse
from contextlib import suppress
from functools import partial
from pathlib import Path

from timesink import __version__
from timesink.cli import note
from timesink.cli.options import (
    accepted,
    add_actions,
    add_force,
    add_option,
    add_output,
    add_place,
    add_program,
    cycles_or_none,
    file_only,
    fraction,
    program_in,
    refused,
    seconds,
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

_FORMATS = ("text", "json", "md")
_ACTIONS = {
    "run": "watch a program; also without this word",
    "status": "say how a program that is watched does",
    "accept": "take the cycles of now for usual: learn from the last ones",
    "reference": "record healthy cycles anew",
    "off": "end watching; the program goes on without the agent",
    "learn": "learn from a table of normal cycles what cycles of each workload take",
    "judge": "say which cycles of a table took longer",
}
_PER_HOUR = ("/hour", "/h")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink watch`."""
    made = add_actions(parser, _ACTIONS, usual="run")
    _add_live(made["run"])
    where = f"the folder of the watch (default: {DEFAULT_PLACE})"
    summary = ", or the place of --summary"
    for name, more in {"status": summary, "accept": "", "reference": "", "off": ""}.items():
        add_option(
            made[name], "folder DIR", f"{where}{more}", completed="folder", nargs="?",
            default=str(DEFAULT_PLACE),
        )  # fmt: skip
    add_output(made["status"], "write to a file; .txt, .md, .json choose the format", _FORMATS)
    learn, judge = made["learn"], made["judge"]
    add_option(learn, "rows ROWS", "normal cycles: CSV, also .gz, or Parquet", completed="file")
    add_place(learn, "FILE", "where the model goes", required=True)
    add_force(learn)
    rate = "false alarms to accept: a share of the cycles, or N/hour (default: 2%%)"
    add_option(learn, "--false-alarms RATE", rate, type=_rate, default=(0.02, False))
    add_option(learn, "--seed N", "of what is drawn (default: 0)", type=_seed, default=0)
    add_option(judge, "model MODEL", "what  timesink watch learn  wrote", completed="file")
    add_option(judge, "rows ROWS", "cycles: CSV, also .gz, or Parquet", completed="file")
    add_output(judge, "write to a file; .txt, .md, .json choose the format", _FORMATS)


def _add_live(parser: argparse.ArgumentParser) -> None:
    # Nobody writes the word: errors do not, either.
    parser.prog = "timesink watch"
    place = "the folder of the watch (default: %(default)s)"
    add_place(parser, "DIR", place, default=DEFAULT_PLACE)
    add_option(parser, "--force", "begin anew, without what an earlier watch left in the folder")
    process = partial(whole_number, things="a process")
    add_option(parser, "--pid N", "watch a program that runs", type=process)
    what = parser.add_argument_group("what a cycle is")
    marker = "a Python function or an annotation that begins one (default: an optimizer's step)"
    add_option(what, "--marker NAME", marker, default="")
    preset = f"of a known program: {', '.join(preset_names())}"
    add_option(what, "--preset NAME", preset, default="")
    span = "from call to call, or each call from start to end (default: loop)"
    add_option(what, "--span", span, choices=("loop", "call"), default="")
    workload = "a function that tells a cycle's workload from the arguments of the call"
    add_option(what, "--workload MODULE:FUNCTION", workload, default="")
    _add_learning(parser.add_argument_group("what is usual"))
    _add_recording(parser.add_argument_group("what is recorded"))
    told = parser.add_argument_group("who is told")
    command = "run it at an alarm, when its cause is known, and when it is over; no shell runs it"
    add_option(
        told, "--on-alarm CMD", command, type=accepted(command_words, "a command", bool), default=()
    )
    serve = "serve metrics for Prometheus (default host: 127.0.0.1)"
    add_option(
        told, "--metrics [HOST:]PORT", serve, type=accepted(metrics_address, "a port, or HOST:PORT")
    )
    add_option(told, "--otel", "send metrics by OpenTelemetry; needs timesink[otel]")
    summary = "a folder or URL where all watchers put their status"
    add_option(told, "--summary URL", summary, default="")
    add_program(parser, "watch")


def _add_learning(group: argparse._ArgumentGroup) -> None:
    learn = "cycles to learn from (default: %(default)s)"
    add_option(group, "--learn N", learn, type=_cycles, default=WatchPlan.learn)
    least = "and for so many seconds at least (default: %(default)g)"
    add_option(group, "--learn-seconds S", least, type=seconds, default=WatchPlan.learn_s)
    skip = "cycles of each process to let pass first (default: %(default)s)"
    add_option(group, "--skip N", skip, type=cycles_or_none, default=WatchPlan.skip)
    model = "what was learned before: model.json of another watch"
    add_option(group, "--model FILE", model, completed="file", type=file_only)
    rate = "false alarms an hour to accept (default: %(default)g)"
    add_option(group, "--false-alarms N", rate, type=_per_hour, default=WatchPlan.alarms_per_hour)
    shift = "slow-downs below this are let pass (default: 10%%)"
    add_option(group, "--at-least SHARE", shift, type=fraction, default=WatchPlan.at_least)


def _add_recording(group: argparse._ArgumentGroup) -> None:
    cycles = "cycles of a recording (default: %(default)s)"
    add_option(group, "--cycles N", cycles, type=_cycles, default=WatchPlan.cycles)
    plain = "cycles to time before, without the profiler (default: %(default)s)"
    add_option(group, "--plain N", plain, type=cycles_or_none, default=WatchPlan.plain)
    gap = "seconds between two recordings, at least (default: %(default)g)"
    add_option(group, "--gap S", gap, type=seconds, default=WatchPlan.gap_s)
    many = "most incidents an hour (default: %(default)s)"
    incidents = partial(whole_number, things="incidents")
    add_option(group, "--most-incidents N", many, type=incidents, default=WatchPlan.most_incidents)
    quota = "size of the folder, beyond which the oldest incidents go (default: 2G)"
    add_option(
        group,
        "--quota SIZE",
        quota,
        type=accepted(size_bytes, "a size such as 500M or 2G"),
        default=WatchPlan.quota_bytes,
    )
    counters = "all, none, or groups and names, as for  timesink record (default: %(default)s)"
    add_option(group, "--counters LIST", counters, default="all")
    add_option(group, "--no-record", "alarms only: never switch the profiler on")


_cycles = partial(whole_number, things="cycles")


def _rate(text: str) -> tuple[float, bool]:
    """False alarms, and whether they are per hour."""
    number = next((text.removesuffix(each) for each in _PER_HOUR if text.endswith(each)), None)
    if number is None:
        return fraction(text), False
    return _positive(number, text, "a rate of false alarms, as 1/hour or 0.1%"), True


def _per_hour(text: str) -> float:
    number = next((text.removesuffix(each) for each in _PER_HOUR if text.endswith(each)), text)
    return _positive(number, text, "a number of false alarms an hour, as 0.1")


def _positive(number: str, text: str, what: str) -> float:
    with suppress(ValueError):
        value = float(number)
        if 0 < value < 1e9:
            return value
    raise refused(text, what)


def _seed(text: str) -> int:
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
    program = () if options.pid is not None else program_in(options, "watch", "watch")
    told = {name: getattr(options, name) for name in OPTION_NAMES}
    plan = plan_of(options.output.absolute(), told, command=program, timesink=__version__)
    if program:
        check_program(program)
    plan = plan_in_place(plan, force=options.force)
    from timesink.watcher import one_thread  # noqa: PLC0415

    with one_thread():
        from timesink.watcher.program import watch_pid, watch_program  # noqa: PLC0415

    if options.pid is not None:
        return watch_pid(plan, options.pid, note)
    return watch_program(plan, note)


def _ask(options: argparse.Namespace) -> int:
    from timesink.watcher.journal import ask_watcher  # noqa: PLC0415

    print(ask_watcher(Path(options.folder), options.action))
    return 0


def _status(options: argparse.Namespace) -> int:
    form = answer_form(options, _FORMATS, options.folder)
    from timesink.answers.watch_status import place_document, status_of  # noqa: PLC0415

    found = status_of(options.folder)
    if form == "json":
        give_json(encode_json(found), options.output)
    else:
        give_document(place_document(options.folder, found), form, options.output)
    return 0


def _judge(options: argparse.Namespace) -> int:
    form = answer_form(options, _FORMATS, options.rows, options.model)
    from timesink.answers.watch import judge_durations, watch_document  # noqa: PLC0415 - --help waits not

    found = judge_durations(options.model, options.rows)
    if form == "json":
        give_json(found.to_json(), options.output)
    else:
        give_document(watch_document(found), form, options.output)
    return 0


def _learn(options: argparse.Namespace) -> int:
    check_output(options.output, options.rows, force=options.force)
    from timesink.answers.watch import learn_durations, learned_sentences  # noqa: PLC0415

    rate, per_hour = options.false_alarms
    model = learn_durations(options.rows, rate=rate, per_hour=per_hour, seed=options.seed)
    write_bytes(model.to_json(), options.output)
    print("\n".join(learned_sentences(model)))
    return 0
