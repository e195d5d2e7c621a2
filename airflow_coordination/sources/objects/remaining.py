"""What earlier scans have left out and is still there: it is named again, run after run, until somebody sees to it.

Otherwise only the first try of a task would fail, and the next one, which finds the scan done, would be green.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, unquote

from airflow_coordination.sources.errors import SourceError
from airflow_coordination.sources.left_out import LeftOut
from airflow_coordination.sources.objects.listing import Listing
from airflow_coordination.sources.objects.scan import LISTING
from airflow_coordination.sources.planned_pass import remembered
from airflow_coordination.values.input_errors import ProgressStateError

_KEPT: Final = "left_out"
_LONGEST: Final = 4096
"""Of a name that is remembered, so that ten fit into a global state."""


def look_again(state: Mapping[str, Any], listing: Listing, left: LeftOut) -> None:
    """Count what an earlier scan has left out, if it is there still and this run has not counted it already.

    :param state: the global state before the run.
    """
    for name in _names(state):
        if name not in left.names and _is_there(listing, name):
            problem = "was left out by an earlier scan and is still there"
            remedy = "Rename or remove it, and list it under its new name"
            left.failed(name, SourceError("list", listing.address(name), problem, remedy))


def kept(names: Sequence[str]) -> dict[str, Any]:
    """Return the part of ``LISTING`` that remembers what is left out.

    :param names: the first ten; such as no store can hold are spelt out.
    """
    texts = [quote(name, errors="surrogatepass") for name in names if len(name) <= _LONGEST]
    return {_KEPT: texts} if texts else {}


def without(listing: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is under ``LISTING`` without it."""
    return {name: value for name, value in listing.items() if name != _KEPT}


def _names(state: Mapping[str, Any]) -> Iterator[str]:
    found = remembered(state, LISTING).get(_KEPT, [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ProgressStateError(f"global_state.{LISTING}.{_KEPT}", found, "is no list of names", "Repair it")
    return (unquote(name, errors="surrogatepass") for name in found)


def _is_there(listing: Listing, name: str) -> bool:
    first = next(iter(listing.objects(name, "")), None)
    return first is not None and first.key == name
