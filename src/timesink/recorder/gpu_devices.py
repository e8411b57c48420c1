"""What holds for devices of all makers: which of them a program sees, and who uses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from timesink.recorder.counter_probes import GPU_LANE, Probe, ProbeContext, Values, labelled

KB_PER_KIB = 1.024
"""Libraries count KiB where counters have kB."""
_FIRST_NAMESPACE = "pid:[4026531836]"
"""What Linux calls the numbering of processes that all others are inside of."""
_FOREIGN = (
    "the driver numbers processes as the host does, and this container has numbers of its own: own "
    "processes are not among them"
)
_NVIDIA = "CUDA_VISIBLE_DEVICES"
_AMD = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")

Parent = Callable[[str], str | None]
"""The UUID of the device a MIG instance is part of."""
_Value = TypeVar("_Value")


class NotToldError(Exception):
    """A value that the device does not tell."""


def if_told(ask: Callable[[], _Value]) -> _Value | None:
    """What a library answers; None where it does not."""
    try:
        return ask()
    except Exception:  # noqa: BLE001 - libraries raise errors of their own
        return None


def described(label: str, **asks: Callable[[], object]) -> dict[str, object]:
    """A device and what its library answers about it."""
    return {"device": label, **{what: if_told(ask) for what, ask in asks.items()}}


def plain_probe(names: tuple[str, ...], values: Values, labels: Sequence[str]) -> Probe:
    """Counters that are there at once; a limit that hardly changes is read once a second."""
    least_ms = 1000.0 if "gpu_power_limit_mw" in names else 0.0
    return Probe(names, labelled(names, values, labels), labels[0], GPU_LANE, least_ms)


# -- processes on a device -----------------------------------------------------------------------


def has_own_numbers(root: Path) -> bool:
    """Whether processes here have other numbers than those the driver knows them by."""
    try:
        return str((root / "proc/self/ns/pid").readlink()) != _FIRST_NAMESPACE
    except OSError:
        return True


def sharing_probe(
    context: ProbeContext,
    names: tuple[str, str],
    used: Callable[[], Mapping[int, float]],
    labels: Sequence[str],
    *,
    least_ms: float,
    most: float = float("inf"),
) -> Iterator[Probe]:
    """What processes of the program use of a device, and what others do.

    Own processes can be told from others where one was ever seen: in a container a list without
    them may be one in other numbers, or one that hides them.
    """
    if not context.wants(*names):
        return
    nested = has_own_numbers(context.root)
    is_known = not nested

    def own_and_others() -> tuple[float, float] | None:
        nonlocal is_known
        uses, own = used(), context.own.members()
        is_known = is_known or not own.isdisjoint(uses)
        if not is_known:
            return None
        mine = sum(use for pid, use in uses.items() if pid in own)
        return min(mine, most), min(sum(uses.values()) - mine, most)

    read = labelled(names, own_and_others, labels)
    otherwise = _FOREIGN if nested else ""
    yield Probe(names, read, labels[0], "gpu processes", least_ms, otherwise)


# -- devices a program sees, and how it numbers them ---------------------------------------------


def seen_by_cuda(
    environment: Mapping[str, str], uuids: Sequence[str], parent: Parent = lambda _instance: None
) -> tuple[int, ...]:
    """For each device of the program, in its order: the place of the device in `uuids`.

    Names of devices may be cut short as long as they are unique.  As in CUDA, the list ends before
    the first entry that names nothing.  An instance of a device stands for the device.
    """
    return _chosen(environment.get(_NVIDIA), tuple(range(len(uuids))), uuids, parent)


def seen_by_hip(environment: Mapping[str, str], uuids: Sequence[str]) -> tuple[int, ...]:
    """The same for AMD devices: what ROCR leaves, of which HIP chooses again."""
    left = _chosen(environment.get(_AMD[0]), tuple(range(len(uuids))), uuids)
    return _chosen(environment.get(_AMD[1], environment.get(_NVIDIA)), left, uuids)


def _chosen(
    text: str | None,
    left: tuple[int, ...],
    uuids: Sequence[str],
    parent: Parent = lambda _instance: None,
) -> tuple[int, ...]:
    if text is None:
        return left
    found: list[int] = []
    for entry in map(str.strip, text.split(",")):
        if entry.isdigit():
            matching = list(left[int(entry) : int(entry) + 1])
        else:
            uuid = entry
            if entry.startswith("MIG-GPU-"):
                uuid = entry.removeprefix("MIG-").partition("/")[0]
            elif entry.startswith("MIG-"):
                uuid = parent(entry) or ""
            matching = [place for place in left if uuid and uuids[place].startswith(uuid)]
        if len(matching) != 1:
            break
        found += matching
    return tuple(found)
