"""What network cards send and receive: /proc/net/dev, and InfiniBand in /sys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from timesink.collect.counters.counter import HOST, Counter
from timesink.collect.counters.files import KeptFile, read_text
from timesink.collect.counters.missing import reason
from timesink.collect.counters.probing import SLOW_LANE, Probe, Rate, Sample, Setting

_CARDS = ("net_rx_rate", "net_tx_rate")
_INFINIBAND = {
    "ib_rx_bytes_per_s": "port_rcv_data",
    "ib_tx_bytes_per_s": "port_xmit_data",
}
_MISSING = "not on Linux; a container without a network"
_NO_INFINIBAND = "no InfiniBand or RDMA card"
COUNTERS = (
    Counter(_CARDS[0], "network", "B/s", "/proc/net/dev", "what network cards receive", _MISSING),
    Counter(_CARDS[1], "network", "B/s", "/proc/net/dev", "what network cards send", _MISSING),
    Counter(
        "ib_rx_bytes_per_s", "network", "B/s", "/sys/class/infiniband",
        "what InfiniBand and RDMA ports receive; /proc/net/dev does not see it", _NO_INFINIBAND,
    ),
    Counter(
        "ib_tx_bytes_per_s", "network", "B/s", "/sys/class/infiniband",
        "what InfiniBand and RDMA ports send; /proc/net/dev does not see it", _NO_INFINIBAND,
    ),
)  # fmt: skip
_WORD_BYTES = 4
"""InfiniBand counts words and not bytes."""
_INFINIBAND_LEAST_MS = 200.0
"""The card is asked each time."""
_SOFTWARE = ("lo", "docker", "veth", "br-", "virbr", "ifb", "dummy", "tun", "tap", "cni", "flannel")


def probes(setting: Setting) -> Iterator[Probe]:
    """Rates over all cards between two readings."""
    if setting.wants(*_CARDS):
        yield from _cards(setting)
    if setting.wants(*_INFINIBAND):
        yield from _infiniband(setting)


def _cards(setting: Setting) -> Iterator[Probe]:
    try:
        file = KeptFile(setting.root / "proc/net/dev")
        cards = _hardware(totals(file.read()), setting.root / "sys/class/net")
    except OSError as error:
        setting.miss(_CARDS, reason(error))
        return
    if not cards:
        setting.miss(_CARDS, "the system has no network card")
        return
    yield Probe(_CARDS, _Traffic(file, cards).read)


def _hardware(names: Iterable[str], classes: Path) -> frozenset[str]:
    """Cards, and not what is put on top of them; a container sees no card but its end of one."""
    real = frozenset(name for name in names if (classes / name / "device").exists())
    return real or frozenset(name for name in names if not name.startswith(_SOFTWARE))


class _Traffic:
    def __init__(self, file: KeptFile, cards: frozenset[str]) -> None:
        self._file = file
        self._cards = cards
        self._rate = Rate()

    def read(self, now_s: float) -> Iterable[Sample]:
        known = totals(self._file.read())
        sums = [sum(known[card][way] for card in self._cards & known.keys()) for way in (0, 1)]
        for name, total in zip(_CARDS, sums, strict=True):
            rate = self._rate.of(name, now_s, total)
            if rate is not None:
                yield Sample(name, HOST, rate)


def totals(text: str) -> Mapping[str, tuple[int, int]]:
    r"""Bytes each card received and sent since the system was started.

    >>> head = "Inter-|   Receive\n face |bytes\n"
    >>> totals(head + "  eth0:  500 1 0 0 0 0 0 0  700 2 0 0 0 0 0 0\n")
    {'eth0': (500, 700)}
    """
    found = {}
    for line in text.splitlines()[2:]:
        name, _, rest = line.rpartition(":")
        cells = rest.split()
        if len(cells) > 8:
            found[name.strip()] = int(cells[0]), int(cells[8])
    return found


def _infiniband(setting: Setting) -> Iterator[Probe]:
    ports = list((setting.root / "sys/class/infiniband").glob("*/ports/*/counters"))
    if not ports:
        setting.miss(_INFINIBAND, _NO_INFINIBAND)
        return
    rate = Rate()

    def read(now_s: float) -> Iterator[Sample]:
        for name, file in _INFINIBAND.items():
            total = sum(int(read_text(port / file)) for port in ports) * _WORD_BYTES
            per_s = rate.of(name, now_s, total)
            if per_s is not None:
                yield Sample(name, HOST, per_s)

    names = tuple(_INFINIBAND)
    yield Probe(names, read, lane=SLOW_LANE, least_ms=_INFINIBAND_LEAST_MS)
