"""A slow, simple reference for what the analyses compute with whole arrays.

Stacks, dictionaries and sets of single nanoseconds instead of sorted columns: meant to be
obviously right for recordings of a few events, such as those of `recordings.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from timesink.model.trace import Trace

Row: TypeAlias = dict[str, Any]
Thread: TypeAlias = tuple[str, str]

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
BUSY = ("kernel", "memcpy", "memset", "collective")
FRAMES = ("step", "module")
PARTS = ("kernel", "memcpy", "memset", "communication", "runtime", "data_loader", "cpu_exec")


# -- the forest ------------------------------------------------------------------------------------


@dataclass(eq=False)
class Call:
    """One host call, its place among the others, and what it launched."""

    row: int
    thread: Thread
    start: int
    end: int
    name: str
    role: str
    external_id: int
    recorded_as_operator: bool
    parent: Call | None = None
    children: list[Call] = field(default_factory=list)
    crossing: bool = False
    self_start: int = 0
    stands_for: Call | None = None
    launched_ns: int = 0
    covered: set[int] = field(default_factory=set)

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else self.parent.depth + 1

    def subtree(self) -> Iterator[Call]:
        """Callers first."""
        yield self
        for child in self.children:
            yield from child.subtree()

    def finished(self) -> Iterator[Call]:
        """Callees first."""
        for child in self.children:
            yield from child.finished()
        yield self

    @property
    def self_ns(self) -> int:
        return len(set(range(self.self_start, self.end)) - self.covered)


def rows_of(trace: Trace, table: str) -> list[Row]:
    return trace.lazy(table).collect().to_dicts()


def end_of(event: Row) -> int:
    return int(event["ts_ns"] + event["dur_ns"])


def role_of(event: Row) -> str | None:
    """The part a host event plays; None for those outside the forest."""
    if event["kind"] == "module":
        return "module"
    if event["kind"] == "python_function":
        return "python" if (event["category"] or "").lower() == "python" else None
    if event["kind"] == "operator":
        return special_role(event["name"]) or "operator"
    if event["kind"] == "annotation":
        return note_role(event["name"])
    return None


def special_role(name: str) -> str | None:
    starts = {"ProfilerStep#": "step", LOADER: "data_loader", "Optimizer.step": "optimizer"}
    starts |= {"Optimizer.": "wrapper", "DataParallel.forward": "wrapper"}
    return next((role for start, role in starts.items() if name.startswith(start)), None)


def note_role(name: str) -> str | None:
    if is_collective(name):
        return "collective"
    role = special_role(name)
    return None if role == "wrapper" else role


def is_loader(name: str) -> bool:
    return name == LOADER


def is_collective(name: str) -> bool:
    return name.startswith(("nccl:", "gloo:", "record_param_comms"))


def forest(trace: Trace) -> list[Call]:
    """Host calls thread by thread, callers before callees."""
    threads: dict[Thread, list[Call]] = {}
    for row, event in enumerate(rows_of(trace, "host")):
        role = role_of(event)
        if role is not None:
            call = Call(
                row=row,
                thread=(event["pid"], event["tid"]),
                start=event["ts_ns"],
                end=end_of(event),
                name=event["name"],
                role=role,
                external_id=event["external_id"] or 0,
                recorded_as_operator=event["kind"] == "operator" and role != "step",
                self_start=event["ts_ns"],
            )
            threads.setdefault(call.thread, []).append(call)
    first = {thread: min(call.start for call in calls) for thread, calls in threads.items()}
    in_order = sorted(threads, key=lambda thread: (first[thread], thread))
    roots = [root for thread in in_order for root in nest(threads[thread])]
    for root in roots:
        merge_same_names(root)
    return [call for root in roots for call in root.subtree()]


def nest(calls: list[Call]) -> list[Call]:
    """Put the calls of one thread inside each other; those that nothing encloses come back.

    A call that outlasts the one it starts in stands beside it, and its own time begins where the
    other ends; a step or module it outlasts is its caller all the same.
    """
    roots, stack = [], []
    for call in sorted(calls, key=lambda c: (c.start, -c.end, c.role not in FRAMES)):
        while stack:
            top = stack[-1]
            if call.start < top.end:
                if call.end <= top.end:
                    break
                call.crossing = True
                if top.role in FRAMES:
                    break
                call.self_start = max(call.self_start, top.end)
            stack.pop()
        call.parent = stack[-1] if stack else None
        (call.parent.children if call.parent else roots).append(call)
        stack.append(call)
    return roots


def merge_same_names(call: Call, into: Call | None = None) -> None:
    """An operator whose only callee is an operator of its name is one call with it."""
    call.stands_for = into or call
    for child in call.children:
        same = child.name == call.name and call.recorded_as_operator and child.recorded_as_operator
        merged = same and len(call.children) == 1
        merge_same_names(child, call.stands_for if merged else None)


# -- links -----------------------------------------------------------------------------------------


def foreground(trace: Trace) -> list[Row]:
    """Host events without those of threads that do nothing, where others work.

    In recordings of a few nanoseconds no thread waits for another.
    """
    host = rows_of(trace, "host")
    working = {(event["pid"], event["tid"]) for event in host if shows_work(event)}
    calls = [event for event in host if event["kind"] not in ("trace", "instant", "overhead")]
    idle = {(event["pid"], event["tid"]) for event in calls} - working
    return [event for event in host if not working or (event["pid"], event["tid"]) not in idle]


def shows_work(event: Row) -> bool:
    if event["kind"] in ("operator", "module", "collective", "runtime", "driver"):
        return True
    if event["kind"] == "annotation":
        return is_collective(event["name"]) or special_role(event["name"]) is not None
    return role_of(event) == "python"


def launches(trace: Trace) -> list[Row]:
    """Runtime and driver calls, with their row."""
    events = enumerate(rows_of(trace, "host"))
    return [
        {**event, "row": row} for row, event in events if event["kind"] in ("runtime", "driver")
    ]


def launching_call(activity: Row, calls: list[Row]) -> Row | None:
    """The call with the id of a device activity: the latest before it, or else the first after it.

    Where the activity names a process that launches, only calls of that process count.
    """
    usable = [call for call in calls if call["correlation"]]
    same_id = [call for call in usable if call["correlation"] == activity["correlation"]]
    processes = {call["pid"] for call in usable}
    if activity["pid"] in processes:
        processes = {activity["pid"]}
    candidates = [
        call for pid in processes for call in outermost(c for c in same_id if c["pid"] == pid)
    ]
    candidates.sort(key=lambda call: (call["ts_ns"], call["row"]))
    before = [call for call in candidates if call["ts_ns"] <= activity["ts_ns"]]
    return next(iter(before[-1:] + candidates), None)


def call_with_external_id(activity: Row, calls: list[Row], place: int, peers: int) -> Row | None:
    """The same where both carry an external id: the latest call before the activity, or the first.

    As many calls as activities belong to each other in their order.  All calls here launch.
    """
    same_id = [call for call in calls if call["external_id"] == activity["external_id"]]
    same_id.sort(key=lambda call: (call["ts_ns"], call["row"]))
    if peers == len(same_id) > 1:
        return same_id[place]
    before = [call for call in same_id if call["ts_ns"] <= activity["ts_ns"]]
    return next(iter(before[-1:] + same_id), None)


def outermost(calls: Iterable[Row]) -> Iterator[Row]:
    """Calls that do not start inside the one before: a runtime call encloses its driver call."""
    end = 0
    for call in sorted(calls, key=lambda call: (call["ts_ns"], -call["dur_ns"])):
        if call["ts_ns"] >= end:
            yield call
        end = end_of(call)


def owner(call: Row, nodes: list[Call]) -> Call | None:
    """The innermost node around a call, one with its external id before others.

    An id may also name a node that the call starts in and outlasts or, where nothing is around
    the call, any node.
    """
    start, end, wanted = call["ts_ns"], end_of(call), call["external_id"]
    here = [node for node in nodes if node.thread == (call["pid"], call["tid"])]
    started_nodes = [node for node in here if node.start <= start]
    around = (
        [node for node in callers(started_nodes[-1]) if end <= node.end] if started_nodes else []
    )
    named = [node for node in nodes if wanted and node.external_id == wanted]
    for node in around:
        if node in named:
            return node
    if named and named[0] in started_nodes and start <= named[0].end:
        return named[0]
    return next(iter(around + named), None)


def callers(node: Call | None) -> Iterator[Call]:
    """A node and those it is inside of, the innermost first."""
    while node is not None:
        yield node
        node = node.parent


def link(trace: Trace, nodes: list[Call]) -> list[tuple[int, Call | None]]:
    """For each device row: the row of its launching call (-1 for none) and the node around it."""
    calls = launches(trace)
    links = []
    activities = rows_of(trace, "device")
    for activity in activities:
        if not bears_external_id_only(activity):
            call = launching_call(activity, calls)
            links.append((-1, None) if call is None else (call["row"], owner(call, nodes)))
            continue
        wanted = activity["external_id"]
        peers = [peer for peer in activities if bears_external_id_only(peer)]
        peers = [peer for peer in peers if peer["external_id"] == wanted]
        peers.sort(key=lambda peer: peer["ts_ns"])
        place = next(n for n, peer in enumerate(peers) if peer is activity)
        call = call_with_external_id(activity, calls, place, len(peers))
        named = [node for node in nodes if node.external_id == wanted]
        named = [node for node in named if node.start <= activity["ts_ns"]]
        node = max(named, key=lambda node: node.start, default=None) if call is None else None
        if node is not None:
            node = [candidate for candidate in named if candidate.start == node.start][-1]
        links.append((-1, node) if call is None else (call["row"], owner(call, nodes)))
    return links


def bears_external_id_only(activity: Row) -> bool:
    works = activity["kind"] in ("kernel", "memcpy", "memset", "collective")
    return works and activity["correlation"] is None and bool(activity["external_id"])


# -- times of operators ----------------------------------------------------------------------------


def add_times(trace: Trace, nodes: list[Call]) -> None:
    """Give every node its device work and the moments its callees and runtime calls cover."""
    for node in nodes:
        if node.parent is not None and node.stands_for is node:
            node.parent.stands_for.covered |= set(range(node.start, node.end))
    for call in launches(trace):
        node = owner(call, nodes)
        if node is not None:
            node.stands_for.covered |= set(range(call["ts_ns"], end_of(call)))
    for activity, (_, node) in zip(rows_of(trace, "device"), link(trace, nodes), strict=True):
        if node is not None and activity["kind"] in BUSY:
            node.stands_for.launched_ns += activity["dur_ns"]


# -- steps -----------------------------------------------------------------------------------------


@dataclass
class Step:
    name: str
    start: int
    end: int
    activities: list[Row] = field(default_factory=list)
    complete: bool = True


def steps(trace: Trace) -> list[Step]:
    """Steps extended by the device work launched in them; a cut end is marked."""
    marks = sorted(rows_of(trace, "steps"), key=lambda mark: mark["ts_ns"])
    all_steps = merged_marks(marks) or whole_trace(trace)
    outside = assign(trace, all_steps)
    if any(step.activities for step in all_steps):
        extend(all_steps, outside)
        mark_cut(trace, all_steps)
    return all_steps


def merged_marks(marks: list[Row]) -> list[Step]:
    """Marks of one number that overlap, as those of several processes do, are one step."""
    merged_steps: list[Step] = []
    for mark in marks:
        same = [step for step in merged_steps if step.name == str(mark["step"])]
        if same and mark["ts_ns"] < same[-1].end:
            same[-1].end = max(same[-1].end, end_of(mark))
        else:
            merged_steps.append(Step(str(mark["step"]), mark["ts_ns"], end_of(mark)))
    return merged_steps


def whole_trace(trace: Trace) -> list[Step]:
    """One step over the operators, or over what else there is."""
    host, device = foreground(trace), rows_of(trace, "device")
    for events in (
        [event for event in host if event["kind"] == "operator" or role_of(event) == "python"],
        [event for event in host if event["kind"] == "annotation"],
        [activity for activity in device if activity["kind"] in BUSY],
        [event for event in host if event["kind"] not in ("trace", "instant")],
    ):
        if events:
            return [Step("0", min(event["ts_ns"] for event in events), max(map(end_of, events)))]
    return []


def assign(trace: Trace, all_steps: list[Step]) -> list[Row]:
    """Give each step the device work launched wholly inside it; the rest comes back."""
    outside, host = [], rows_of(trace, "host")
    origins = link(trace, forest(trace))
    for activity, (row, node) in zip(rows_of(trace, "device"), origins, strict=True):
        if activity["kind"] not in BUSY:
            continue
        span = (host[row]["ts_ns"], end_of(host[row])) if row >= 0 else None
        if row < 0 and node is not None:
            span = (node.start, node.end)
        holders = [
            step for step in all_steps if span and step.start <= span[0] and span[1] <= step.end
        ]
        (holders[-1].activities if holders else outside).append(activity)
    return outside


def extend(all_steps: list[Step], outside: list[Row]) -> None:
    free_from = all_steps[0].start
    if all_steps[0].activities:
        first = min(activity["ts_ns"] for activity in all_steps[0].activities)
        earlier = [end_of(activity) for activity in outside if end_of(activity) < first]
        free_from = max([free_from, *earlier])
    for step in all_steps:
        step.start = max(free_from, step.start)
        step.end = max([step.end, step.start, *map(end_of, step.activities)])
        free_from = step.end


def mark_cut(trace: Trace, all_steps: list[Step]) -> None:
    """Steps after the last with device work, and that one where its calls lack theirs."""
    counts = [len(step.activities) for step in all_steps]
    last = max(place for place, count in enumerate(counts) if count)
    for step in all_steps[last + 1 :]:
        step.complete = False
    origins = link(trace, forest(trace))
    busy = [activity["kind"] in BUSY for activity in rows_of(trace, "device")]
    linked = [row >= 0 or node is not None for row, node in origins]
    if not last or 2 * sum(map(all, zip(busy, linked, strict=True))) < sum(busy):
        return
    calls = launching_calls(trace, all_steps)
    between = [call for at in range(1, last) or (0,) for call in calls[at]]
    telling = {
        name
        for name, has_work in between
        if has_work
        and sum(work for other, work in between if other == name)
        >= 0.9 * sum(other == name for other, _ in between)
    }
    have_work = [has_work for name, has_work in calls[last] if name in telling]
    all_steps[last].complete = sum(have_work) >= 0.8 * len(have_work)


def launching_calls(trace: Trace, steps: list[Step]) -> list[list[tuple[str, bool]]]:
    """For each step its calls of the names that launch device work: which, and whether they did."""
    host, device = rows_of(trace, "host"), rows_of(trace, "device")
    worked = set()
    for activity, (row, node) in zip(device, link(trace, forest(trace)), strict=True):
        if activity["kind"] in BUSY and (row >= 0 or node is not None):
            worked.add(row if row >= 0 else node.row)
    names = {host[row]["name"] for row in worked}
    marks = [
        (mark.start, mark.end)
        for mark in merged_marks(sorted(rows_of(trace, "steps"), key=lambda mark: mark["ts_ns"]))
    ]
    calls: list[list[tuple[str, bool]]] = [[] for _ in steps]
    for row, call in enumerate(host):
        holders = [
            at
            for at, (start, end) in enumerate(marks)
            if start <= call["ts_ns"] and end_of(call) <= end
        ]
        if holders and call["name"] in names:
            calls[holders[-1]].append((call["name"], row in worked))
    return calls


# -- breakdown -------------------------------------------------------------------------------------


def communicates(activity: Row, node: Call | None, host: list[Row]) -> bool:
    if activity["kind"] == "collective":
        return True
    if activity["kind"] == "kernel" and "nccl" in activity["name"]:
        return True
    ids = {
        event["external_id"]
        for event in host
        if event["kind"] in ("operator", "annotation") and is_collective(event["name"])
    }
    serves = (
        activity["external_id"] in ids - {None, 0} if node is None else is_collective(node.name)
    )
    return activity["kind"] in ("kernel", "memcpy") and serves


def moments(trace: Trace) -> Mapping[str, set[int]]:
    """Every nanosecond at which each part was active."""
    active: dict[str, set[int]] = {part: set() for part in PARTS}
    host = rows_of(trace, "host")
    links = link(trace, forest(trace))
    for activity, (_, node) in zip(rows_of(trace, "device"), links, strict=True):
        part = "communication" if communicates(activity, node, host) else activity["kind"]
        if part in active:
            active[part] |= set(range(activity["ts_ns"], end_of(activity)))
    for event in foreground(trace):
        part = host_part(event)
        if part is not None:
            active[part] |= set(range(event["ts_ns"], end_of(event)))
    return active


def host_part(event: Row) -> str | None:
    if event["kind"] in ("runtime", "driver"):
        return "runtime"
    region = role_of(event) == "python"
    if event["kind"] not in ("operator", "annotation") and not region:
        return None
    if event["name"].startswith("ProfilerStep#"):
        return None
    if is_collective(event["name"]):
        return "communication"
    return "data_loader" if is_loader(event["name"]) else "cpu_exec"


def breakdown(trace: Trace) -> list[tuple[int, ...]]:
    """For each step: the ns of each part, of what is left, and of the whole step."""
    active = moments(trace)
    table = []
    for step in steps(trace):
        free = set(range(step.start, step.end))
        costs = []
        for part in PARTS:
            costs.append(len(free & active[part]))
            free -= active[part]
        table.append((*costs, len(free), step.end - step.start))
    return table
