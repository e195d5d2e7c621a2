"""What mkdocs does for the site beside building pages: addresses, links out of ``docs``, pages that are not in git.

``mkdocs.yml`` names this file, and mkdocs calls its functions by their names.
"""

from __future__ import annotations

import posixpath
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT: Final = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from hatch_build import Addresses, from_the_root, known_in, relinked  # noqa: E402
from scripts.site.lists import widened  # noqa: E402
from scripts.site.moved import stubs  # noqa: E402

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_MERMAID: Final = "assets/javascripts/mermaid.min.js"
_NOWHERE: Final = "https://documentation.example"
"""Stands in the rules where whoever serves the pages puts their address."""
DOCS: Final = "docs"
BUILT: Final = ROOT / ".work" / "docs"
"""Where ``scripts/docs_build.py`` has written the pages that are not kept."""
DIAGRAMS: Final = ROOT / ".work" / "npm" / "site" / "node_modules" / "mermaid" / "dist" / "mermaid.min.js"
OF_CONTRIBUTORS: Final = "docs/decisions/"


@cache  # asked for each page
def known() -> Addresses:
    """Return the addresses of this version, as whoever publishes has filled them in."""
    return known_in(ROOT)


def inside(text: str, page: str, known: Addresses) -> str:
    """Return a page as the site shows it: links to other pages stay, all others lead to the files of the tag.

    :param page: path of the page, from the root of the repository.
    """
    folder = posixpath.dirname(page)

    def changed(match: re.Match[str]) -> str:
        target, anchor, name = match["target"].partition("#")
        path = posixpath.normpath(posixpath.join(folder, target))
        if path.startswith(f"{DOCS}/") and not f"{path}/".startswith(OF_CONTRIBUTORS):
            return f"{match['mark']}[{match['text']}]({posixpath.relpath(path, folder)}{anchor}{name})"
        return from_the_root(match, f"{path}{anchor}{name}", known)

    return relinked(text, changed)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Say where the site and the repository are, where that is known, and which version this is."""
    found = known()
    config.site_url = f"{found.documentation}/" if found.documentation else None
    config.repo_url = found.repository or None
    config.copyright = f"airflow-coordination {found.tag.removeprefix('v')}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Bring what draws diagrams along: the theme would fetch it from elsewhere."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, _MERMAID, abs_src_path=str(DIAGRAMS)))
    return files


def on_page_read_source(page: Page, config: MkDocsConfig) -> str | None:
    """Take a page that is built in the place of the one that says how it is built."""
    folder, _, name = page.file.src_uri.rpartition("/")
    built = BUILT / name
    return built.read_text() if folder == "reference" and built.exists() else None


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let the links of a page lead somewhere, and its lists be read as they are meant."""
    return widened(inside(markdown, f"{DOCS}/{page.file.src_uri}", known()))


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Load what draws diagrams where there is one; it is large."""
    if '<pre class="mermaid">' not in output:
        return output
    script = posixpath.relpath(_MERMAID, posixpath.dirname(page.url))
    return output.replace("</head>", f'<script src="{script}"></script></head>', 1)


def on_post_build(config: MkDocsConfig) -> None:
    """Let the addresses that pages had lead on to where they are, and alerts to the pages of this site."""
    root = Path(config.site_dir)
    for path, page in stubs().items():
        (root / path).write_text(page)
    if config.site_url:
        rules = root / "operate" / "alert-rules.yaml"
        rules.write_text(rules.read_text().replace(f"{_NOWHERE}/", config.site_url))
