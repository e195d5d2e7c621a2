"""The sections ``sync_cases`` and ``kcl_known_gaps``: which leases are created."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from airflow_coordination.planning.shards.lineage import InconsistentListingError, Lineage
from airflow_coordination.planning.shards.plan import NewLease, first, plan
from airflow_coordination.planning.shards.position import TRIM_HORIZON, Position, Start
from airflow_coordination.planning.shards.shard import HashRange, Shard
from airflow_coordination.testing.cases.kcl import kcl_plan
from airflow_coordination.testing.cases.reading import Fields, refuse, whole
from airflow_coordination.testing.cases.results import Result, Verdict, compared, each, written
from airflow_coordination.values.input_errors import InvalidInputError

Graphs = Mapping[str, list[Shard]]
_LISTED_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
_STARTS: Final = tuple(str(start) for start in Start)


def graphs(file: Fields) -> dict[str, list[Shard]]:
    """Return the listings of a file, by name.

    :raises InvalidInputError: when one is malformed.
    """
    if not file.has("graphs"):
        return {}
    every = file.inner("graphs")
    found = {name: [_shard(case) for case in every.cases(name)] for name in every.names()}
    for name, shards in found.items():
        try:
            Lineage.of(shards)
        except InvalidInputError as error:
            refuse(f"{every.at(name)}.{error.field}", error.value, error.problem, error.remedy)
    return found


def _shard(fields: Fields) -> Shard:
    end = fields.whole("end", None)
    hashes = hash_range(fields.at("hash"), fields.raw("hash", "[first, last]", None))
    values = (fields.text("id"), tuple(fields.texts("parents", ())), fields.whole("start"), end, hashes)
    fields.done()
    try:
        return Shard(*values)
    except InvalidInputError as error:
        refuse(fields.at(error.field), error.value, error.problem, error.remedy)


def hash_range(field: str, value: Any) -> HashRange | None:
    """Return a range of hash keys from its two ends.

    :raises InvalidInputError: when it is none.
    """
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        refuse(field, value, "is no range", "Write [first, last]; both ends belong to it.")
    try:
        return HashRange(whole(field, value[0]), whole(field, value[1]))
    except InvalidInputError as error:
        refuse(field, value, error.problem, error.remedy)


def sync_cases(file: Fields, listings: Graphs) -> Iterator[Result]:
    """Yield what became of each case."""
    return each("sync_cases", file.cases("sync_cases"), lambda case: _sync_case(case, listings))


def _sync_case(case: Fields, listings: Graphs) -> Result:
    listing, leased, position, instant = _question(case, listings)
    empty = case.text("table", among=("empty", "nonempty")) == "empty"
    odd = case.texts("inconsistent_children", ())
    expected = _leases(case, "expected_new_leases")
    order = case.texts("expected_order", list(expected)) if case.has("expected_order") else None
    if order is not None and sorted(order) != sorted(expected):
        refuse(case.at("expected_order"), order, "does not name exactly the expected leases", "Name each of them once.")
    if empty and leased:
        refuse(case.at("existing_leases"), leased, "are there, but table is empty", "Write table: nonempty.")
    case.done()
    if empty:
        return compared("sync_cases", case.text("id"), *_ordered(expected, order, first(listing, position, instant)))
    answer = _answer(listing, leased, position, odd)
    if isinstance(answer, str):
        return compared("sync_cases", case.text("id"), expected, answer)
    theirs = kcl_plan(Lineage.of(listing), leased, position.start, odd)
    reason = _reason(listing, leased, answer, theirs) if expected in (theirs, _starts(answer)) else ""
    return compared("sync_cases", case.text("id"), *_ordered(expected, order, answer), reason)


def _ordered(
    expected: dict[str, str], order: list[str] | None, news: list[NewLease]
) -> tuple[dict[str, str] | list[str], dict[str, str] | list[str]]:
    """Return both answers, as lists where their order is what differs."""
    answer = _starts(news)
    if answer == expected and order is not None:
        return [f"{name}: {expected[name]}" for name in order], [f"{name}: {answer[name]}" for name in answer]
    return expected, answer


def _question(case: Fields, listings: Graphs) -> tuple[list[Shard], list[str], Position, int | None]:
    name = case.text("graph")
    if name not in listings:
        refuse(case.at("graph"), name, "is not among the graphs", f"Use {', '.join(listings) or 'graphs: {…}'}.")
    start = Start(case.text("initial_position", among=_STARTS))
    instant = case.whole("timestamp", None)
    if (instant is not None) is not (start is Start.AT_TIMESTAMP):
        refuse(case.at("timestamp"), instant, f"does not go with {start}", "Give it with AT_TIMESTAMP, and only there.")
    return listings[name], case.texts("existing_leases"), _position(case, start, instant), instant


def _position(case: Fields, start: Start, instant: int | None) -> Position:
    if start is Start.LATEST:
        return Position.latest(_LISTED_AT)
    if instant is None:
        return TRIM_HORIZON
    try:
        return Position.at_timestamp(datetime.fromtimestamp(instant, UTC))
    except (OverflowError, OSError, ValueError):
        refuse(case.at("timestamp"), instant, "is no time", "Give seconds since 1970, before the year 10000.")


def _leases(case: Fields, name: str) -> dict[str, str]:
    leases = dict(case.mapping(name))
    for shard, start in leases.items():
        if start not in _STARTS:
            refuse(f"{case.at(name)}.{shard}", start, "is no checkpoint to begin at", f"Use {' or '.join(_STARTS)}.")
    return leases


def _answer(
    listing: list[Shard], leased: Collection[str], position: Position, odd: Collection[str]
) -> list[NewLease] | str:
    """Return our plan, or what is wrong with the listing."""
    found = Lineage.of(listing).inconsistent
    if odd and sorted(odd) != sorted(found):
        return f"inconsistent: {written(found)}"
    try:
        return plan(listing, dict.fromkeys(leased, False), position, ignore_unexpected_child_shards=bool(odd))
    except InconsistentListingError as error:
        return f"inconsistent: {written(error.shards)}"


def _reason(listing: list[Shard], leased: Collection[str], ours: list[NewLease], theirs: dict[str, str]) -> str:
    """Return why our plan is not the KCL's; empty when it is, or when no shard is passed."""
    passed = Lineage.of(listing).ancestors(leased) - set(leased)
    return "no restart" if passed and _starts(ours) != theirs else ""


def _starts(news: list[NewLease]) -> dict[str, str]:
    return {new.shard: str(new.position.start) for new in news}


def known_gaps(file: Fields, listings: Graphs) -> Iterator[Result]:
    """Yield what became of each gap of the KCL: its own rule gives what the file says, and ours what is wanted."""
    return each("kcl_known_gaps", file.cases("kcl_known_gaps"), lambda case: _known_gap(case, listings))


def _known_gap(case: Fields, listings: Graphs) -> Result:
    listing, leased, position, _ = _question(case, listings)
    wanted, theirs = _leases(case, "wanted"), _leases(case, "model_of_kcl_gives")
    case.done()
    answer = _answer(listing, leased, position, ())
    ours = answer if isinstance(answer, str) else _starts(answer)
    model = kcl_plan(Lineage.of(listing), leased, position.start, ())
    if ours == wanted and model == theirs:
        return Result(
            "kcl_known_gaps", case.text("id"), Verdict.AS_EXPECTED, written(wanted), written(ours), "no restart"
        )
    if ours == wanted:
        return compared("kcl_known_gaps", case.text("id"), {"KCL": theirs}, {"KCL": model})
    return compared("kcl_known_gaps", case.text("id"), wanted, ours)
