"""The pages of the documentation, and the code blocks in them.

A comment before a block says what it is: ``<!-- file: NAME -->`` is written to that file, ``<!-- run -->`` is a shell
block that is run, ``<!-- prints -->`` is what the block before it prints. Python blocks without a comment are run.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"(?:<!-- (?P<note>[^>]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(slots=True)
class Step:
    """One thing to do with a page.

    :param kind: ``python``, ``shell`` or ``file``.
    :param text: the block.
    :param line: where it is in the page.
    :param name: the file's name.
    :param prints: what it must print, ``None`` where the page does not say.
    """

    kind: str
    text: str
    line: int
    name: str = ""
    prints: str | None = None


def steps(page: Path) -> list[dict]:
    """Return what the page does, in its order."""
    found: list[Step] = []
    content = page.read_text()
    for match in _FENCE.finditer(content):
        note, language, text = match["note"] or "", match["language"], match["text"]
        line = content[: match.start("text")].count("\n")
        if note == "prints":
            found[-1].prints = text
        elif note.startswith("file: "):
            found.append(Step("file", text, line, note.removeprefix("file: ")))
        elif note == "run":
            found.append(Step("shell", text, line))
        elif language == "python":
            found.append(Step("python", text, line))
    return [asdict(step) for step in found]


def label(page: Path) -> str:
    """Return a page's name in a test's id."""
    return str(page.relative_to(ROOT))
