"""What a mutant is: the real code with one thing broken, and what has to notice.

Nothing here imports the package: a mutant is put in its place before that.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "airflow_coordination"
RULE = "rule."
"""What the names of the mutants begin with that are made from the operation table, and have no text."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """The simulation is to catch it.

    :param store: the place of its runs.
    :param operations: how many calls it may take.
    :param seeds: tried first, because they have caught it quickly; then all from 0 on.
    """

    store: str = "in_memory"
    operations: int = 60_000
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Tested:
    """A test is to catch it, for what no simulation can see.

    :param node: its pytest node.
    :param postgresql: whether it asks a real server of PostgreSQL, which all such trials share.
    """

    node: str
    postgresql: bool = False


class DoesNotApply(Exception):
    """The code has changed, so that the mutant says nothing any more."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One broken version of the code.

    :param name: unique.
    :param module: the module that is broken, without the package's name.
    :param old: text that occurs in it exactly once.
    :param new: stands there instead.
    :param breaks: the promise it breaks, in plain words.
    :param catcher: what has to notice.
    """

    name: str
    module: str
    old: str
    new: str
    breaks: str
    catcher: Simulated | Tested = Simulated()

    @property
    def full_module(self) -> str:
        """The module's name."""
        return f"{PACKAGE}.{self.module}"

    def applied_to(self, text: str) -> str:
        """Return the module's text with the mutation.

        :raises DoesNotApply: when the old text is not there exactly once.
        """
        found = text.count(self.old)
        if found != 1:
            raise DoesNotApply(f"mutant {self.name}: its old text occurs {found} times in {self.full_module}")
        return text.replace(self.old, self.new)

    def check(self) -> None:
        """Look whether it applies to the code as it is.

        :raises DoesNotApply: when it does not.
        """
        package = find_spec(PACKAGE)
        assert package is not None
        assert package.origin is not None
        path = Path(package.origin).parent.joinpath(*self.module.split("."))
        self.applied_to(path.with_suffix(".py").read_text())
