"""The pages that ``make docs`` builds: they can be built, and are held to what every other page is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_coordination.leases import Lease
from airflow_coordination.spark import PartitionLease
from scripts.docs_build import BUILT, PAGES, REFERENCE
from scripts.docs_promises import PROMISES, ROOT, named_after
from tests.docs.test_inline_code import wrong_code
from tests.docs.test_lease_names import unknown
from tests.docs.test_links import FORBIDDEN, broken

EACH = pytest.mark.parametrize("name", PAGES)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages, as the command of ``make docs`` builds them, by name."""
    directory = tmp_path_factory.mktemp("built") / "docs"
    command = [sys.executable, "scripts/docs_build.py", str(directory)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [word for name in PAGES for word in ("built:", str(directory / name))]
    return {page.name: page.read_text() for page in directory.iterdir()}


def test_every_room_and_every_promise_with_each_of_its_tests_is_there(texts: dict[str, str]) -> None:
    rooms = re.findall(r"^## `airflow_coordination\.(\w+)`$", texts["python.md"], re.MULTILINE)
    assert tuple(rooms) == REFERENCE
    promises, _, tests = texts["promises.md"].partition("## The tests")
    counted = dict(re.findall(r"^\| \[(\w+)\]\(#\w+\) \|.*\| (\d+) \|$", promises, re.MULTILINE))
    assert list(counted) == [*PROMISES]
    listed = re.findall(r"^  \* `(test_\w+)`$", tests, re.MULTILINE)
    assert len(listed) == sum(map(int, counted.values())) == len(list(named_after()))


@EACH
def test_links_of_a_built_page_lead_somewhere(texts: dict[str, str], name: str) -> None:
    """From where it is built, whether anything was built there or not."""
    assert list(broken(texts[name], ROOT / BUILT.relative_to(ROOT))) == []
    assert FORBIDDEN.findall(texts[name]) == []


@EACH
def test_source_s7_code_in_a_built_page_names_what_there_is(texts: dict[str, str], name: str) -> None:
    assert list(wrong_code(texts[name])) == []
    assert unknown(texts[name], {*dir(PartitionLease), *dir(Lease)}) == set()


@EACH
def test_the_page_in_its_place_says_where_it_is_built(name: str) -> None:
    page = (ROOT / "docs" / "reference" / name).read_text()
    built = Path(os.path.relpath(BUILT / name, ROOT))
    assert f"`{built}`" in page
    assert "make docs" in page
