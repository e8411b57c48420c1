"""Say which cycles take longer than their workload explains.

Learn from a table of normal cycles (one row each: duration_us, job_name, start_ts, and columns of
numbers that say what it had to do) what cycles take; then judge others.

  timesink watch learn normal.csv.gz -o model.json
  timesink watch learn normal.csv.gz -o model.json --false-alarms 10/hour
  timesink watch judge model.json today.csv
  timesink watch judge model.json today.csv --format json -o today.json
"""

from __future__ import annotations

import argparse
from contextlib import suppress

from timesink.cli.options import (
    add_actions,
    add_force,
    add_option,
    add_output,
    file_only,
    fraction,
    refused,
    whole_number,
)
from timesink.cli.outputs import check_answer, check_output, format_of, give_document, give_json

_FORMATS = ("text", "json", "md")
_ACTIONS = {
    "learn": "learn from normal cycles what cycles of each workload take",
    "judge": "say which cycles of a table took longer",
}
_PER_HOUR = ("/hour", "/h")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink watch`."""
    made = add_actions(parser, _ACTIONS)
    learn, judge = made["learn"], made["judge"]
    add_option(learn, "rows ROWS", "normal cycles: CSV, also .gz, or Parquet", completed="file")
    what = "where the model goes"
    add_option(
        learn, "-o --output FILE", what, completed="file", type=file_only, required=True
    )  # fmt: skip
    add_force(learn)
    rate = "false alarms to accept: a share of the cycles, or N/hour (default: 2%%)"
    add_option(learn, "--false-alarms RATE", rate, type=_rate, default=(0.02, False))
    add_option(learn, "--seed N", "of what is drawn (default: 0)", type=_seed, default=0)
    add_option(judge, "model MODEL", "what  timesink watch learn  wrote", completed="file")
    add_option(judge, "rows ROWS", "cycles: CSV, also .gz, or Parquet", completed="file")
    add_output(judge, "write to a file; .txt, .md, .json choose the format", _FORMATS)


def _rate(text: str) -> tuple[float, bool]:
    """False alarms, and whether they are per hour."""
    number = next((text.removesuffix(each) for each in _PER_HOUR if text.endswith(each)), None)
    if number is None:
        return fraction(text), False
    with suppress(ValueError):
        value = float(number)
        if 0 < value < 1e9:
            return value, True
    raise refused(text, "a rate of false alarms, as 1/hour or 0.1%")


def _seed(text: str) -> int:
    return min(whole_number(text, "a seed"), 2**20) if text.strip("0") else 0


def run(options: argparse.Namespace) -> int:
    """Learn or judge, as the options ask."""
    if options.action == "learn":
        return _learn(options)
    form = format_of(options, _FORMATS)
    check_answer(options, form, options.rows, options.model)
    from timesink.answers.watch import judge_durations, watch_document  # noqa: PLC0415 - --help waits not

    found = judge_durations(options.model, options.rows)
    if form == "json":
        give_json(found.to_json(), options.output)
    else:
        give_document(watch_document(found), form, options)
    return 0


def _learn(options: argparse.Namespace) -> int:
    check_output(options.output, options.rows, force=options.force)
    from timesink.answers.watch import learn_durations, learned_sentences  # noqa: PLC0415
    from timesink.cli.outputs import write_bytes  # noqa: PLC0415

    rate, per_hour = options.false_alarms
    model = learn_durations(options.rows, rate=rate, per_hour=per_hour, seed=options.seed)
    write_bytes(model.to_json(), options.output)
    print("\n".join(learned_sentences(model)))
    return 0
