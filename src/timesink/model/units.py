"""Numbers for people: times, sizes, counts and shares, worded alike everywhere."""

from __future__ import annotations

from collections.abc import Sequence


def count(value: int) -> str:
    """Whole numbers with thin groups of three.

    >>> count(1137573)
    '1 137 573'
    """
    return f"{value:,}".replace(",", " ")


def counted(value: int, things: str) -> str:
    """How many of something.

    >>> counted(1, "memory events"), counted(1, "copies"), counted(1200, "traces")
    ('1 memory event', '1 copy', '1 200 traces')
    """
    if value == 1:
        things = _singular(things)
    return f"{count(value)} {things}"


def _singular(things: str) -> str:
    if things.endswith("ies"):
        return f"{things[:-3]}y"
    return things.removesuffix("es" if things.endswith("sses") else "s")


def listed(names: Sequence[str], most: int = 6, between: str = ", ") -> str:
    """Names one after the other, and how many there are beside the first ones.

    >>> listed(["rank 0", "rank 3"]), listed(["a", "b", "c", "d"], most=2)
    ('rank 0, rank 3', 'a, b and 2 more')
    """
    shown = between.join(names[:most])
    return f"{shown} and {count(len(names) - most)} more" if len(names) > most else shown


def ordinal(value: int) -> str:
    """A number as a rank.

    >>> ordinal(2), ordinal(11), ordinal(23), ordinal(7)
    ('2nd', '11th', '23rd', '7th')
    """
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if value % 100 in {11, 12, 13} else endings.get(value % 10, "th")
    return f"{value}{ending}"


def number(value: float) -> str:
    """Any number with three decimals, or three digits where that would show nothing.

    >>> number(2749534.5), number(0.0000123), number(0.0)
    ('2 749 534.500', '1.23e-05', '0.000')
    """
    if value and abs(value) < 0.0005:
        return f"{value:.3g}"
    return f"{value:,.3f}".replace(",", " ")


def duration_ns(value: float) -> str:
    """A length of time with three or four digits and its unit.

    >>> duration_ns(480_029_179), duration_ns(1_500), duration_ns(0), duration_ns(83e9)
    ('480.0 ms', '1.50 us', '0 ns', '83.00 s')
    >>> duration_ns(999_960_000)
    '1.00 s'
    """
    return _in_units(value, 100)


def _in_units(value: float, fine_below: int) -> str:
    for size, unit in ((1, "ns"), (1_000, "us"), (1_000_000, "ms")):
        shown = f"{value:.0f}" if size == 1 else _digits(value / size, fine_below)
        # What rounds up to a thousand is one of the next unit.
        if abs(float(shown)) < 1000:
            return f"{shown} {unit}"
    return f"{_digits(value / 1_000_000_000, fine_below)} s"


def _digits(value: float, fine_below: int = 100) -> str:
    """Two decimals, or one where that makes too many digits; rounded once."""
    fine = f"{value:.2f}"
    return fine if abs(float(fine)) < fine_below else f"{value:.1f}"


def moment_ns(value: int) -> str:
    """A point in time as milliseconds since another one, to the microsecond.

    >>> moment_ns(12_345_678), moment_ns(0)
    ('12.346 ms', '0.000 ms')
    """
    return f"{value / 1_000_000:,.3f} ms".replace(",", " ")


def brief_ns(value: float) -> str:
    """A length of time for a sentence: one decimal from ten of a unit on.

    >>> brief_ns(59_261_833), brief_ns(4_240_000), brief_ns(177_592_167)
    ('59.3 ms', '4.24 ms', '177.6 ms')
    """
    return _in_units(value, 10)


def size_bytes(value: float) -> str:
    """Bytes in binary units.

    >>> size_bytes(34084028416), size_bytes(512), size_bytes(1024**2 - 1)
    ('31.7 GiB', '512 B', '1.0 MiB')
    """
    for power, unit in enumerate(("B", "KiB", "MiB", "GiB")):
        shown = f"{value / 1024**power:.1f}" if power else f"{value:.0f}"
        # What rounds up to 1024 is one of the next unit.
        if abs(float(shown)) < 1024:
            return f"{shown} {unit}"
    return f"{value / 1024**4:.1f} TiB"


def share(part: float, whole: float) -> str:
    """A part of a whole in percent.

    >>> share(149.042, 8911.887), share(1, 0)
    ('1.7 %', '-')
    """
    return f"{100 * part / whole:.1f} %" if whole else "-"


def rate(value: float, things: str) -> str:
    """How much a second, in decimal units with three or four digits.

    >>> rate(989.5e12, "FLOP"), rate(4.8e12, "B"), rate(999_999, "B")
    ('989.5 TFLOP/s', '4.80 TB/s', '1.00 MB/s')
    """
    for power, prefix in enumerate(("", "k", "M", "G", "T")):
        shown = _digits(value / 1000**power)
        # What rounds up to a thousand is one of the next unit.
        if abs(float(shown)) < 1000:
            return f"{shown} {prefix}{things}/s"
    return f"{_digits(value / 1000**5)} P{things}/s"
