"""Command lines without what is secret in them: recordings are passed on.

What looks like a secret goes.  A mask too many costs a word of a description, one too few a key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

MASK = "***"

_NAMES_A_SECRET = re.compile(
    r"""secret | passw | passphrase | credential | (?:api|access|private|account)[-_.]?key
        | (?:^|[-_.]|auth|access)(?:token|auth|authorization|bearer|signature|sig|pwd)(?:$|[-_.])
        | (?:^|[-_.])keys?$""",
    re.IGNORECASE | re.VERBOSE,
)
"""Not --max-tokens, --tokenizer, --key-size."""

_LOOKS_LIKE_A_SECRET = re.compile(
    r"""\b(?: (?:hf|gh[a-z]|github_pat|glpat|xox[a-z]|sk|pk|dckr_pat|pypi|npm|nvapi)[-_][\w-]{16,}
        | (?:AKIA|ASIA)[A-Z0-9]{16} | AIza[\w-]{30,} | eyJ[\w-]{8,}\.[\w.-]+ )""",
    re.VERBOSE,
)
"""Keys that their makers have given a beginning to be known by."""

_SCHEMES = ("bearer", "basic", "token")
"""Of a header: what matters comes after them."""

_USER_OF_URL = re.compile(r"(?<=://)(?:[^\s/@]*:[^\s@]+|[^\s/@]+)(?=@)")
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAMED_VALUE = re.compile(r"""(?<![\w.-])(?P<name>[\w.-]+)["']?\s*[=:]\s*(?!//)""")
_ASKS = re.compile(
    r"""(?:^-+(?=[\w.-]+$)|(?<![\w.-])(?=[\w.-]+["']?[=:]["']?$))(?P<name>[\w.-]+)"""
)
_PIECE = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*'|["'])+""")
"""What a shell would take for one word, about."""


def masked(words: Iterable[str]) -> list[str]:
    """The words of a command, passwords and keys masked."""
    kept: list[str] = []
    is_secret = False
    for word in words:
        is_value = is_secret and not word.startswith("-")
        kept.append(MASK if is_value else _masked_word(word))
        # Whether the next word is the secret: `--token`, or `token:`.
        asks = _ASKS.search(word)
        is_named = asks is not None and _is_secret(asks["name"])
        is_secret = word.lower() in _SCHEMES if is_value else is_named
    return kept


def _masked_word(word: str) -> str:
    pieces = list(_PIECE.finditer(word))
    if [piece[0] for piece in pieces] in ([], [word]):
        return _masked_piece(word)
    # The word with new pieces, and between them what was there.
    text, end = "", 0
    for piece, new in zip(pieces, masked(piece[0] for piece in pieces), strict=True):
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


def _is_secret(name: str) -> bool:
    return _NAMES_A_SECRET.search(_HUMPS.sub("_", name)) is not None
