"""A newcomer's way is short: README, the first page, draining, how a run ends, the board."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT

WAY = ("README.md", "docs/how-to/files-to-a-table.md", "docs/how-to/drain-many.md", "docs/how-to/how-a-run-ends.md",
       "docs/how-to/board.md")  # fmt: skip
MOST = 4500


def words(text: str) -> int:
    """Count what is read, code among it; not the marks of tables and lists, comments and addresses of links."""
    text = re.sub(r"<!--.*?-->|\]\([^)]*\)", " ", text, flags=re.S)
    return sum(any(map(str.isalnum, word)) for word in text.split())


def test_a_newcomer_s_way_has_4500_words_at_most() -> None:
    counted = {page: words((ROOT / page).read_text()) for page in WAY}
    assert sum(counted.values()) <= MOST, counted


def test_what_is_read_is_counted() -> None:
    """The check can fail."""
    assert words("| a [page](of/it.md) | `code here` |\n| --- | --- |\n* b <!-- not this -->") == 5


def test_the_index_begins_with_three_lines() -> None:
    begin = (ROOT / "docs/README.md").read_text().partition("## ")[0]
    assert re.findall(r"^\* \*\*(.+?)[:*]", begin, re.M) == ["Begin", "Operate", "Everything else"]
