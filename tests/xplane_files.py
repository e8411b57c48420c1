"""Profiles of XLA built by hand: of a TPU, with steps, modules and operators."""

from __future__ import annotations

from timesink.formats.wire import Message

START_NS = 1_790_000_000_000_000_000
STEP_PS = 2_000_000_000
OPERATORS = (
    ("%fusion.1 = bf16[8,128] fusion(...)", "fusion.1", "loop fusion", 4_000_000, 65_536),
    (
        "%convolution.2 = bf16[8] convolution(...)",
        "convolution.2",
        "convolution",
        8 << 30,
        4096,
    ),
    ("%all-reduce.3 = f32[128] all-reduce(...)", "all-reduce.3", "all-reduce", 0, 512),
    ("%copy-done.4 = f32[16] copy-done(...)", "copy-done.4", "copy-done", 0, 64),
)
LENGTHS_PS = (300_000_000, 600_000_000, 200_000_500, 100_000_000)
STATS = (
    *("hlo_category", "flops", "bytes_accessed", "step_num", "device_type_string", "memory_size"),
    *("core_count", "program_id", "run_id", "_internal", "peak_hbm_bw_gigabytes_per_second"),
)


def stat(key: str, value: float | str) -> Message:
    """A named value."""
    message = Message().integer(1, STATS.index(key) + 1)
    if isinstance(value, str):
        return message.text(5, value)
    return message.double(2, value) if isinstance(value, float) else message.integer(4, value)


def event(sort: int, offset_ps: int, length_ps: int, *stats: Message) -> Message:
    """An event of a line."""
    message = Message().integer(1, sort).integer(2, offset_ps).integer(3, length_ps)
    return message.messages(4, stats)


def line(number: int, name: str, events: list[Message]) -> Message:
    """A line of a plane."""
    message = Message().integer(1, number).text(2, name).integer(3, START_NS)
    return message.messages(4, events)


def plane(
    name: str, lines: list[Message], sorts: list[Message], facts: tuple[Message, ...] = ()
) -> Message:
    """A plane with the names of its events, numbered from 1."""
    message = Message().integer(1, 2).text(2, name).messages(3, lines)
    for number, sort in enumerate(sorts, 1):
        message.message(4, Message().integer(1, number).message(2, sort.integer(1, number)))
    for number, key in enumerate(STATS, 1):
        value = Message().integer(1, number).text(2, key)
        message.message(5, Message().integer(1, number).message(2, value))
    return message.messages(6, facts)


def tpu_profile(steps: int = 4, devices: int = 2, *, with_host: bool = False) -> bytes:
    """Some steps of one program on some devices."""
    space = Message()
    sorts = [
        Message()
        .text(2, text)
        .text(4, title)
        .messages(
            5,
            [stat("hlo_category", category), stat("flops", flops), stat("bytes_accessed", size)],
        )
        for text, title, category, flops, size in OPERATORS
    ]
    sorts += [
        Message().text(2, "jit_train(123)"),
        *(Message().text(2, str(n)) for n in range(steps)),
    ]
    for device in range(devices):
        operators, modules, marks = [], [], []
        for step in range(steps):
            at = STEP_PS * step + 1000
            marks.append(event(6 + step, at, STEP_PS - 100_000_000))
            modules.append(event(5, at, sum(LENGTHS_PS), stat("run_id", step)))
            for number, length in enumerate(LENGTHS_PS):
                operators.append(event(number + 1, at, length, stat("program_id", 123)))
                at += length
        lines = [line(1, "Steps", marks), line(2, "XLA Modules", modules)]
        lines.append(line(3, "XLA Ops", operators))
        facts = (stat("device_type_string", "TPU v6 Lite"), stat("memory_size", 32 << 30))
        space.message(1, plane(f"/device:TPU:{device}", lines, sorts, facts))
    if with_host:
        calls = [
            event(1, STEP_PS * step, STEP_PS // 2, stat("step_num", step), stat("_internal", 1))
            for step in range(steps)
        ]
        calls += [event(2, STEP_PS * step + 500, STEP_PS // 4) for step in range(steps)]
        names = [Message().text(2, "train"), Message().text(2, "$model.py:12 forward")]
        space.message(1, plane("/host:CPU", [line(77, "python", calls)], names))
    return space.text(4, "host-7").encode()
