"""The words of an expression, one after the other; whatever the engine does not know is refused by name."""

from __future__ import annotations

import re

_WORD = re.compile(r"#\w+|:\w+|\w+|<>|<=|>=|\S")


class Words:
    """Gives the words of an expression, and notes its placeholders.

    :param text: the expression.
    """

    def __init__(self, text: str) -> None:
        self._text, self._words, self._next = text, _WORD.findall(text), 0
        self.names: set[str] = set()
        self.values: dict[str, tuple[str, ...]] = {}
        """The placeholders of values, each with the types that it may have; any when there are none."""

    @property
    def next(self) -> str:
        """The word whose turn it is; empty at the end."""
        return self._words[self._next] if self._next < len(self._words) else ""

    def take(self, *wanted: str) -> str:
        """Return the next word, which must be one of those."""
        found = self.next
        if found not in wanted:
            raise self.unknown()
        self._next += 1
        return found

    def skip(self, word: str) -> bool:
        """Return whether the next word is this one, and pass it if so."""
        if self.next != word:
            return False
        self._next += 1
        return True

    def name(self) -> str:
        """Return the next word, which must be the placeholder of an attribute's name."""
        found = self._placeholder("#")
        self.names.add(found)
        return found

    def value(self, *types: str) -> str:
        """Return the next word, which must be the placeholder of a value.

        :param types: the value must have one of them.
        """
        found = self._placeholder(":")
        self.values[found] = types or self.values.get(found, ())
        return found

    def end(self) -> None:
        """Refuse what is left over."""
        if self.next:
            raise self.unknown()

    def unknown(self) -> NotImplementedError:
        """Return the error about the next word."""
        return NotImplementedError(f"{self.next or 'the end'!r} where it stands in the expression {self._text!r}")

    def _placeholder(self, mark: str) -> str:
        found = self.next
        if not found.startswith(mark):
            raise self.unknown()
        self._next += 1
        return found
