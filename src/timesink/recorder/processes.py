"""A process and what it started, so that nothing is left behind."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from timesink.errors import CollectError
from timesink.patterns import regex

_PROC = "/proc"

Birth = str
"""When a process started, as the system writes it: tells it from a later one with its number."""

_POLL_S = 0.05
_STATE, _PARENT, _BIRTH = 0, 1, 19
"""Fields of `stat`, after the name of the program."""


def family(pid: int) -> dict[int, Birth]:
    """A process and its descendants; only the process where there is no /proc."""
    return {member: birth(member) for member in descendants(pid, children_by_parent(_PROC))}


def children_by_parent(proc: str = _PROC) -> dict[int, list[int]]:
    """Every process that runs, under the one that started it."""
    children: dict[int, list[int]] = defaultdict(list)
    names: list[str] = []
    with suppress(OSError):
        # Path objects for thousands of processes take long.
        names = os.listdir(proc)  # noqa: PTH208
    for pid in (int(name) for name in names if name.isdigit()):
        identity = _parent_and_birth(proc, pid)
        if identity is not None:
            children[identity[0]].append(pid)
    return children


def descendants(pid: int, children: Mapping[int, Sequence[int]]) -> tuple[int, ...]:
    """A process and all it started, itself first."""
    members = [pid]
    for member in members:
        members += children.get(member, ())
    return tuple(members)


def _parent_and_birth(proc: str, pid: int) -> tuple[int, Birth] | None:
    """None for one that is gone, also where nobody has asked how it ended."""
    try:
        with open(f"{proc}/{pid}/stat", errors="replace") as file:  # noqa: PTH123 - the same
            text = file.read()
    except OSError:
        return None
    # The name of the program stands in parentheses and may hold any of them, and spaces.
    fields = text.rpartition(")")[2].split()
    is_gone = len(fields) <= _PARENT or fields[_STATE] == "Z"
    return None if is_gone else (int(fields[_PARENT]), "".join(fields[_BIRTH : _BIRTH + 1]))


def is_alive(pid: int) -> bool:
    """Whether a process of this number runs."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # One that has ended keeps its number until its parent asks how.
    is_known = Path(f"{_PROC}/{pid}/stat").exists()
    return not is_known or _parent_and_birth(_PROC, pid) is not None


def birth(pid: int) -> Birth:
    """When a process started; empty for one that is gone, and where there is no /proc."""
    identity = _parent_and_birth(_PROC, pid)
    return identity[1] if identity else ""


def is_running(pid: int, born: Birth) -> bool:
    """Whether this very process runs; where births are not known its number has to do."""
    identity = _parent_and_birth(_PROC, pid)
    return identity[1] == born if identity else not born and is_alive(pid)


def end_family(members: dict[int, Birth], grace_s: float) -> None:
    """Wait for processes to end, then kill those that did not."""
    deadline = time.monotonic() + grace_s
    while (left := _alive(members)) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    signal_family({pid: members[pid] for pid in left}, signal.SIGKILL)


def signal_family(members: dict[int, Birth], number: signal.Signals) -> None:
    """Send a signal to those of the processes that still run."""
    for pid in _alive(members):
        # One may have ended since.
        with suppress(OSError):
            os.kill(pid, number)


def _alive(members: dict[int, Birth]) -> list[int]:
    return [pid for pid, born in members.items() if is_running(pid, born)]


# Processes of a program that is recorded, looked for again and again.

_PIDS_EVERY_S = 0.2
_CHILDREN_EVERY_S = 1.0
_SHARE = 0.01
"""Part of a core that looking for processes may take: a host may have thousands."""


class OwnProcesses:
    """Processes of the program: those its recorder knows, and what they started.

    Asked from several threads, of which one looks for them.
    """

    def __init__(self, pids: Callable[[], Collection[int]], root: Path = Path("/")) -> None:
        self._pids = pids
        self._proc = os.fspath(root / "proc")
        self._roots: tuple[int, ...] | None = None
        self._families: Mapping[int, tuple[int, ...]] = {}
        self._pids_from_s = 0.0
        self._children_from_s = 0.0

    def roots(self) -> tuple[int, ...]:
        """Processes the recorder knows, as of the last look."""
        if self._roots is None:
            self._roots = tuple(sorted(set(self._pids())))
        return self._roots

    def families(self) -> Mapping[int, tuple[int, ...]]:
        """Each of them with all it started, as of the last look."""
        families = self._families
        return {root: families.get(root, (root,)) for root in self.roots()}

    def members(self) -> frozenset[int]:
        """All processes of the program."""
        return frozenset(pid for family in self.families().values() for pid in family)

    def look(self, now_s: float) -> None:
        """Look again, if the last time is long enough ago."""
        begun_s = time.thread_time()
        if now_s >= self._pids_from_s:
            self._roots = tuple(sorted(set(self._pids())))
            self._pids_from_s = now_s + _rest_s(begun_s, _PIDS_EVERY_S)
        begun_s = time.thread_time()
        if now_s >= self._children_from_s:
            # Without the one that samples: the program may have started it.
            children = {
                parent: [pid for pid in pids if pid != os.getpid()]
                for parent, pids in children_by_parent(self._proc).items()
            }
            self._families = {root: descendants(root, children) for root in self.roots()}
            self._children_from_s = now_s + _rest_s(begun_s, _CHILDREN_EVERY_S)


def _rest_s(begun_s: float, least_s: float) -> float:
    """How long to wait after something that was begun then."""
    return max(least_s, (time.thread_time() - begun_s) / _SHARE)


# Signals that ask to stop: noticed, so that what was measured can be put away first.

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
"""Ctrl-C, the end of a batch job, a connection that dropped; not every system has the last."""


@contextmanager
def collect_signals(came: list[int] | None = None) -> Iterator[list[int]]:
    """Signals that ask to stop, in the order they came, instead of what they do by default."""
    came = [] if came is None else came
    with answer_signals(came.append):
        yield came


@contextmanager
def answer_signals(answer: Callable[[int], None]) -> Iterator[None]:
    """Signals that ask to stop call `answer`, instead of what they did."""

    def handle(number: int, _frame: FrameType | None) -> None:
        answer(number)

    with _handle_signals(_NAMES, handle):
        yield


@contextmanager
def _handle_signals(
    names: Collection[str],
    handler: Callable[[int, FrameType | None], None] | signal.Handlers,
) -> Iterator[None]:
    """Signals of these names are handled so within, and as before afterwards."""
    before = {number: signal.getsignal(number) for number in _active_signals(names)}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


_PASSED_ON = ("SIGUSR1", "SIGUSR2")
"""What a scheduler sends before the end of a job; they would end us."""


@contextmanager
def passed_on(pid: int | None = None) -> Iterator[None]:
    """Signals that are meant for the program go to it; without one they are let pass."""

    def hand_on(number: int, _frame: FrameType | None) -> None:
        if pid is not None:
            # It may have ended since.
            with suppress(OSError):
                os.kill(pid, number)

    with _handle_signals(_PASSED_ON, hand_on):
        yield


def is_main_thread() -> bool:
    """Whether this is the thread that receives signals; asked of threads that end, too."""
    return threading.get_ident() == threading.main_thread().ident


def _active_signals(names: Collection[str]) -> list[signal.Signals]:
    """Those that would stop us; one that is ignored, as in the background, stays so."""
    if not is_main_thread():
        return []
    numbers = [number for number in signal.Signals if number.name in names]
    return [number for number in numbers if signal.getsignal(number) not in (signal.SIG_IGN, None)]


@contextmanager
def hangups_ignored() -> Iterator[None]:
    """Programs started meanwhile survive a dropped connection, as under `nohup`.

    They are asked to stop instead, and so have the time to write what they measured.
    """
    with _handle_signals(("SIGHUP",), signal.SIG_IGN):
        yield


def interruption(came: list[int]) -> CollectError | None:
    """What to say of an interruption, with the exit code a shell expects; None without one."""
    if not came:
        return None
    stopped = CollectError("interrupted", "")
    stopped.exit_code = 128 + came[0]
    return stopped


# The program a user gives to run.


def check_program(words: Sequence[str], directory: Path = Path()) -> None:
    """Refuse a program that cannot be started in a folder, before a tool says so in its own way."""
    program = words[0]
    # Absolute: `./run.sh` would lose its dot, and then be looked for on PATH.
    place = directory.absolute() / program
    is_path = Path(program).name != program
    if shutil.which(place if is_path else program) is not None:
        return
    if not place.is_file():
        raise CollectError(f"{program}: no such program", "check the name and PATH")
    quoted = shlex.quote(program if is_path else f"./{program}")
    remedy = f"chmod +x {quoted}"
    if Path(program).suffix == ".py":
        remedy = f"put python before it, or {remedy}"
    elif not is_path:
        is_program = shutil.which(place) is not None
        remedy = f"write {quoted}" if is_program else f"{remedy}, and write {quoted}"
    raise CollectError(f"{program}: not a program that can be run", remedy)


# Command lines without what is secret in them: recordings are passed on.
#
# What looks like a secret goes.  A mask too many costs a word of a description, one too few a key.

MASK = "***"

_NAMES_A_SECRET = regex(
    r"""secret | passw | passphrase | credential | (?:api|access|private|account)[-_.]?key
        | (?:^|[-_.]|auth|access)(?:token|auth|authorization|bearer|signature|sig|pwd)(?:$|[-_.])
        | (?:^|[-_.])(?:pass|pw|creds?|cookies?|jwt|pat|t?otp)(?:$|[-_.])
        | (?:^|[-_.])(?:keys?|pin)$ | (?<!by)(?<!com)pass$
        | (?:token|auth|pwd|creds?|(?<!mon)(?<!hot)(?<!tur)key)$""",
    re.IGNORECASE | re.VERBOSE,
)
"""A name that holds secret, password, passwd, passphrase or credential, or whose last part ends in
token, auth, key, pwd or cred, or that is one of some short words; not options such as max-tokens,
tokenizer, key-size or pin-memory."""
_SPECIAL_TOKEN = regex(
    r"(?:^|[-_.])(?:eos|pad|bos|unk|sep|cls|mask)[-_]token(?:[-_]id)?$", re.IGNORECASE
)
"""A word of a vocabulary: `eos_token`, `pad-token-id`."""
_PLAIN_VALUE = regex(r"[\d.:/,+-]*|-.*|[~.]{0,2}[a-z\d_.-]*(?:/[a-z\d_.-]+)+/?", re.DOTALL)
"""After `-p`: a port, ports, an address or a number, a name such as `run/name`, or the next option,
and no password."""
_PASSWORD_OPTIONS: Mapping[str, re.Pattern[str]] = {
    "-p": regex(r"(?:mysql|mariadb|mongo)[\w-]*|sshpass|rabbitmqadmin|cqlsh|7z[ar]?"),
    "-P": regex(r"sqlcmd|bcp|(?:un)?zip"),
    "-a": regex(r"(?:redis|valkey|keydb)-cli"),
    "-w": regex(r"ldap[a-z]+"),
    "": regex(r"ssh|scp|sftp|rsync"),
}
"""What takes a password after a letter, `-p 12345` and `-p12345`; the last have a port there."""
_ENDS_A_COMMAND = (";", "|", "&")

_LOOKS_LIKE_A_SECRET = regex(
    r"""\b(?: (?:hf|gh[a-z]|github_pat|glpat|xox[a-z]|sk|pk|dckr_pat|pypi|npm|nvapi)[-_][\w-]{16,}
        | (?:AKIA|ASIA)[A-Z0-9]{16} | AIza[\w-]{30,} | eyJ[\w-]{8,}\.[\w.-]+ )""",
    re.VERBOSE,
)
"""Keys that their makers have given a beginning to be known by."""

_PEM = regex(r"-----BEGIN [^-]*-----.*?(?:-----END [^-]*-----|\Z)", re.DOTALL)
_OPTION = regex(r"-[A-Za-z]|--[a-z][a-z0-9_.-]*(?:=.*)?", re.DOTALL)
"""What follows a secret's name and is no value of it: `--use-auth-token --lr 1`."""

_SCHEMES = ("bearer", "basic", "token")
"""Of a header: what matters comes after them."""

_NAMES_A_USER = regex(r"-u|--(?:[\w-]+-)?(?:user(?:name)?|login)")
_PASSWORD_OF_USER = regex(r"^(?P<user>(?:--[\w-]+=)?[^\s:=/]+):(?!//).+", re.DOTALL)
_USER_OF_URL = regex(r"(?<=://)(?:[^\s/@]*:[^\s@]+|[^\s/@]+)(?=@)")
_HUMPS = regex(r"(?<=[a-z0-9])(?=[A-Z])")
_NAMED_VALUE = regex(r"""(?<![\w.-])(?P<name>[\w.-]+)["']?\s*[=:]\s*(?!//)""")
_ASKS = regex(r"""(?:^-+(?=[\w.-]+$)|(?<![\w.-])(?=[\w.-]+["']?[=:]["']?$))(?P<name>[\w.-]+)""")
_PIECE = regex(r"""(?:[^\s"']|"[^"]*"|'[^']*'|["'])+""")
"""What a shell would take for one word, about."""


def mask_secrets(words: Iterable[str]) -> list[str]:
    """The words of a command, passwords and keys masked."""
    masked_words: list[str] = []
    is_secret, before, option = False, "", ""
    for word in words:
        is_value = (is_secret or before == option != "") and _OPTION.fullmatch(word) is None
        is_value = is_value or (before == "-p" and not _is_plain(word))
        is_joined = option != "" and word.startswith(option) and word != option
        masked_word = MASK if is_value else f"{option}{MASK}" if is_joined else _masked_word(word)
        named, is_set, _ = word.partition("=")
        if _NAMES_A_USER.fullmatch(named if is_set else before):
            masked_word = _PASSWORD_OF_USER.sub(rf"\g<user>:{MASK}", masked_word)
        masked_words.append(masked_word)
        # Whether the next word is the secret: `--token`, or `token:`.
        asks = _ASKS.search(word)
        is_named = asks is not None and _is_secret(asks["name"])
        # A value that begins with a dash may be an option after all.
        is_secret = word.lower() in _SCHEMES or (is_named and not (is_value and word[:1] != "-"))
        before, option = word, _password_option(word, option)
    return [safe_text(word) for word in masked_words]


def safe_text(text: str) -> str:
    r"""Text that fits into JSON and into an address; names of files and arguments may be no text.

    >>> print(safe_text(os.fsdecode(b"a\xff.json")), safe_text("\ud800"))
    a\xff.json \ud800
    """
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()


def sayable_values(values: Any) -> Any:
    """Plain data with all of its text sayable."""
    if isinstance(values, str):
        return safe_text(values)
    if isinstance(values, dict):
        return {sayable_values(key): sayable_values(value) for key, value in values.items()}
    if isinstance(values, list | tuple):
        return [sayable_values(value) for value in values]
    return values


def _masked_word(word: str) -> str:
    word = _PEM.sub(MASK, word)
    pieces = list(_PIECE.finditer(word))
    if [piece[0] for piece in pieces] in ([], [word]):
        return _masked_piece(word)
    # The word with new pieces, and between them what was there.
    text, end = "", 0
    for piece, new in zip(pieces, mask_secrets(piece[0] for piece in pieces), strict=True):
        text += word[end : piece.start()] + new
        end = piece.end()
    return text + word[end:]


def _masked_piece(piece: str) -> str:
    for value in _NAMED_VALUE.finditer(piece):
        if _is_secret(value["name"]) and value.end() < len(piece):
            # Where it ends is not certain.
            piece = piece[: value.end()] + MASK
            break
    return _LOOKS_LIKE_A_SECRET.sub(MASK, _USER_OF_URL.sub(MASK, piece))


def _password_option(word: str, option: str) -> str:
    """Which option takes a password from here on; that of before, unless a command begins."""
    if word.endswith(_ENDS_A_COMMAND):
        return ""
    program = word.rpartition("/")[2]
    options = (new for new, names in _PASSWORD_OPTIONS.items() if names.fullmatch(program))
    return next(options, option)


def _is_plain(word: str) -> bool:
    """Whether what follows `-p` is no password: a number, a port, a name, a path that exists."""
    return _PLAIN_VALUE.fullmatch(word) is not None or os.path.exists(word)  # noqa: PTH110 - any text


def _is_secret(name: str) -> bool:
    name = _SPECIAL_TOKEN.sub("", _HUMPS.sub("_", name))
    return _NAMES_A_SECRET.search(name) is not None
