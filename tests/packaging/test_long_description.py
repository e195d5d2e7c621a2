"""README as an index shows it: no link in it leads nowhere, whether the project's address is known or not."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from markdown_it import MarkdownIt

from airflow_coordination import __version__
from hatch_build import addresses, for_outside
from tests.docs.test_links import broken
from tests.house.tree import ROOT, tracked_files

HOST = "https://forge.example/people/airflow-coordination"
FORMS = {"page": "{repository}/blob/{tag}/{path}", "raw": "{repository}/raw/{tag}/{path}"}
EMPTY = {"repository": "", "documentation": "", **FORMS}
Metadata = Callable[[str], dict[str, Any]]


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Metadata:
    """Return what hatchling tells an index when somebody has filled in this repository."""
    place = tmp_path_factory.mktemp("project")
    (place / "airflow_coordination").mkdir()
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "airflow_coordination/__init__.py"):
        shutil.copy(ROOT / name, place / name)
    text = (place / "pyproject.toml").read_text()

    def told(repository: str) -> dict[str, Any]:
        filled = re.sub(r'^repository = ".*"$', f'repository = "{repository}"', text, flags=re.MULTILINE)
        (place / "pyproject.toml").write_text(filled)
        said = subprocess.run(
            [sys.executable, "-m", "hatchling", "metadata"], cwd=place, capture_output=True, check=True
        )
        return json.loads(said.stdout)

    return told


def _targets(description: str) -> Iterator[str]:
    """Yield what links and pictures of the rendered page lead to."""
    for token in MarkdownIt("commonmark", {"html": True}).enable("table").parse(description):
        for part in [token, *(token.children or [])]:
            yield from (str(part.attrs[name]) for name in ("href", "src") if name in part.attrs)
            if part.type.startswith("html"):
                yield from re.findall(r"""(?:href|src)=["']([^"']+)""", part.content)


def test_without_an_address_no_relative_link_is_left(metadata: Metadata) -> None:
    said = metadata("")
    targets = [*_targets(said["readme"]["text"])]
    assert targets, "it links to the projects it is compared with"
    assert [target for target in targets if not target.startswith("https://")] == []
    assert "urls" not in said or set(said["urls"]) <= {"Documentation"}


def test_with_an_address_every_link_leads_to_a_file_of_the_tag(metadata: Metadata) -> None:
    said = metadata(HOST)
    ours = [target for target in _targets(said["readme"]["text"]) if target.startswith(HOST)]
    files = {str(path.relative_to(ROOT)) for path in tracked_files()}
    before = [*_targets((ROOT / "README.md").read_text())]
    assert len(ours) == len([target for target in before if "://" not in target]) > 10
    for target in [*ours, said["urls"]["Changelog"], said["urls"]["Security"]]:
        kind, tag, path = target.removeprefix(f"{HOST}/").split("/", 2)
        name, _, anchor = path.partition("#")
        assert (tag, kind) == (f"v{__version__}", "raw" if name.endswith((".png", ".svg")) else "blob")
        assert name in files
        assert not anchor or not [*broken(f"[there]({name}#{anchor})", ROOT)]


def test_the_index_shows_where_the_project_lives(metadata: Metadata) -> None:
    urls = metadata(HOST)["urls"]
    assert urls["Source"] == HOST
    assert urls["Issues"] == f"{HOST}/issues"
    assert urls["Changelog"] == f"{HOST}/blob/v{__version__}/CHANGELOG.md"


def test_words_stay_where_a_link_goes_and_code_is_left_alone() -> None:
    text = (
        "See [the `way`](docs/way.md#x) and ![a picture](docs/way.svg), [here](#there), [out](https://a.example/b).\n"
    )
    code = "```python\nrows[0](docs/way.md)\n```\n"
    unknown = addresses(EMPTY, "9.9")
    assert for_outside(text + code, unknown) == (
        "See the `way` and *a picture*, [here](#there), [out](https://a.example/b).\n" + code
    )
    known = addresses({**EMPTY, "repository": HOST}, "9.9")
    assert for_outside(text, known) == (
        f"See [the `way`]({HOST}/blob/v9.9/docs/way.md#x) and ![a picture]({HOST}/raw/v9.9/docs/way.svg), "
        "[here](#there), [out](https://a.example/b).\n"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"repository": f"{HOST}/"}, "repository is 'https://forge.example/people/airflow-coordination/': give"),
        ({"repository": "forge.example"}, "give an address without a slash at its end, or ''"),
        ({"documentation": "docs"}, "documentation is 'docs'"),
        ({"page": "{repository}/{path}"}, "it lacks {tag}"),
        ({"repo": HOST}, "it wants ['documentation', 'page', 'raw', 'repository']"),
    ],
)
def test_an_address_that_is_none_is_refused_with_what_to_give(change: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        addresses({**EMPTY, **change}, "9.9")


def test_only_the_one_table_says_where_the_project_lives() -> None:
    """Whoever publishes fills in one place."""
    project = (ROOT / "pyproject.toml").read_text()
    assert len(re.findall(r"^repository = ", project, re.MULTILINE)) == 1
    assert "[project.urls]" not in project
