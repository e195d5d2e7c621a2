"""The walks through the code name what is there, and enter each room once."""

from __future__ import annotations

import re
from itertools import groupby

import pytest

from airflow_coordination import __name__ as package
from tests.docs.pages import ROOT

TEXT = (ROOT / "docs/explanation/read-the-code.md").read_text()
WALKS = [walk.partition("\n\n**Back up.**")[0] for walk in TEXT.split("<!-- walk -->")[1:]]
STEP = re.compile(r"\[`([\w/]+\.py)`\]\(\.\./\.\./airflow_coordination/([\w/.]+)\)((?:\s+`\w+`)?)")
ROOMS = "cli|delivery|duties|hooks|leases|monitoring|outputs|planning|protocol|spark|stores|submission|systems|values"
NAMED = re.compile(rf"`((?:{ROOMS})/[\w/]*(?:\.py)?)`")


@pytest.mark.parametrize("walk", WALKS, ids=["completion", "zombie"])
def test_each_room_is_entered_once(walk):
    """From the top down, without coming back."""
    rooms = [room for room, _ in groupby(path.partition("/")[0] for path, _, _ in STEP.findall(walk))]
    assert len(rooms) > 2
    assert len(rooms) == len(set(rooms))


@pytest.mark.parametrize(("path", "link", "name"), STEP.findall(TEXT))
def test_a_step_is_where_it_says(path, link, name):
    """The file is the linked one and defines the name."""
    assert path == link
    text = (ROOT / package / path).read_text()
    assert not name or re.search(rf"^\s*(def|class) {name.strip('` ' + chr(10))}\b", text, re.M)


@pytest.mark.parametrize("path", sorted(set(NAMED.findall(TEXT))))
def test_a_file_that_is_named_is_there(path):
    """Whether it is linked or not."""
    assert (ROOT / package / path).exists()
