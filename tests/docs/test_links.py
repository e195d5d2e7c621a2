"""Links inside the documentation lead somewhere, and it names nothing of one machine."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import PAGES, ROOT, label

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$", re.M | re.S)
HEADING = re.compile(r"^#+ (.+)$", re.M)
MAKE = re.compile(r"`?\bmake ([a-z][a-z-]+)\b")
# Written in pieces, so that this file is no exception.
FORBIDDEN = re.compile(
    "|".join([r"(?<![\w.])/" + "work/", r"(?<![\w.])/" + "root/", "pypi" + r"\.org", "python" + "hosted"])
)


def _anchors(text):
    """Return the anchors that a forge gives the headings."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in HEADING.findall(CODE.sub("", text))
    }


def broken(text, folder):
    """Yield the links in a page of a folder that lead nowhere."""
    for target in LINK.findall(CODE.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (folder / path).resolve()
        if (path and not file.exists()) or (anchor and anchor not in _anchors(file.read_text() if path else text)):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_internal_links_resolve(page):
    """Files and headings."""
    assert list(broken(page.read_text(), page.parent)) == []


@pytest.mark.parametrize("page", PAGES, ids=label)
def test_page_names_no_registry_and_no_path_of_one_machine(page):
    """They would be wrong for everybody else."""
    assert FORBIDDEN.findall(page.read_text()) == []


def test_every_page_can_be_reached_from_the_readme():
    """By following links."""
    seen, todo = set(), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        seen.add(page)
        targets = {(page.parent / target.partition("#")[0]).resolve() for target in LINK.findall(page.read_text())}
        todo += [target for target in targets if target.suffix == ".md" and target.exists() and target not in seen]
    assert set(PAGES) - seen == set()


def test_make_targets_that_the_docs_name_exist():
    """In the Makefile."""
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.M))
    code = [line for page in PAGES for line in re.findall(r"`make [a-z-]+|^make [a-z-]+", page.read_text(), re.M)]
    assert {MAKE.match(line)[1] for line in code} - targets == set()
    assert "demo" in targets


def test_the_picture_needs_nothing_from_outside():
    """No font, script or image of another place; both colour schemes."""
    picture = (ROOT / "docs/way.svg").read_text()
    assert re.findall(r"https?://(?!www\.w3\.org/2000/svg)|@import|<script|<image|@font-face", picture) == []
    assert "prefers-color-scheme: dark" in picture


def test_versions_named_in_the_readme_are_those_of_the_lock():
    """What was really run."""
    lock = dict(re.findall(r"^([\w.-]+?)(?:\[[\w,-]+\])?==(\S+)", (ROOT / "requirements/dev.txt").read_text(), re.M))
    readme = (ROOT / "README.md").read_text()
    pairs = {
        "Airflow": "apache-airflow",
        "Spark provider": "apache-airflow-providers-apache-spark",
        "PySpark": "pyspark",
    }
    assert {name: f"{name} {lock[package]}" in readme for name, package in pairs.items()} == dict.fromkeys(pairs, True)
