"""What follows the site's links finds each way in which one can be dead."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.html import dead, read, site

PAGE = '<nav><li>x</li></nav><article><h1 id="top">A</h1><ul><li><a href="%s">there</a></li></ul></article><ul></ul>'
OTHER = '<article><h2 id="über-uns">B</h2><a name="old"></a><img src="a%20b.png"></article>'


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("#top", []),
        ("below/other.html", []),
        ("below/other.html#old", []),
        ("below/other.html#%C3%BCber-uns", []),
        ("below/a%20b.png", []),
        ("/index.html", []),
        (".", []),
        ("https://elsewhere.example/x#y", []),
        ("mailto:a@b.example", []),
        ("#bottom", ["index.html: #bottom (no such anchor)"]),
        ("below/other.html#top", ["index.html: below/other.html#top (no such anchor)"]),
        ("below/gone.html", ["index.html: below/gone.html"]),
        ("../outside.html", ["index.html: ../outside.html"]),
        ("below", ["index.html: below"]),
    ],
)
def test_a_dead_link_is_found(tmp_path: Path, target: str, said: list[str]) -> None:
    root = tmp_path / "site"
    (root / "below").mkdir(parents=True)
    (root / "index.html").write_text(PAGE % target)
    (root / "below" / "other.html").write_text(OTHER)
    (root / "below" / "a b.png").write_bytes(b"")
    (tmp_path / "outside.html").write_text("")
    assert [*dead(site(root), root)] == said


def test_elements_are_counted_in_the_article_alone() -> None:
    page = read(PAGE % "#top", Path("x"))
    assert {name: count for name, count in page.elements.items() if count} == {"h1": 1, "ul": 1, "li": 1}
