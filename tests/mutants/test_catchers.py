"""The tests that mutants are caught by exist, with these very cases."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.house.tree import ROOT
from tests.mutants import mutant
from tests.mutants.catalogue import MUTANTS


@pytest.mark.slow
def test_every_catcher_is_collected() -> None:
    """Other parameters give a test's cases other names; a mutant would then not be tried at all."""
    nodes = {each.catcher.node for each in MUTANTS if isinstance(each.catcher, mutant.Tested)}
    files = sorted({node.partition("::")[0] for node in nodes})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    found = set(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines())
    found |= {node.partition("[")[0] for node in found}
    assert nodes - found == set()
