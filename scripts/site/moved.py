"""Pages that have moved: at the old address stands a page that leads on, to the section that took its place."""

from __future__ import annotations

import posixpath
from typing import Final

MOVED: Final = {
    "how-to/history": "how-to/act-on-partitions#who-held-it-and-what-came-of-it",
    "how-to/parked": "how-to/why-not-moving#when-a-partition-is-parked",
    "how-to/pause": "how-to/act-on-partitions#pause-a-source",
    "how-to/reopen-and-park": "how-to/act-on-partitions",
    "operate/at-3-am": "how-to/why-not-moving#one-question-one-command",
}
"""From the folder of pages, without the end of the name. Sections have kept their names: a link to one finds it."""
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Moved</title><meta name="robots" content="noindex">
<script>location.replace("{page}" + (location.hash || "{section}"))</script>
<noscript><meta http-equiv="refresh" content="0; url={page}{section}"></noscript>
</head><body><p>This page has moved: <a href="{page}{section}">go on</a>.</p></body></html>
"""


def stubs() -> dict[str, str]:
    """Return what stands at each old address, by its path in the site."""
    found = {}
    for old, new in MOVED.items():
        page, mark, section = new.partition("#")
        way = posixpath.relpath(f"{page}.html", posixpath.dirname(old))
        found[f"{old}.html"] = _PAGE.format(page=way, section=mark + section)
    return found
