"""The tables of a trace, asked in SQL or written as files: `query` and `export`."""

from __future__ import annotations

import argparse
import math
import os
import re
import shlex
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from timesink.cli.command_line import print_stderr
from timesink.cli.export_flame import add_flame_arguments, refuse_flame_options, run_flame
from timesink.cli.options import (
    add_engine_options,
    add_force,
    add_input,
    add_option,
    add_output,
    add_place,
    argument_error,
    engine_from,
    input_from,
    open_input,
    read_options,
    seconds,
    whole_number,
)
from timesink.cli.outputs import (
    answer_form,
    check_output,
    check_output_folder,
    give_document,
    give_frame,
    remember_folder,
)
from timesink.errors import QueryError, QueryLimitError, UsageError
from timesink.model.units import brief_bytes, count_noun
from timesink.runtime.limited_call import (
    CallEndedError,
    CallLimits,
    Limited,
    limited_call,
    may_fork,
)

if TYPE_CHECKING:
    import polars as pl

    from timesink.model.trace import Trace
    from timesink.sources.discovery import Input

# -- timesink query --------------------------------------------------------------------------------

QUERY = r"""Query the tables of a recording in SQL.

  timesink query trace.json.gz "select * from steps"
  timesink query trace.json.gz \
    "select name, sum(dur_ns) ns from device where kind = 'kernel' group by name order by ns desc"

Tables: host, device, collectives, memory, counters, flows, event_args, tracks, steps.  Their
columns are in docs/tables.md.  Views have the names of `timesink analyze --view`, such as kernels
or kernel_launches; view_steps, view_memory and view_collectives where a table has the name.

  timesink query base/ --against new/ "select * from times order by delta_ns desc limit 10"

With --against, the tables are those of `timesink compare --view`.
"""

_QUERY_FORMATS = ("text", "json", "csv", "md")
_TEXT_ROWS, _QUERY_WIDEST = 60, 160
_MAX_MEMORY, _MAX_MEMORY_TEXT = 4 << 30, "4 GiB"


def add_query_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink query`."""
    add_input(parser)
    add_option(parser, "sql SQL", 'SQL query, e.g. "select * from steps"')
    new = "query what changed from PATH to this recording or folder"
    add_option(parser, "--against NEW", new, completed="file")
    what = "write the whole result to a file; .json and .csv choose the format"
    add_output(parser, what, ("text", "json", "csv"))
    limits = parser.add_argument_group("limits (exit code 3: beyond one of them)")
    what = (
        "memory of the query, e.g. 500MB (default: half of the machine's, at most "
        f"{_MAX_MEMORY_TEXT})"
    )
    add_option(limits, "--max-memory SIZE", what, type=memory_size)
    time = "seconds for the query (default: 60)"
    add_option(limits, "--timeout S", time, type=seconds, default=60.0)
    rows = "rows of the result (default: 5 million)"
    add_option(limits, "--limit ROWS", rows, type=row_limit, default=5_000_000)


def memory_size(text: str) -> int:
    """An amount of memory in bytes: 4GiB, 500MB, 1000000.

    >>> memory_size("4GiB"), memory_size("1.5 MB"), memory_size("70000000")
    (4294967296, 1500000, 70000000)
    """
    size = re.fullmatch(r"(\d{1,15}(?:\.\d{1,3})?) ?([KMGT]?)(i?)B?", text.strip(), re.IGNORECASE)
    if size is None or float(size[1]) == 0:
        raise argument_error(text, "an amount of memory, such as 4GiB or 500MB")
    power = " KMGT".index(size[2].upper() or " ")
    return int(float(size[1]) * (1024 if size[3] else 1000) ** power)


def row_limit(text: str) -> int:
    """A number of rows an answer may have."""
    return min(whole_number(text, "rows"), 1 << 40)


def _default_memory() -> int:
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on this system
        return _MAX_MEMORY
    return min(_MAX_MEMORY, machine // 2)


def write_answer(limited: Limited, source: Input, options: argparse.Namespace, file: str) -> None:
    """Write the answer to a file, in the process that is ended where it takes too much."""
    _answer(limited, source, options).write_ipc(file)


def show_answer(limited: Limited, source: Input, options: argparse.Namespace, form: str) -> int:
    """Show the answer, in a copy of the process that was asked: what is loaded is loaded once."""
    code = _show(_answer(limited, source, options), options, form)
    sys.stdout.flush()
    return code


def _answer(limited: Limited, source: Input, options: argparse.Namespace) -> pl.DataFrame:
    from timesink.answers.query import QueryLimits  # noqa: PLC0415 - see `run_query`
    from timesink.answers.query import run_query as ask  # noqa: PLC0415

    # Time is kept by whoever waits for it.
    limits = QueryLimits(options.limit, math.inf, options.max_memory)
    if options.against is not None:
        from timesink.answers.comparison.report import compare  # noqa: PLC0415 - most queries need none
        from timesink.answers.query import query_comparison  # noqa: PLC0415

        with read_options(options) as reading:
            comparison = compare(options.path, options.against, rank=options.rank, **reading)
        with limited():
            return query_comparison(comparison, options.sql, limits)
    trace = open_input(source, options)
    with limited():
        return ask(trace, options.sql, limits)


def _refusal(ended: CallEndedError, options: argparse.Namespace) -> QueryError:
    if ended.why == "time":
        text = f"the query took longer than {options.timeout:g} s"
        return QueryLimitError(
            text, "filter rows before they are joined, or allow more with --timeout S"
        )
    if ended.why == "memory":
        text = f"the query takes more than {brief_bytes(options.max_memory)} of memory"
        return QueryLimitError(
            text, "filter rows before they are joined, or allow more with --max-memory SIZE"
        )
    return QueryError("the process of the query ended without a result", "try a simpler query")


def run_query(options: argparse.Namespace) -> int:
    """Ask, and say the answer as the options ask."""
    source = input_from(options)
    others = [] if options.against is None else [input_from(options, options.against)]
    form = answer_form(options, _QUERY_FORMATS, source, *others)
    options.max_memory = options.max_memory or _default_memory()
    limits = CallLimits(options.max_memory, options.timeout)
    try:
        # Polars is not loaded here: a copy of a process that has its threads may wait for ever.
        if may_fork():
            return int(limited_call(__name__, "show_answer", (source, options, form), limits))
        with TemporaryDirectory(prefix="timesink-", ignore_cleanup_errors=True) as folder:
            file = os.path.join(folder, "answer.arrow")  # noqa: PTH118 - for another process
            limited_call(__name__, "write_answer", (source, options, file), limits)
            import polars as pl  # noqa: PLC0415 - start-up time

            return _show(pl.read_ipc(file), options, form)
    except CallEndedError as ended:
        raise _refusal(ended, options) from None


def _show(result: pl.DataFrame, options: argparse.Namespace, form: str) -> int:
    if form in {"json", "csv"}:
        give_frame(result, form, options.output)
        return 0
    from timesink.answers.tables import frame_document  # noqa: PLC0415 - start-up time

    on_screen = options.output is None and form == "text"
    give_document(
        frame_document(result.head(_TEXT_ROWS) if on_screen else result),
        form,
        options.output,
        _QUERY_WIDEST,
    )
    if on_screen and result.height > _TEXT_ROWS:
        left = result.height - _TEXT_ROWS
        print_stderr(f"... {left} more rows; add a limit, --format csv or -o FILE")
    return 0


# -- timesink export -------------------------------------------------------------------------------

EXPORT = """Write a recording for other tools.

  timesink export trace.json.gz -o tables/          Parquet, one file per table
  timesink export damaged.json.gz -o mended.json.gz JSON that Perfetto opens
  timesink export RUN -o run.pftrace                the same in Perfetto's own format
  timesink export RANKS/ -o run.zip                 all ranks, which Perfetto opens aligned
  timesink export RANKS/ -o run.json.gz --steps 5-6 all ranks in one JSON, collectives linked
  timesink export x_perf_data.csv.gz -o x.parquet   a behaviour table in another format
  timesink export RUN -o own.json.gz --own-clock --critical-path
                                                    without profiler overhead, with critical path
  timesink export RUN --flame speedscope -o run.speedscope.json
  timesink export NEW --base RUN --flame pprof -o change.pb.gz
                                                    time by call stack, and what two runs differ by

timesink opens a Parquet folder like the trace it was made from.
"""


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `timesink export`."""
    add_input(parser)
    what = (
        "folder for Parquet, or a file .json, .json.gz, .pftrace or .pftrace.gz; "
        "of ranks also .zip, of a behaviour table also .parquet, .csv or .csv.gz"
    )
    add_place(parser, "DIR|FILE", what, required=True)
    help_text = "write times without profiler overhead, where these are known"
    add_option(parser, "--own-clock", help_text)
    path = "mark the critical path, with arrows and an argument on its events"
    add_option(parser, "--critical-path", path)
    add_flame_arguments(parser)
    add_option(parser, "--ranks LIST", "only these ranks of a set, e.g. 0,3-5 (default: all)")
    add_option(parser, "--steps RANGE", "only these steps, e.g. 5-8 or 5,7,9 (default: all)")
    detail = (
        "all: everything (the default); operators: without Python calls; device: device work, its "
        "launches and annotations"
    )
    choices = ("all", "operators", "device")
    add_option(parser, "--detail {all,operators,device}", detail, choices=choices, default="all")
    add_engine_options(parser)
    add_force(parser)


def run_export(options: argparse.Namespace) -> int:
    """Write the trace the options name, in the format the output's name tells."""
    from timesink.formats.chrome.writer import write_chrome_json  # noqa: PLC0415 - start-up time
    from timesink.formats.parquet_folder import export_folder  # noqa: PLC0415

    if options.flame is not None:
        return run_flame(options)
    refuse_flame_options(options)
    output: Path = options.output
    as_json = output.name.lower().endswith((".json", ".json.gz"))
    as_packets = output.name.lower().endswith((".pftrace", ".pftrace.gz"))
    as_archive = output.name.lower().endswith(".zip")
    as_table = output.name.lower().endswith((".parquet", ".csv", ".csv.gz"))
    if output.suffix and not (as_json or as_packets or as_archive or as_table or output.is_dir()):
        raise UsageError(
            f"{output}: neither .json, .pftrace, .zip nor the name of a folder",
            "give a folder without an ending for Parquet, or a name ending in .json or .pftrace",
        )
    check = check_output if as_json or as_packets or as_archive or as_table else check_output_folder
    source = input_from(options)
    check(output, source, force=options.force)
    if as_archive or (as_json and source.exported is None and len(source.recordings) > 1):
        return _export_ranks(source, options)
    if as_packets and source.exported is None and len(source.recordings) > 1:
        raise UsageError(
            f"{source.label}: holds {len(source.recordings)} recordings; a .pftrace holds one",
            "give -o a name ending in .zip for all of them, or choose one with --rank N",
        )
    trace = _prepare_trace(open_input(source, options), options)
    if as_table:
        from timesink.formats.behaviour import write_behaviour  # noqa: PLC0415 - start-up time

        if not trace.has_behaviour:
            raise UsageError(
                f"{output}: only a behaviour table is written as one file",
                "give -o a folder, or make the table first:  timesink functions TRACE -o FILE",
            )
        write_behaviour(trace.behaviour, output)
        remember_folder(output)
        print(f"Wrote {output} ({trace.behaviour.height} rows)")
        print(f"Next: timesink compare {shlex.quote(str(output))} OTHER")
        return 0
    quoted = shlex.quote(str(output))
    if as_json or as_packets:
        if trace.has_only_collectives:
            raise UsageError(
                f"{source.label}: logs of collectives have no timeline to draw",
                "give -o a folder for Parquet, or ask  timesink analyze",
            )
        from timesink.formats.perfetto.writer import write_pftrace  # noqa: PLC0415 - start-up time

        written = (write_chrome_json if as_json else write_pftrace)(trace, output)
        remember_folder(output)
        print(f"Wrote {output} ({written} events)")
        print(f"Next: open it at https://ui.perfetto.dev, or run  timesink info {quoted}")
    else:
        from timesink.analyses.operators import with_call_stacks  # noqa: PLC0415 - start-up time

        export_folder(with_call_stacks(trace), output, force=True)
        print(f"Wrote {output} (one Parquet file per table)")
        sorts = (
            ("collective_calls", trace.has_only_collectives),
            ("memory_blocks", trace.has_only_memory),
            ("steps", trace.has_timeline),
            ("behaviour", trace.has_behaviour),
        )
        table = next((name for name, has in sorts if has), "kernel_calls")
        print(f"Next: timesink query {quoted} 'select * from {table}'")  # noqa: S608 - a hint
    return 0


def _export_ranks(source: Input, options: argparse.Namespace) -> int:
    """Write all ranks of a run into one file."""
    from timesink.answers.rank_export import ExportChoice, export_ranks  # noqa: PLC0415 - start-up time

    if options.own_clock or options.critical_path:
        flag = "--own-clock" if options.own_clock else "--critical-path"
        raise UsageError(f"{flag} is for one rank", "choose it with --rank N")
    choice = ExportChoice(options.ranks, options.steps, options.detail)
    with read_options(options) as reading:
        done = export_ranks(
            source,
            options.output,
            choice,
            engine=engine_from(options),
            cache=reading["cache"],
            progress=reading["progress"],
        )
    remember_folder(options.output)
    print(f"Wrote {options.output} ({count_noun(done.ranks, 'ranks')}, {done.events} events)")
    if done.arrows:
        print(f"{count_noun(done.arrows, 'collectives')} linked across ranks")
    if done.aligned < done.ranks:
        apart = count_noun(done.ranks - done.aligned, "ranks")
        print(f"Clocks of {apart} are not tied to the first by collectives: as recorded")
    print("Next: open it at https://ui.perfetto.dev")
    return 0


def _prepare_trace(trace: Trace, options: argparse.Namespace) -> Trace:
    """The trace on the clock that is asked for, with its path where that is wanted."""
    if options.steps is not None or options.detail != "all":
        from timesink.analyses.timeline.excerpt import excerpt  # noqa: PLC0415 - start-up time

        trace = excerpt(trace, steps=options.steps, detail=options.detail)
    if not (options.own_clock or options.critical_path):
        return trace
    from timesink.analyses.replay.own_clock import own_clock, own_timeline  # noqa: PLC0415 - start-up time
    from timesink.analyses.timeline.overlays import path_pieces, with_path  # noqa: PLC0415

    if not trace.has_timeline:
        raise UsageError(f"{options.path}: no timeline", "give the trace it was made from")
    if options.own_clock and not (clock := own_clock(trace)).is_known:
        raise UsageError(
            f"{options.path}: times without profiler overhead are not known: {clock.why}",
            "export without --own-clock, or record with  timesink record,  which measures it",
        )
    drawn = own_timeline(trace) if options.own_clock else trace
    if options.critical_path:
        return with_path(drawn, path_pieces(trace, by_itself=options.own_clock))
    return drawn


PARTS = {
    "query": (QUERY, add_query_arguments, run_query),
    "export": (EXPORT, add_export_arguments, run_export),
}
