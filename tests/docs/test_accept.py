"""What is pinned is shown where it differs, all of it at once, and written by one command."""

from __future__ import annotations

import pytest

from scripts.accept import PINNED, REMEDY, ROOT, Pinned, accept, main


@pytest.fixture
def table(tmp_path):
    """Two things that differ, one that cannot be made, one that is new, and one that is as it was."""
    kept = {name: tmp_path / name for name in ("one", "two", "new", "same")}
    for name in ("one", "two", "same"):
        kept[name].write_text(f"{name}\n")
    broken = Pinned("what breaks", lambda: {}[0])
    things = [
        Pinned(f"thing {name}", lambda path=path, name=name: {path: "same\n" if name == "same" else "fresh\n"})
        for name, path in kept.items()
    ]
    return kept, [things[0], broken, *things[1:]]


def test_all_that_differs_is_shown_at_once(table, capsys):
    kept, things = table
    assert accept(things, check=True) == 1
    said = capsys.readouterr().out
    for name in ("one", "two"):
        assert f"thing {name}: differs" in said
        assert f"-{name}\n+fresh\n" in said
    assert "thing new: differs" in said
    assert "what breaks: could not be made" in said
    assert "KeyError" in said
    assert "thing same" not in said
    assert said.endswith(f"Files that differ: 3. {REMEDY}\n")
    assert kept["one"].read_text() == "one\n"
    assert not kept["new"].exists()


def test_what_differs_is_written_and_shown(table, capsys):
    kept, things = table
    assert accept(things, check=False) == 1  # one could not be made
    assert {path.read_text() for name, path in kept.items() if name != "same"} == {"fresh\n"}
    assert "-two\n+fresh\n" in capsys.readouterr().out
    del things[1]
    assert accept(things, check=True) == accept(things, check=False) == 0
    assert capsys.readouterr().out == ""


def test_a_name_that_is_not_pinned_is_refused(capsys):
    assert main(["--check", "golden"]) == 2
    assert "'golden' is not pinned. Name one of: what is sent, the board's API, pages" in capsys.readouterr().out


def test_what_lint_leaves_out_is_compared_by_a_test():
    left = [each for each in PINNED if each.test]
    assert [each.name for each in left] == ["what is sent"]
    assert "REMEDY" in (ROOT / left[0].test).read_text()
    assert "scripts/accept.py --check" in (ROOT / "Makefile").read_text()
