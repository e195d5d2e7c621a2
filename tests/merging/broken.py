"""Rules of overlays, each of which can be left out: the run must see it then."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from airflow_coordination.outputs import overlays, published
from airflow_coordination.outputs.manifests import Manifest
from airflow_coordination.outputs.overlays import Overlay
from airflow_coordination.outputs.published import Walk
from tests import upkeep

_MEETS: Final = published._covered


def _walk_unchecked(*_: object) -> None:
    """Let a group let go of what readers meet."""


def _all_origins(overlay: Overlay, _: frozenset[int]) -> Manifest:
    """Show all rows of an overlay, those of replaced blocks, too."""
    return overlay.manifest


def _goes_on(end: Any, known: Any, found: Sequence[Walk]) -> bool:
    """Take a covered block from its overlay, and then go on to what it follows."""
    _MEETS(end, known, found)
    return False


Rule = tuple[object, str, Callable[..., object]]
RULES: Final[Mapping[str, Rule]] = {
    "walk": (upkeep, "check_walk", _walk_unchecked),
    "filter": (overlays, "_restricted", _all_origins),
    "stop": (published, "_covered", _goes_on),
}
"""Where each is kept, and what stands there without it."""


@contextmanager
def without(rule: str | None, rules: Mapping[str, Rule] = RULES) -> Iterator[None]:
    """Leave a rule out, in this process.

    :param rule: one of ``rules``; ``None`` keeps all.
    """
    if rule is None:
        yield
        return
    where, name, instead = rules[rule]
    with patch.object(where, name, instead):
        yield
