"""What a landing tries, in clones as CI has them: with or without a branch, a remote and a history."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.mutants.due import changed_since, due, in_turn, since

_WHO = ("-c", "user.name=ana", "-c", "user.email=ana@example.org", "-c", "init.defaultBranch=main")
KINDS = {3: {f"generated {number}": ("rules.py",) for number in range(9)}, 5: {"a text": ("store.py", "broken.py")}}


def git(place: Path, *asked: str) -> str:
    """Return what git says in a folder."""
    return subprocess.run(("git", *_WHO, *asked), cwd=place, capture_output=True, text=True, check=True).stdout.strip()


def committed(place: Path, **files: str) -> str:
    """Write files, and return the commit of them."""
    for name, text in files.items():
        (place / f"{name}.py").write_text(text)
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", "one")
    return git(place, "rev-parse", "HEAD")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository whose main has two modules."""
    git(tmp_path, "init", "--quiet")
    committed(tmp_path, rules="1", store="1")
    return tmp_path


def page(tree: Path, commit: str) -> None:
    """Say on which commit all were tried."""
    (tree / "docs").mkdir(exist_ok=True)
    (tree / "docs/reliability.md").write_text(f"\n149 of 149 were caught (commit {commit[:7]}), the slowest after …\n")


def test_a_landing_tries_what_has_changed_since_it_left_main(tree: Path) -> None:
    git(tree, "checkout", "--quiet", "-b", "landing")
    committed(tree, store="2")
    git(tree, "checkout", "--quiet", "main")
    committed(tree, rules="somebody else's")
    git(tree, "checkout", "--quiet", "landing")
    tried = due(KINDS, tree)
    assert tried.names == ("a text",)
    assert (tried.left, "main" in tried.since) == (0, True)


def test_what_is_not_committed_yet_counts_too(tree: Path) -> None:
    git(tree, "checkout", "--quiet", "-b", "landing")
    base = git(tree, "rev-parse", "main")
    committed(tree, store="2")
    (tree / "rules.py").write_text("2")
    (tree / "new.py").write_text("1")
    assert changed_since(base, tree) == {"store.py", "rules.py", "new.py"}


def test_a_module_that_has_gone_or_moved_has_changed(tree: Path) -> None:
    git(tree, "checkout", "--quiet", "-b", "landing")
    git(tree, "mv", "rules.py", "table.py")
    git(tree, "commit", "--quiet", "--message", "move")
    assert changed_since("main", tree) == {"rules.py", "table.py"}


def test_with_no_other_branch_it_is_compared_with_what_was_last_tried_whole(tree: Path) -> None:
    page(tree, git(tree, "rev-parse", "HEAD"))
    committed(tree, store="2")
    base, said = since(tree)
    assert base == git(tree, "rev-parse", "HEAD~1")
    assert "make proof" in said
    assert due(KINDS, tree).names == ("a text",)


def test_where_nothing_is_known_as_many_are_tried_as_a_landing_may_cost(tree: Path, tmp_path: Path) -> None:
    """So is a shallow clone of one branch: neither main nor the commit that was tried whole is in it."""
    page(tree, git(tree, "rev-parse", "HEAD"))
    git(tree, "checkout", "--quiet", "-b", "landing")
    committed(tree, store="2")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth", "1", "--branch", "landing", f"file://{tree}", str(clone))
    assert since(clone)[0] is None
    tried = due(KINDS, clone)
    assert (len(tried.names), tried.left) == (4, 6)
    assert "a text" in tried.names


def test_without_git_it_is_the_same(tmp_path: Path) -> None:
    tried = due(KINDS, tmp_path)
    assert (len(tried.names), tried.left) == (4, 6)


def test_each_commit_has_other_ones_and_every_one_has_its_turn() -> None:
    names = list(KINDS[3])
    taken = [in_turn(names, f"commit {number}")[:3] for number in range(40)]
    assert set().union(*taken) == set(names)
    assert in_turn(names, "commit 1") == in_turn(reversed(names), "commit 1")
