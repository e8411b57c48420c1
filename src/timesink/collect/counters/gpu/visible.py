"""Which devices a program sees and how it numbers them: CUDA_VISIBLE_DEVICES and its like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

_NVIDIA = "CUDA_VISIBLE_DEVICES"
_AMD = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")

Parent = Callable[[str], str | None]
"""The UUID of the device a MIG instance is part of."""


def _unknown(_instance: str) -> str | None:
    return None


def seen_by_cuda(
    environment: Mapping[str, str], uuids: Sequence[str], parent: Parent = _unknown
) -> tuple[int, ...]:
    """For each device of the program, in its order: the place of the device in `uuids`.

    Names of devices may be cut short as long as they are unique.  As in CUDA, the list ends before
    the first entry that names nothing.  An instance of a device stands for the device.

    >>> uuids = ["GPU-aa11", "GPU-bb22", "GPU-cc33"]
    >>> seen_by_cuda({"CUDA_VISIBLE_DEVICES": "2,0"}, uuids)
    (2, 0)
    >>> seen_by_cuda({"CUDA_VISIBLE_DEVICES": "GPU-bb,MIG-GPU-aa11/1/0,-1,2"}, uuids)
    (1, 0)
    >>> seen_by_cuda({}, uuids), seen_by_cuda({"CUDA_VISIBLE_DEVICES": ""}, uuids)
    ((0, 1, 2), ())
    """
    return _chosen(environment.get(_NVIDIA), tuple(range(len(uuids))), uuids, parent)


def seen_by_hip(environment: Mapping[str, str], uuids: Sequence[str]) -> tuple[int, ...]:
    """The same for AMD devices: what ROCR leaves, of which HIP chooses again.

    >>> uuids = ["GPU-aa11", "GPU-bb22", "GPU-cc33"]
    >>> seen_by_hip({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, uuids)
    (2,)
    """
    left = _chosen(environment.get(_AMD[0]), tuple(range(len(uuids))), uuids, _unknown)
    again = environment.get(_AMD[1], environment.get(_NVIDIA))
    return _chosen(again, left, uuids, _unknown)


def _chosen(
    text: str | None, left: tuple[int, ...], uuids: Sequence[str], parent: Parent
) -> tuple[int, ...]:
    if text is None:
        return left
    found: list[int] = []
    for entry in text.split(","):
        place = _place(entry.strip(), left, uuids, parent)
        if place is None:
            break
        found.append(place)
    return tuple(found)


def _place(entry: str, left: tuple[int, ...], uuids: Sequence[str], parent: Parent) -> int | None:
    if entry.isdigit():
        return left[int(entry)] if int(entry) < len(left) else None
    if entry.startswith("MIG-GPU-"):
        entry = entry.removeprefix("MIG-").partition("/")[0]
    elif entry.startswith("MIG-"):
        entry = parent(entry) or ""
    matching = [place for place in left if entry and uuids[place].startswith(entry)]
    return matching[0] if len(matching) == 1 else None
