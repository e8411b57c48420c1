"""Every answer users rely on, written to files: does a change of the code change one?

  python tests/outputs.py record FOLDER            ask every question, write each answer to a file
  python tests/outputs.py record FOLDER --every 6  a sixth of the questions, the same ones each time
  python tests/outputs.py compare BEFORE AFTER     say which answers differ; exit code 1 if any does

Needs the folder of real recordings: ../shared, or what TIMESINK_SHARED names.  Takes minutes.

Only what users can reach is asked: the command line, the Python API, a server.  `data/` must stay
equal (JSON, CSV, reports, errors, help, API), and so must `pages/` (documents of the app and of
HTML reports, pictures).  `text/` is for people to look at: what differs there is listed apart, as
layout, and fails only with --strict.  What was said on standard error, and an exit code other than
0, is in a file .said; what a command wrote is in a folder .out.  Of binary files there are digests.
What varies by itself is replaced: paths and the name of this machine, times of day, the version.

Published answers are checked with the tools of that folder (the second needs pandas):

  check_tb.py ../shared/data/kineto/tb_golden.jsonl FOLDER/data/serve/kineto/golden.jsonl
  check_compare.py --loose-u ../shared/data/latencyprism/golden/NAME.csv FOLDER/data/**/NAME.csv
"""

from __future__ import annotations

import argparse
import gzip
import inspect
import io
import json
import multiprocessing
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from hashlib import sha256
from itertools import pairwise, product, zip_longest
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen
from zlib import crc32

import polars as pl

import timesink
import timesink_lab
from timesink.cli import main as command_line

WORKERS = 2
LONGEST = 3_000_000
SHARED = Path(os.environ.get("TIMESINK_SHARED", Path(__file__).resolve().parents[2] / "shared"))
SAMPLES = timesink.sample().parent
FILES = {
    "zero.json": b"",
    "noise.json": b"nothing of a trace",
    "no_events.json": b'{"traceEvents": []}',
    "cut.json.gz": timesink.sample().read_bytes()[:100_000],
    "wrong.toml": b'[cycle]\nmax = "soon"\n',
    "own.toml": b'[cycle]\nmax = "1 s"\n[operators]\n"aten::*" = { max_increase = "50%" }\n',
}
VARYING = (
    r'("(?:changed_s|generation|saved|bytes|timesink|version)": ?|timestamp=|hostname=)[^,\s>]+',
    r"((?:^|by )timesink )\d[\d.]+",
    r"(Saved @.* |@\w+ +|saved )[\d:. -]+(?:UTC.*|[KM]iB)",
)
"""What follows the group is not told."""

# -- questions -------------------------------------------------------------------------------------
# A command in each line; (a|b) stands for both, PATH for each of some paths.  What a command writes
# to out/ belongs to its answer, what it writes to made/ is for those after it.  ~ marks layout.

NAMES = {
    "CASES": "data/latencyprism/SGLang",
    "FAULTS": "data/h200/faults",
    "RANKS": "data/h200/traces/ddp8",
    "UNET": "samples/unet_train.pt.trace.json.gz",
    "DECODE": "samples/decode.behaviour.parquet",
    "SLOWER": "samples/decode_slow_clock.behaviour.parquet",
    "PLUGIN": "data/plugin/pytorch_profiler",
    "VIEWS": "steps|operators|launch-sites|kernels|kernel-launches|annotations|devices|device-time|"
    "overlap|kernel-kinds|idle|idle-causes|gaps|launches|operator-delays|queue|queue-depth|memory|"
    "memory-peaks|memory-live|memory-curve|memory-events|modules|collectives|workers|"
    "collective-statistics|mismatches|ranks|stragglers|collectives-matched|clocks|rank-steps|"
    "process-groups|rank-groups",
}
OF_EVERY_PATH = """
(info|analyze|diagnose) PATH --format json
(cycles|behaviour) PATH --format (json|csv)"""
SOME_PATHS = """samples/unet*trace* data/kineto/*_0/*9861* data/mlu/*input* data/(nsys|rocprof)/*
data/h200/faults/normal data/h200/traces/(cuda_graph|llama_decode|ddp8_stall_rank3)
data/hta/(amd|call|mtia|nccl)* data/tracelens/(b200|mi300/r|inference/s)*"""
OF_SOME_PATHS = """
analyze PATH --view (VIEWS) --format (csv|json)
analyze PATH (--format json|--view operators --format csv) --group-by (name|shape|stack|shape-stack)
query PATH "select kind, sum(dur_ns) from (host|device) group by kind order by kind" --format json
query PATH "select * from (steps|tracks|collectives|counters) limit 50" --format (csv|json)
export PATH -o out/(tables|chrome.json.gz)
(analyze|info|diagnose) PATH -o out/report.html
~(info|analyze|cycles|behaviour|diagnose|kernels) PATH
~(analyze|cycles|diagnose|kernels) PATH --format md
~analyze PATH --view (operators|kernels|ranks|memory|steps) --top 15"""
COUNTED = "data/h200/ncu/* data/ncu-text/* seeds/00[012]* samples/*ncu*"
OF_COUNTED = """
kernels PATH (--calls|--format json|--format csv|--calls --format csv|-o out/kernels.html)
kernels PATH --by (family|full-name) --sort headroom --top 20 --format csv
kernels PATH (--low 25%|--every 7|--device H100|--peaks dram=4TB/s,fp16=1PFLOP/s) --format json
kernels PATH --picture (density|strip|classes|roofline) -o out/picture.svg
~kernels PATH (--format md|--format table|--by family --min-share 1)"""
OF_JOINED = """
kernels data/h200/ncu/PATH.csv.gz --trace data/h200/traces/PATH (--calls --format csv|--format json)
kernels data/h200/ncu/PATH.csv.gz --trace data/h200/traces/PATH --by (operator|module) --format csv
kernels data/h200/ncu/PATH.csv.gz --trace data/h200/traces/PATH -o out/kernels.html
~kernels data/h200/ncu/PATH.csv.gz --trace data/h200/traces/PATH"""
PAIRS = """
FAULTS/normal FAULTS/(normal_b|cpu_squeeze|fp32_regression|gpu_clock|gpu_contention)
FAULTS/normal FAULTS/(hbm_saturation|pcie_saturation|python_stall|sync_bug)
RANKS_normal RANKS_(stall_rank3|normal --rank 2)
data/hta/trace_diff/control data/hta/trace_diff/test
data/hta/trace_compare/base data/hta/trace_compare/test
data/tracelens/h100/timesformer.json.gz data/tracelens/mi300/timesformer.json.gz
DECODE SLOWER
CASES/(gpu_instability|gpu_memory_squeeze_out_NVLink|cpu_frequency_reduction)"""
OF_PAIRS = """
compare PATH (|--table times) --format csv
compare PATH (--format json|--fail-on 5% -o out/results|-o out/comparison.html)
~compare PATH (--format text|--format md|--table times --top 20)"""
IN_TURN = """
compare CASES/gpu_instability --pid 944615 -o out/SGLang_gpu_instability_pid944615_strict.csv
compare CASES/gpu_memory_squeeze_out_NVLink --pid 923229 \
    -o out/SGLang_gpu_memory_squeeze_out_NVLink_pid923229_strict.csv
compare CASES/cpu_frequency_reduction --pid 805580,842126 \
    -o out/SGLang_cpu_frequency_reduction_n_pid805580_vs_a_pid842126_cross.csv
compare CASES/gpu_instability --format (report|junit|csv --table families)
compare CASES (--explore |)--format json
compare RANKS_stall_rank3 --explore -o out/results
(--help|--version|lab list --format json)
~demo -o out/demo.html
(analyze|compare|baseline|diagnose|behaviour|cycles|kernels|record|lab|ncu|info|query) --help
(export|serve|demo|cache|completion|lab list|lab run|lab score|lab ranks|baseline save) --help
baseline (list|show|remove|budgets) --help
completion (bash|zsh|tcsh)
analyze UNET (--steps 3|--no-cache|--jobs 1) --format json
analyze RANKS_normal (--rank 3|--worker rank5|--steps 4-5|--jobs 1) --format json
analyze "RANKS_normal/rank[0-3]*" --format json
(cycles|behaviour) FAULTS/normal --by (kernels|python|layer|marker) --format (json|csv)
cycles data/h200/traces/bert_train --marker aten::linear --format json
kernels UNET (--format json|--format csv|--calls)
behaviour FAULTS/normal -o out/normal.(behaviour.parquet|csv|csv.gz|json)
export CASES/gpu_instability/normal_perf_data/result_perf_data.csv.gz -o out/table.(parquet|csv)
diagnose FAULTS/sync_bug -o out/diagnosis
lab ranks -o (out/ranks|made/slow) --ranks 8 --tensor 2 --seed 1 --straggler data_loading:3
lab ranks -o made/healthy --ranks 8 --tensor 2 --seed 1
analyze made/slow (--format json|--view stragglers --format csv|--view clocks --format csv)
compare made/healthy made/slow (--format json|--fail-on 5% -o out/results)
baseline save main FAULTS/(normal|normal_b|normal_b --force|normal --force)
baseline save @decode DECODE --store made/store
baseline (list|list --store made/store|list --store made/none|show @main) --format json
~baseline (list|list --store made/store|list --store made/none|show @main)
baseline budgets @main --headroom (1% -o made/tight.toml|10%)
compare @main FAULTS/(gpu_clock|normal_b) --fail-on regression --format (json|md|junit)
compare @main FAULTS/(gpu_clock|normal_b) --budget made/(tight|own).toml -o out/(results|a.xml)
compare @decode SLOWER --store made/store --fail-on (5|50)% --format json
baseline remove (main|nothing)
compare @main FAULTS/normal --fail-on 5% -o out/results"""
WRONG = """
(nonsense|analyze|record|record --whole --stop -- true|cache nonsense|completion fish)
(info|analyze|compare|diagnose|cycles|behaviour|kernels) (missing.json|made/empty)
(info|analyze|cycles) made/(zero.json|noise.json|cut.json.gz|no_events.json) --format json
analyze (DECODE|samples/unet_train.ncu.csv.gz|UNET --no-such-option)
analyze UNET (--view nonsense|--format csv|--steps x|--steps 90|--top 0|--rank 7|--span 9|-o)
analyze UNET (--view kernels --group-by shape|-o no/where.json|-o out/x.pdf|-o samples|UNET)
analyze UNET --view kernels (-o out/x.html|--worker nobody|--engine nonsense)
query UNET ("select x from device"|"drop table host"|"select * from nowhere"|"")
(query RANKS_normal "select 1"|export UNET -o -|export UNET|export UNET -o out/x.xml)
cycles FAULTS/normal (--marker nonsense|--by nonsense|--pid 1)
compare DECODE (--explore|missing --fail-on 5%|@nothing|DECODE --fail-on quickly)
compare DECODE DECODE (--budget made/wrong.toml|--budget none.toml|--rank 9|-o no/x/y)
compare CASES/gpu_instability (--pid 1|--top 3 --format md)
kernels data/h200/ncu/gpt_infer.csv.gz (--peaks nonsense|--by operator|--low 2|--trace UNET)
baseline (save a/b DECODE|save x missing|show nothing|budgets DECODE --headroom 1|nonsense)
lab (score made/empty|ranks -o made/x --straggler nonsense|run -o out/x --fault nonsense)"""
LOGDIRS = "data/kineto data/mlu made/logs data/hta/trace_diff data/h200/traces/ddp8_stall_rank3"
OF_RUNS = """
api/document?page=(overview|operators|kernels|memory|modules|distributed)
api/table?view=(steps|kernels|operators&group_by=shape|ranks|memory-curve)&rows=50
api/table?view=kernel-launches&column=operator&equals=aten::mm
api/stacks?operator=(aten::convolution|aten::mm|)
api/timeline/(tracks|slices|counters|flows|aggregate|search?q=conv|slice?id=90|slice?id=-1|none)
api/timeline/(slices?pixels=200&from=0&to=5000000|export?from=0&to=2000000)
PLUGIN/(workers|spans|views|overview|memory|memory_curve|memory_events|memory_peak|module)
PLUGIN/(tree|trace|kernel/tc_pie|operation/stack?op_name=aten::convolution)
PLUGIN/operation(|/table)?group_by=(Operation|OperationAndInputShape)
PLUGIN/kernel(|/table)?group_by=(Kernel|KernelNameAndOpName|nonsense)
PLUGIN/distributed/(overlap|gpuinfo)"""
OF_ALL_WORKERS = "PLUGIN/distributed/(overlap|waittime|commops|gpuinfo|mluinfo)"
GOLDEN = """PLUGIN/overview
PLUGIN/operation(|/table)?group_by=Operation
PLUGIN/kernel(/table|)?group_by=Kernel"""

# -- asking ----------------------------------------------------------------------------------------


def all_tasks(every: int = 1) -> list[Callable[[Path], None]]:
    """Pieces of work, each of several questions; of questions that stand alone, one in `every`."""
    blocks = [
        *(lines_of(OF_SOME_PATHS, path) for path in matching_files(SOME_PATHS)),
        *(lines_of(OF_PAIRS, pair) for pair in lines_of(PAIRS)),
        *(lines_of(OF_COUNTED, path) for path in matching_files(COUNTED)),
        *(lines_of(OF_JOINED, name) for name in ("gpt_infer", "unet_train")),
        *(lines_of(OF_EVERY_PATH, path) for path in matching_files("data/**/* samples/*")),
        lines_of(WRONG),
    ]
    drawn = [[line for line in block if crc32(line.encode()) % every == 0] for block in blocks]
    drawn = [lines_of(IN_TURN), *filter(None, drawn)]
    servers = [partial(ask_server, logdir) for logdir in LOGDIRS.split()[::every]]
    return [*servers, *(partial(ask_commands, block) for block in drawn), ask_python]


def matching_files(patterns: str) -> list[Path]:
    lines = [line for pattern in patterns.split() for line in expand_choices(pattern)]
    return sorted({path for line in lines for path in Path().glob(line)})


def lines_of(questions: str, path: object = "") -> list[str]:
    for name, replacement in {**NAMES, "PATH": str(path)}.items():
        questions = questions.replace(name, replacement)
    return [choice for line in questions.strip().split("\n") for choice in expand_choices(line)]


def expand_choices(line: str) -> Iterator[str]:
    """A line with (a|b) as two."""
    choices = re.search(r"\(([^()]*\|[^()]*)\)", line)
    if choices is None:
        yield line
        return
    for choice in choices[1].split("|"):
        yield from expand_choices(line[: choices.start()] + choice + line[choices.end() :])


def enter_workshop(place: str) -> None:
    """Go where relative paths lead to recordings, and nothing else is."""
    os.chdir(tempfile.mkdtemp(dir=place))
    for name in ("out", "made/empty", "made/logs"):
        Path(name).mkdir(parents=True)
    for link in (SHARED / "data", SHARED / "seeds", SAMPLES):
        Path(link.name).symlink_to(link.resolve())
    for name, content in FILES.items():
        Path("made", name).write_bytes(content)
    for file in SAMPLES.iterdir():
        run = Path("made/logs", file.name.split(".")[0])
        run.mkdir(exist_ok=True)
        os.utime(shutil.copy(file, run), (1e9, 1e9))


def work(task: Callable[[Path], None], place: str, folder: Path) -> None:
    enter_workshop(place)
    task(folder)


def ask_commands(lines: list[str], folder: Path) -> None:
    for line in lines:
        words = shlex.split(line.removeprefix("~"))
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in "oe")
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code: object = command_line(words)
            except SystemExit as exit_:
                code = exit_.code
        answer = f"{'text' if line[0] == '~' else 'data'}/{name_of(words)}"
        output, messages = (stream.buffer.getvalue() for stream in (out, err))
        messages += f"exit code {code}\n".encode() if code else b""
        if output or not messages:
            write(folder, answer, output)
        if messages:
            write(folder, f"{answer}.said", messages)
        for file in Path("out").rglob("*"):
            if file.is_file():
                write(folder, f"{answer}.{file}", file.read_bytes())
        shutil.rmtree("out")
        Path("out").mkdir()


def name_of(words: list[str]) -> str:
    """Where an answer goes: command, what it is about, options, format."""
    about = 2 if words[1:] and not words[1].startswith("-") else 1
    line = " ".join(words[about:]).replace("data/", "").replace("/", ".")
    form = re.search(r"--format (\w+)", line)
    options = re.sub(r" ?--format \w+", "", line).strip() or "plain"
    place = "/".join(words[:about]).replace("/data/", "/")
    return clean(f"{place}/{options}.{form[1] if form else 'txt'}")


def clean(name: str) -> str:
    return re.sub(r"[^\w./@,%=-]+", "_", name)[:240]


def ask_server(logdir: str, folder: Path) -> None:
    command = [sys.executable, "-m", "timesink", "serve", logdir, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            (address,) = re.findall(r"http://\S+", next(iter(server.stdout or ())))
            name = f"serve/{Path(logdir).name}"
            answers = ask_routes(partial(ask_route, address, folder, name))
        finally:
            server.terminate()
    runs = sorted({run for _, run, *_ in answers})
    golden = [
        answers.get((route, run, "worker0", "1")) for run in runs for route in lines_of(GOLDEN)
    ]
    if all(golden):
        write(folder, f"data/{name}/golden.jsonl", b"\n".join(golden))


def ask_routes(get: Callable[..., bytes]) -> dict[tuple[str, ...], bytes]:
    """Every route: all workers of a run, the first and the last one, runs beside each other."""
    runs, answers = json.loads(get("api/runs"))["runs"], {}
    for run in runs:
        get("api/utilisation", run=run["name"])
        names = [worker["name"] for worker in run["workers"]]
        spans = run["workers"][0]["spans"] if names else []
        for worker, span in product(("All", *names[:1], *names[1:][-1:]), spans):
            for route in lines_of(OF_ALL_WORKERS if worker == "All" else OF_RUNS):
                query = {"run": run["name"], "worker": worker, "span": span}
                answers[(route, *query.values())] = get(route, **query)
    for base, new in pairwise(run["name"] for run in runs):
        get("api/compare", base=base, new=new)
        first = {"worker": "worker0", "span": "1", "exp_worker": "worker0", "exp_span": "1"}
        get(f"{NAMES['PLUGIN']}/diff", run=base, exp_run=new, **first)
    return answers


def ask_route(address: str, folder: Path, name: str, route: str, **query: str) -> bytes:
    route = f"{route}{'&' if '?' in route else '?'}{urlencode(query)}"
    while (reply := answer_of(address + route))[0] == 202:
        pass  # not there yet
    kind = "pages" if re.match("api/(document|compare|utilisation)", route) else "data"
    write(folder, f"{kind}/{name}/{clean(route)}.{reply[0]}.json", reply[1])
    return reply[1]


def answer_of(address: str) -> tuple[int, bytes]:
    try:
        with urlopen(address) as reply:  # noqa: S310 - our own server
            return reply.status, reply.read()
    except HTTPError as error:
        return error.code, error.read()


def ask_python(folder: Path) -> None:
    """Names and signatures of the API, and what its results hold."""
    sample, counters = timesink.sample(), timesink.sample(counters=True)
    names = ("open", "analyze", "diagnose", "cycles", "behaviour", "find_recordings")
    results = [getattr(timesink, name)(sample) for name in names]
    results += [timesink.compare(*timesink.sample_runs()), timesink.kernels(counters, trace=sample)]
    errors = vars(sys.modules[timesink.TimesinkError.__module__])
    answer = {
        "all": timesink.__all__,
        "dir": {name: describe_value(getattr(timesink, name)) for name in dir(timesink)},
        "errors": sorted(name for name in errors if name.endswith("Error")),
        "error": sorted(vars(timesink.TimesinkError(""))),
        "results": [describe_value(result, depth=2) for result in results],
    }
    write(folder, "data/python.json", json.dumps(answer, indent=1).encode())


def describe_value(value: Any, depth: int = 1) -> Any:
    """Names of what a value holds, and signatures of what can be called."""
    if isinstance(value, pl.DataFrame):
        return [f"{name} {kind}" for name, kind in value.schema.items()]
    if isinstance(value, list | tuple):
        return [describe_value(item, depth) for item in value[:1]]
    if callable(value):
        taken = inspect.signature(value).parameters.values()
        return str(
            inspect.Signature(
                [parameter.replace(annotation=parameter.empty) for parameter in taken]
            )
        )
    if not type(value).__module__.startswith("timesink"):
        return type(value).__name__
    names = [name for name in dir(value) if name[0] != "_"]
    return (
        {name: describe_value(getattr(value, name), depth - 1) for name in names}
        if depth
        else names
    )


# -- writing and comparing -------------------------------------------------------------------------


def write(folder: Path, name: str, content: bytes) -> None:
    """Keep an answer, without what varies; no two answers may have one name."""
    ending = Path(name).suffix
    if ending in {".html", ".svg"}:
        name = re.sub("^(data|text)/", "pages/", name)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("x", encoding="utf-8", newline="") as file:
        file.write(as_text(content, ending))


def as_text(content: bytes, ending: str) -> str:
    if ending == ".parquet":
        rows = {
            column.name: column.to_frame().write_ndjson() for column in pl.read_parquet(content)
        }
        return "".join(f"{name}: {digest(steady(text))}\n" for name, text in rows.items())
    packed = content[:2] == b"\x1f\x8b"
    text = (gzip.decompress(content) if packed else content).decode(errors="backslashreplace")
    if ending == ".html":
        text = text.partition('<script type="application/json"')[2].partition("</script>")[0]
    text = steady(text)
    if not (packed or "\0" in text or len(text) > LONGEST):
        return text
    return digest("\n".join(sorted(text.split("\n"))))  # timelines name lanes in any order


def steady(text: str) -> str:
    """Text without what varies; sums of floats differ in the last digits, as threads add them."""
    for place, name in ((Path.cwd(), "WORKSHOP"), (SHARED, "SHARED"), (SAMPLES, "SAMPLES")):
        text = text.replace(str(place.resolve()), name)
    for varying in VARYING:
        text = re.sub(varying, r"\1...", text)
    floats = r"(?<![\w.])\d+\.\d{4,}(?:e[+-]?\d+)?"
    return re.sub(floats, lambda number: f"{float(number[0]):.13g}", text)


def digest(text: str) -> str:
    return f"{len(text)} characters, SHA-256 {sha256(text.encode()).hexdigest()}"


def record(folder: Path, every: int) -> int:
    for name in [
        variable for variable in os.environ if re.match("TIMESINK_|RAY_|PYTHONDONT", variable)
    ]:
        del os.environ[name]
    os.environ.update(
        TIMESINK_SHARED=str(SHARED.resolve()),
        PYTHONPATH=os.pathsep.join(
            str(Path(package.__file__).parents[1]) for package in (timesink, timesink_lab)
        ),
        COLUMNS="100",
    )
    with tempfile.TemporaryDirectory(prefix="timesink-outputs-") as place:
        os.environ["TIMESINK_CACHE_DIR"] = f"{place}/cache"
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(WORKERS, context) as pool:
            enter_workshop(place)  # to list recordings
            futures = [pool.submit(work, task, place, folder) for task in all_tasks(every)]
            wait(futures, return_when="FIRST_EXCEPTION")
            pool.shutdown(cancel_futures=True)
            for future in futures:
                future.result()
    return 0


def compare(before: Path, after: Path, *, strict: bool) -> int:
    sides = (before, after)
    files = {file.relative_to(side) for side in sides for file in side.rglob("*") if file.is_file()}
    differences = {file: first_difference(before / file, after / file) for file in sorted(files)}
    layout = [file for file in differences if file.parts[0] == "text" and differences[file]]
    other_files = [file for file in differences if file.parts[0] != "text" and differences[file]]
    for file in (*other_files, *layout):
        sys.stdout.write(f"{'layout: ' if file in layout else ''}{file} {differences[file]}\n")
    summary = f"{len(other_files)} of {len(files)} answers differ, and the layout of {len(layout)}"
    sys.stdout.write(f"{summary}\n")
    return int(bool(other_files or (strict and layout)))


def first_difference(before: Path, after: Path) -> str:
    """The first line that differs, around the first letter that does; empty where none does."""
    if not (before.is_file() and after.is_file()):
        return "is new" if after.is_file() else "is missing"
    old, new = (file.read_bytes().decode().split("\n") for file in (before, after))
    for number, lines in enumerate(zip_longest(old, new, fillvalue="(end)"), 1):
        if lines[0] != lines[1]:
            at = len(os.path.commonprefix(lines))  # noqa: RUF071 - of text
            was, now = (line[max(at - 40, 0) : at + 80] for line in lines)
            return f"differs in line {number}\n  - {was}\n  + {now}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description="See the first lines of this file.")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--every", type=int, default=1, help="ask one question in so many")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--strict", action="store_true", help="layout must stay equal as well")
    options = parser.parse_args()
    if options.command == "compare":
        return compare(options.before, options.after, strict=options.strict)
    if options.folder.exists():
        parser.error(f"{options.folder} is there already")
    return record(options.folder.absolute(), options.every)


if __name__ == "__main__":
    sys.exit(main())
