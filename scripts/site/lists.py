"""Lists as a forge reads them, written as Python-Markdown wants them: four spaces for each level.

A forge takes what stands below the first letter of an item as a part of it, be that two or three spaces in;
Python-Markdown ends the list there.
"""

from __future__ import annotations

import re
from typing import Final

_ITEM: Final = re.compile(r" *([*-]|\d+\.) +(?=\S)")
_FENCE: Final = re.compile(r" *(```+)")
_LEVEL: Final = 4


class _Widening:
    """The lists that are open at a line of a page."""

    def __init__(self) -> None:
        self._texts: list[int] = []  # the column at which the text of each open item begins
        self._fence = ""
        self._moved = 0
        self._after_blank = True
        self._in_list = False  # what has begun after the last blank line began with an item

    def line(self, line: str) -> str:
        """Return the next line of the page in its new place."""
        if self._fence:
            self._fence = "" if line.strip() == self._fence else self._fence
            return self._placed(line)
        before = self._look(line) if line.strip() else ""
        self._after_blank = not line.strip()
        return before + self._placed(line)

    def _look(self, line: str) -> str:
        indent, item, fence = len(line) - len(line.lstrip(" ")), self._item(line), _FENCE.match(line)
        interrupts = item and not self._after_blank and not self._in_list
        if item or self._after_blank:  # other lines go on with a paragraph, wherever they begin
            while self._texts and indent < self._texts[-1]:
                self._texts.pop()
            self._moved = _LEVEL * len(self._texts) - (self._texts[-1] if self._texts else 0)
            self._in_list = bool(item)
        if item:
            self._texts.append(len(item[0]))
        self._fence = fence[1] if fence else ""
        return "\n" if interrupts else ""

    def _item(self, line: str) -> re.Match[str] | None:
        item = _ITEM.match(line)
        inside = self._after_blank or self._texts
        return item if item and (inside or item[1] in {"*", "-", "1."}) else None  # a number may begin a line of words

    def _placed(self, line: str) -> str:
        if not line.strip():
            return line
        return " " * self._moved + line if self._moved >= 0 else line.removeprefix(" " * -self._moved)


def widened(text: str) -> str:
    """Return a page with what belongs to the items of its lists moved to the right."""
    widening = _Widening()
    return "\n".join(map(widening.line, text.split("\n")))
