"""Which mutants a landing can have made blind: those of what has changed since a commit on which all were tried.

CI tries these, at most so many, and says how many it leaves to ``make proof``, which tries all. Which of them is
decided by the commit, so that over many landings each has its turn. Nothing is written down: git knows what has
changed.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
BRANCHES: Final = ("origin/main", "main")
"""What a landing is compared with, where there is one and it is not the landing itself."""
_PAGE: Final = Path("docs/reliability.md")
_TRIED: Final = re.compile(r"\d+ were caught \(commit ([0-9a-f]{7,40})\)")
"""How ``make proof`` says on which commit it has last tried all of them."""


@dataclass(frozen=True, slots=True)
class Due:
    """What is tried, and why.

    :param names: of the mutants, in the order of the list.
    :param left: how many more there are for ``make proof``.
    :param since: what the landing was compared with, in words.
    """

    names: tuple[str, ...]
    left: int
    since: str


def due(kinds: Mapping[int, Mapping[str, Iterable[str]]], root: Path = ROOT) -> Due:
    """Return what this landing tries.

    :param kinds: by how many of a kind are tried at most, its mutants' names with the files that each depends on.
    """
    base, said = since(root)
    changed = None if base is None else changed_since(base, root)
    digest = git(root, "rev-parse", "HEAD") or ""
    names, left = list[str](), 0
    for most, places in kinds.items():
        found = [name for name, files in places.items() if changed is None or not changed.isdisjoint(files)]
        taken = set(in_turn(found, digest)[:most])
        names += [name for name in found if name in taken]
        left += len(found) - len(taken)
    return Due(tuple(names), left, said)


def in_turn(names: Iterable[str], digest: str) -> list[str]:
    """Return the names in an order that each commit has for itself."""
    return sorted(names, key=lambda name: hashlib.sha256(f"{digest} {name}".encode()).digest())


def since(root: Path = ROOT) -> tuple[str | None, str]:
    """Return the commit that a landing is compared with, and how it was found; ``None`` if there is none here.

    A clone may be shallow, have no remote and no branch but the landing's own.
    """
    head = git(root, "rev-parse", "HEAD")
    for branch in BRANCHES:
        base = git(root, "merge-base", "HEAD", branch)
        if base and base != head:
            return base, f"since {base[:7]}, where it left {branch}"
    known = _TRIED.search((root / _PAGE).read_text()) if (root / _PAGE).exists() else None
    base = known and git(root, "rev-parse", "--verify", "--quiet", f"{known[1]}^{{commit}}")
    if base and base != head:
        return base, f"since {base[:7]}, when make proof has last tried all"
    return None, "of all: nothing here says what has changed"


def changed_since(base: str, root: Path = ROOT) -> frozenset[str]:
    """Return the files that differ from a commit, also those that are not committed yet."""
    differ = git(root, "diff", "--name-only", "--no-renames", base) or ""
    new = git(root, "ls-files", "--others", "--exclude-standard") or ""
    return frozenset([*differ.split("\n"), *new.split("\n")]) - {""}


def git(root: Path, *asked: str) -> str | None:
    """Return what git says, ``None`` when it cannot."""
    command: Sequence[str] = ("git", "-c", "safe.directory=*", "-c", "core.quotePath=false", *asked)
    try:
        said = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return said.stdout.strip() if said.returncode == 0 else None
