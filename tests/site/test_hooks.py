"""What the site does with the pages of docs/: their links lead somewhere, and lists are read as they are meant."""

from __future__ import annotations

import posixpath

import pytest

from airflow_coordination import __version__
from hatch_build import Addresses, addresses
from scripts.site.hooks import DOCS, inside
from scripts.site.hooks import known as known_here
from scripts.site.lists import widened
from tests.docs.pages import PAGES
from tests.docs.test_links import CODE, LINK
from tests.house.tree import ROOT, tracked_files

HOST = "https://forge.example/people/airflow-coordination"
FORMS = {"page": "{repository}/blob/{tag}/{path}", "raw": "{repository}/raw/{tag}/{path}"}
FILLED = addresses({"repository": HOST, "documentation": "", **FORMS}, "9.9")
EMPTY = addresses({"repository": "", "documentation": "", **FORMS}, "9.9")
PAGE = "docs/how-to/compact.md"


def test_a_link_to_another_page_stays() -> None:
    text = "[a](pause.md#half) [b](../reference/timers.md) [c](#d) [e](https://f.example/g) ![h](../images/map.png)"
    assert inside(text, PAGE, FILLED) == inside(text, PAGE, EMPTY) == text


def test_a_link_of_a_built_page_is_one_from_its_place() -> None:
    assert inside("[a](../../docs/reference/errors.md#x)", "docs/reference/python.md", EMPTY) == "[a](errors.md#x)"


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("../../dags/compaction.py", "dags/compaction.py"),
        ("../../README.md#really-run", "README.md#really-run"),
        ("../decisions/0116-x.md", "docs/decisions/0116-x.md"),
        ("../decisions", "docs/decisions"),
    ],
)
def test_a_link_out_of_the_site_leads_to_the_file_of_the_tag_or_is_left_out(target: str, path: str) -> None:
    assert inside(f"see [`it`]({target}).", PAGE, FILLED) == f"see [`it`]({HOST}/blob/v9.9/{path})."
    assert inside(f"see [`it`]({target}).", PAGE, EMPTY) == "see `it`."


def test_code_is_left_alone() -> None:
    text = "```python\nrows[0](../../dags/x.py)\n```\n"
    assert inside(text, PAGE, EMPTY) == text


@pytest.mark.parametrize("known", [FILLED, EMPTY], ids=["filled", "empty"])
def test_every_link_of_every_page_stays_inside_or_leads_to_a_file(known: Addresses) -> None:
    """Decisions are for contributors: nothing of the site is there."""
    files = {str(path.relative_to(ROOT)) for path in tracked_files()}
    lost, out = [], 0
    for page in (page for page in PAGES if ROOT / DOCS in page.parents and page.parent.name != "decisions"):
        name = str(page.relative_to(ROOT))
        for target in LINK.findall(CODE.sub("", inside(page.read_text(), name, known))):
            path = target.partition("#")[0]
            if target.startswith(HOST):
                out += 1
                found = path.removeprefix(f"{HOST}/blob/v9.9/").rstrip("/")
                lost += [] if found in files or (ROOT / found).is_dir() else [(name, target)]
            elif path and "://" not in path:
                place = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
                inner = place in files and place.startswith(f"{DOCS}/") and not place.startswith(f"{DOCS}/decisions")
                lost += [] if inner else [(name, target)]
    assert lost == []
    assert (out > 50) == bool(known.repository)


def test_the_tag_is_this_version_s() -> None:
    assert known_here().tag == f"v{__version__}"


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("words\n  that go on\n", "words\n  that go on\n"),
        ("* a\n  goes on\n* b\n", "* a\n  goes on\n* b\n"),
        ("* a\n  * b\n    * c\n* d\n", "* a\n    * b\n        * c\n* d\n"),
        ("1. a\n\n   below\n2. b\n", "1. a\n\n    below\n\n2. b\n"),
        ("1. a\n\n   ```sh\n   x\n\n    y\n   ```\n\nout\n", "1. a\n\n    ```sh\n    x\n\n     y\n    ```\n\nout\n"),
        ("words:\n* a\n", "words:\n\n* a\n"),
        ("since\n2013. A year\n", "since\n2013. A year\n"),
        ("```\n* no list\n  - here\n```\n", "```\n* no list\n  - here\n```\n"),
    ],
)
def test_lists_are_written_with_four_spaces_for_each_level(page: str, wanted: str) -> None:
    assert widened(page) == wanted
