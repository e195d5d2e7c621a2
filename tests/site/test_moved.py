"""Old addresses lead on: each page that has moved has one at its place, and its sections are found by their names."""

from __future__ import annotations

import re

import pytest

from scripts.site.moved import MOVED, stubs
from tests.house.tree import ROOT

DOCS = ROOT / "docs"


def anchors(page: str) -> set[str]:
    """Return the names of a page's sections, as a forge makes them."""
    heads = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_what_has_moved_is_there(old: str, new: str) -> None:
    assert not (DOCS / f"{old}.md").exists()
    page, _, section = new.partition("#")
    assert (section or "act-on-partitions") in anchors((DOCS / f"{page}.md").read_text())


def test_a_stub_leads_there_with_and_without_a_script() -> None:
    stub = stubs()["operate/at-3-am.html"]
    assert 'location.replace("../how-to/why-not-moving.html" + (location.hash || "#one-question-one-command"))' in stub
    assert 'content="0; url=../how-to/why-not-moving.html#one-question-one-command"' in stub
    assert '<a href="../how-to/why-not-moving.html#one-question-one-command">' in stub


def test_sections_that_were_linked_to_kept_their_names() -> None:
    named = anchors((DOCS / "how-to/act-on-partitions.md").read_text())
    assert named >= {"a-source-pauses-itself", "how-long-it-is-kept", "take-back-what-was-published", "by-a-person"}
