"""Names and patterns of entries."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WILD = {"*": ".*", "?": "."}


@dataclass(frozen=True, slots=True)
class NamePattern:
    """A name in which * stands for any text and ? for one letter; brackets are themselves.

    Names of kernels are full of brackets, stars of pointers among them: what is the name itself
    fits, whatever is in it.
    """

    text: str
    expression: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> NamePattern:
        """The pattern of an entry.

        >>> Pattern.of("aten::conv*").fits("aten::conv2d"), Pattern.of("f[i*]").fits("f[i*]")
        (True, True)
        >>> Pattern.of("aten::m?").fits("aten::mul"), Pattern.of("aten::mm").is_glob
        (False, False)
        """
        parts = [_WILD.get(letter) or re.escape(letter) for letter in text]
        return cls(text, re.compile("".join(parts), re.DOTALL))

    @property
    def is_glob(self) -> bool:
        return any(letter in self.text for letter in _WILD)

    def fits(self, name: str) -> bool:
        return name == self.text or self.expression.fullmatch(name) is not None
