"""The sections ``shard_end_cases`` and ``cleanup_cases``: what is done at a shard's end, and when its lease may go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from airflow_coordination.planning.shards.plan import at_shard_end
from airflow_coordination.planning.shards.shard import Shard
from airflow_coordination.protocol.hierarchy import CLEAN_AFTER, may_go
from airflow_coordination.testing.cases.reading import Fields, refuse
from airflow_coordination.testing.cases.results import Result, compared, each

_NOT_STARTED: Final = frozenset({"TRIM_HORIZON", "AT_TIMESTAMP"})
_MOST_PARENTS: Final = 16  # Kinesis has two
_LOST: Final = frozenset({"lease-lost", "testCallWhenLeaseLost"})
_UNSAVED: Final = frozenset({"app-did-not-checkpoint", "testCallWhenApplicationDoesNotCheckpoint"})


def cleanup_cases(file: Fields) -> Iterator[Result]:
    """Yield what became of each case. A child was acquired once where the KCL has a checkpoint of it."""
    return each("cleanup_cases", file.cases("cleanup_cases"), _cleanup_case)


def _cleanup_case(case: Fields) -> Result:
    children = {name: _started(case, name) for name in case.mapping("children")} if case.has("children") else None
    answer = may_go(
        children,
        case.texts("parents_present"),
        CLEAN_AFTER,
        enabled=case.truth("cleanup_enabled", True),
        source_gone=case.truth("source_not_found", False),
    )
    expected = case.truth("delete")
    case.done()
    return compared("cleanup_cases", case.text("id"), expected, answer)


def _started(case: Fields, child: str) -> bool | None:
    checkpoint = case.mapping("children")[child]
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, str) or not checkpoint:
        refuse(f"{case.at('children')}.{child}", checkpoint, "is no checkpoint", "Write a text, or null for no lease.")
    return checkpoint not in _NOT_STARTED


def shard_end_cases(file: Fields) -> Iterator[Result]:
    """Yield what became of each case.

    The situation is in ``lease_lost`` and ``app_checkpointed``, or in the name of the KCL's test, because its own
    cases say it nowhere else; what is expected is a sentence, of which :func:`_wanted` understands the first words.
    """
    return each("shard_end_cases", file.cases("shard_end_cases"), _shard_end_case)


def _shard_end_case(case: Fields) -> Result:
    names = {case.text("id"), case.text("kcl_test", None)}
    lost = case.truth("lease_lost", not _LOST.isdisjoint(names))
    saved = case.truth("app_checkpointed", _UNSAVED.isdisjoint(names))
    children = case.texts("children", ())
    parents = _parents(case)
    expected = _wanted(case, children)
    case.done()
    leased = {name for name, there in parents.items() if there}
    shards = [Shard(child, tuple(parents)) for child in children]
    end = at_shard_end(shards, leased, read_to_end=saved, held=not lost)
    answer = {"create": [new.shard for new in end.create], "complete": end.complete}
    waits = expected == {"create": [], "complete": False} and not all(parents.values())
    reason = "no waiting end" if waits else ""
    return compared("shard_end_cases", case.text("id"), expected, answer, reason)


def _parents(case: Fields) -> dict[str, bool]:
    """Return the parents of each child, and whether they have a lease; the first of them ends."""
    leases = case.items("parent_leases", [True] * case.whole("parents_of_child", 1, most=_MOST_PARENTS))
    if not leases or not all(isinstance(there, bool) for there in leases):
        refuse(case.at("parent_leases"), leases, "is no list of true and false", "Say of each if it has a lease.")
    if case.has("parents_of_child") and case.whole("parents_of_child") != len(leases):
        refuse(case.at("parents_of_child"), len(leases), "is not the number of parent_leases", "Give one of the two.")
    return {f"parent {number}": there for number, there in enumerate(leases, start=1)}


def _wanted(case: Fields, children: list[str]) -> dict[str, object]:
    """Return what a sentence expects, by its words."""
    sentence = case.text("expect").lower()
    if sentence.startswith("create"):
        return {"create": sorted(children), "complete": True}
    if any(word in sentence for word in ("leaselost", "lease lost", "no children", "error", "retr")):
        return {"create": [], "complete": False}
    if sentence.startswith("complete"):
        return {"create": [], "complete": True}
    return refuse(
        case.at("expect"),
        case.text("expect"),
        "says nothing that is understood",
        "Begin with 'create' or 'complete', or say 'error, retried' or 'leaseLost'.",
    )
