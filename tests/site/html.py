"""What a page of the built site has: anchors, links, and its elements in their order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

COUNTED: Final = ("h1", "h2", "h3", "h4", "ul", "ol", "li", "table", "tr", "pre", "img")


@dataclass(slots=True)
class Html:
    """One page.

    :param path: of the file.
    :param anchors: what a link may name behind ``#``.
    :param targets: what its links, pictures, scripts and styles lead to, as they are written.
    :param elements: how many there are of each of ``COUNTED``, in the article alone.
    """

    path: Path
    anchors: set[str] = field(default_factory=set)
    targets: list[str] = field(default_factory=list)
    elements: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTED, 0))


class _Reader(HTMLParser):
    def __init__(self, page: Html, *, whole: bool) -> None:
        super().__init__()
        self._page, self._counting, self._whole = page, whole, whole

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._page.anchors.update(value for name in ("id", "name") if (value := given.get(name)))
        self._page.targets += [value for name in ("href", "src") if (value := given.get(name))]
        if tag == "article":
            self._counting = True
        if self._counting and tag in COUNTED:
            self._page.elements[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self._counting = self._whole


def read(text: str, path: Path, *, whole: bool = False) -> Html:
    """Return a page of the text of its file.

    :param whole: count everywhere and not in an article only.
    """
    page = Html(path)
    reader = _Reader(page, whole=whole)
    reader.feed(text)
    reader.close()
    return page


def site(root: Path) -> dict[Path, Html]:
    """Return all pages below a directory."""
    return {path: read(path.read_text(), path) for path in sorted(root.rglob("*.html"))}


def dead(pages: dict[Path, Html], root: Path) -> Iterator[str]:
    """Yield each link of the pages that leads to no file or to no anchor, or out of the site without saying where.

    An address of another host is taken as it is.
    """
    for page in pages.values():
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            begin = root if parts.path.startswith("/") else page.path.parent
            path = page.path
            if parts.path:
                path = Path(os.path.normpath(begin / unquote(parts.path).lstrip("/")))
                path = path / "index.html" if path.is_dir() else path
            if not path.is_file() or not path.is_relative_to(root):
                yield f"{page.path.relative_to(root)}: {target}"
            elif path.suffix == ".html" and parts.fragment and unquote(parts.fragment) not in pages[path].anchors:
                yield f"{page.path.relative_to(root)}: {target} (no such anchor)"
