"""The site as ``make docs`` builds it: no link or anchor of it is dead, it looks as on a forge, and fetches nothing.

It is built once with an address of the repository and once without.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from scripts.site.moved import MOVED
from tests.house.tree import ROOT, tracked_files
from tests.site.html import Html, dead, read, site

HOST = "https://forge.example/people/airflow-coordination"
Built = tuple[Path, dict[Path, Html], str]
TOOLS = ROOT / ".work" / "site" / "venv" / "bin" / "mkdocs"
WANTED = ("docs", "scripts/site", "airflow_coordination/__init__.py", "hatch_build.py", "mkdocs.yml", "pyproject.toml")
EACH = pytest.mark.parametrize(
    "built", [pytest.param("", id="empty"), pytest.param(HOST, marks=pytest.mark.long, id="filled")], indirect=True
)
FETCHED = re.compile(
    r'<(?:script|img|iframe)[^>]*\ssrc="(?:https?:|//)|<link[^>]*rel="(?:stylesheet|preconnect)"[^>]*href="(?:https?:|//)'
)
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the site is made of, in another place, with the pages that are not in git."""
    place = tmp_path_factory.mktemp("source")
    for file in tracked_files():
        name = file.relative_to(ROOT)
        if str(name).startswith(WANTED):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place / name)
    command = [sys.executable, "scripts/docs_build.py", str(place / ".work" / "docs")]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (place / ".work" / "npm").symlink_to(ROOT / ".work" / "npm")
    return place


@pytest.fixture(scope="module")
def built(request: pytest.FixtureRequest, source: Path) -> Built:
    """The root of the site, its pages, and the repository that somebody has filled in."""
    project = (ROOT / "pyproject.toml").read_text()
    filled = re.sub(r'^repository = ".*"$', f'repository = "{request.param}"', project, flags=re.MULTILINE)
    (source / "pyproject.toml").write_text(filled)
    assert TOOLS.exists(), "The site's tools are not there. Run: make docs"
    command, environment = [TOOLS, "build", "--quiet"], os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    said = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
    root = source / ".work" / "site" / "html"
    return root, site(root), request.param


@EACH
def test_every_link_and_anchor_leads_somewhere(built: Built) -> None:
    root, pages, repository = built
    assert len(pages) > 80
    assert [*dead(pages, root)] == []
    files = {str(path.relative_to(ROOT)) for path in tracked_files()}
    out = {t for page in pages.values() for t in page.targets if repository and t.startswith(f"{repository}/")}
    paths = {target.removeprefix(repository).split("/", 3)[3].partition("#")[0].rstrip("/") for target in out}
    assert {path for path in paths if path not in files and not (ROOT / path).is_dir()} == set()
    assert (len(paths) > 50) == bool(repository)


@EACH
def test_a_page_fetches_nothing_from_elsewhere(built: Built) -> None:
    root, _, _ = built
    assert [page.name for page in root.rglob("*.html") if FETCHED.search(page.read_text())] == []


@EACH
def test_a_page_has_the_elements_that_a_forge_shows(built: Built, source: Path) -> None:
    """Python-Markdown reads lists in another way, and says nothing when it does."""
    root, pages, _ = built
    forge = MarkdownIt("commonmark", {"html": True}).enable("table")
    for path, page in pages.items():
        name = path.relative_to(root).with_suffix(".md")
        if name == Path("404.md") or str(name.with_suffix("")) in MOVED:
            continue
        kept = source / "docs" / (name if name != Path("index.md") else "README.md")
        unkept = source / ".work" / "docs" / name.name
        shown = unkept if unkept.exists() and name.parent == Path("reference") else kept
        assert page.elements == read(forge.render(shown.read_text()), path, whole=True).elements, name


@EACH
def test_the_pages_that_are_not_kept_are_in_it(built: Built) -> None:
    root, pages, _ = built
    assert "airflow_coordinationleases" in pages[root / "reference" / "python.html"].anchors
    assert "s6" in pages[root / "reference" / "promises.html"].anchors
    found = (root / "search" / "search_index.json").read_text()
    assert "reference/python.html#sourcecoordinator" in found
    assert not list(root.rglob("*decisions*"))


@EACH
def test_only_pages_with_a_diagram_load_what_draws_it(built: Built) -> None:
    root, pages, _ = built
    drawing = {path.name for path, page in pages.items() if any("mermaid" in target for target in page.targets)}
    assert drawing == {page.name for page in root.rglob("*.html") if '<pre class="mermaid">' in page.read_text()}
    assert "protocol.html" in drawing
