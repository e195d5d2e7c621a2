"""The site's navigation has every page once, under what people want to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.house.tree import ROOT

TEXT = (ROOT / "mkdocs.yml").read_text()
NAV: list[dict[str, Any]] = yaml.safe_load(re.search(r"^nav:\n(?:  .*\n)+", TEXT, re.M)[0])["nav"]


def _pages(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    for each in part if isinstance(part, list) else part.values() if isinstance(part, dict) else ():
        yield from _pages(each)


def test_every_page_but_decisions_stands_in_it_once() -> None:
    docs = ROOT / "docs"
    wanted = [str(page.relative_to(docs)) for page in docs.rglob("*.md") if page.parent != docs / "decisions"]
    assert sorted(_pages(NAV)) == sorted(wanted)


def test_it_is_ordered_by_what_people_do() -> None:
    assert [next(iter(part)) for part in NAV] == ["Begin", "Operate", "Reference", "How it is proved"]
