"""The area ``balancing``: how many copies move, which, and in which order things are done."""

from __future__ import annotations

import re
from typing import Final

from airflow_coordination.planning.copies.amounts import (
    NEWER,
    OLDER,
    least_moves,
    most_moves,
    skew_by_bytes,
    skew_by_counts,
)
from airflow_coordination.planning.copies.balance import difference, moves
from airflow_coordination.planning.copies.location import Action, Copyable, Location, assign, in_order
from airflow_coordination.planning.intervals import Interval, parse_interval
from airflow_coordination.testing.cases.druid.lines import Checks
from airflow_coordination.testing.cases.reading import Fields, refuse, whole

_POWERS: Final = {"min_rows": OLDER, "min_rows_upstream_newer": NEWER}
_MOST: Final = re.compile(r"max_rows_(\d{1,6})s_(\d{1,4})threads?", re.ASCII)
_LOCATION: Final = re.compile(r"[A-Z]\d?", re.ASCII)
_SEEDS: Final = range(20)


def balancing_line(line: Fields, checks: Checks) -> None:
    """Compare by what is given: tables of amounts, counts, a queue, workers, or two servers."""
    line.pass_over("min", "max")
    _amounts(line, checks)
    if line.has("queue"):
        _queue(line, checks)
    if line.has("workers"):
        _workers(line, checks)
    if line.has("servers"):
        _servers(line, checks)
    if any(_LOCATION.fullmatch(name) for name in line.names()):
        _skew(line, checks)


def _amounts(line: Fields, checks: Checks) -> None:
    for name, power in _POWERS.items():
        for number, (copies, expected) in enumerate(_pairs(line, name)):
            checks.check(f"{line.at(name)}[{number}]", expected, least_moves(copies, power))
    for name in line.names():
        if said := _MOST.fullmatch(name):
            for number, (copies, expected) in enumerate(_pairs(line, name)):
                answer = most_moves(copies, int(said[2]), 1_000 * int(said[1]))
                checks.check(f"{line.at(name)}[{number}]", expected, answer)


def _pairs(line: Fields, name: str) -> list[tuple[int, int]]:
    found = []
    for number, value in enumerate(line.items(name, ())):
        where = f"{line.at(name)}[{number}]"
        if not isinstance(value, list) or len(value) != 2:
            refuse(where, value, "is no pair", "Write [copies, moves].")
        found.append((whole(where, value[0]), whole(where, value[1])))
    return found


def _skew(line: Fields, checks: Checks) -> None:
    """Compare how many moves even out what lies unevenly; all copies have one size."""
    there = [line.inner(name) for name in line.names() if _LOCATION.fullmatch(name)]
    counts = [{name: one.whole(name) for name in one.names()} for one in there]
    copies = [sum(one.values()) for one in counts]
    by_counts = skew_by_counts(counts)
    need = max(by_counts, skew_by_bytes(copies, 1))
    if line.has("need") and not isinstance(line.raw("need", "a number"), str):  # a text is the formula
        checks.check(line.at("need"), line.whole("need"), need)
    if line.has("need_by_counts"):
        checks.check(line.at("need_by_counts"), line.whole("need_by_counts"), by_counts)
    if line.has("picked"):
        checks.check(line.at("picked"), line.whole("picked"), max(least_moves(sum(copies)), need))


def _queue(line: Fields, checks: Checks) -> None:
    expected = [f"{action} {where}" for action, where in _asked(line, "order")]
    checks.check(line.at("order"), expected, [f"{action} {where}" for action, where in in_order(_asked(line, "queue"))])


def _asked(line: Fields, name: str) -> list[tuple[Action, Interval]]:
    found = []
    for number, value in enumerate(line.items(name)):
        where = f"{line.at(name)}[{number}]"
        if not isinstance(value, list) or len(value) != 2 or value[0] not in tuple(Action):
            refuse(where, value, "is nothing to ask for", f'Write ["{Action.LOAD}", "start/end"]; {", ".join(Action)}.')
        found.append((Action(value[0]), parse_interval(where, value[1])))
    return found


def _workers(line: Fields, checks: Checks) -> None:
    given = line.inner("workers")
    locations = []
    for name in given.names():
        fields = given.inner(name)
        locations.append(Location(name, capacity=fields.whole("capacity"), used=fields.whole("used", 0)))
        fields.done()
    sizes = [whole(f"{line.at('unassigned')}[{n}]", value) for n, value in enumerate(line.items("unassigned"))]
    after, waiting = assign((Copyable(number, size) for number, size in enumerate(sizes)), locations)
    if line.has("one_valid_result"):
        result = line.inner("one_valid_result")
        expected = {name: result.whole(name) for name in result.names()}
        checks.check(line.at("one_valid_result"), expected, {name: one.used for name, one in after.items()})
    if line.has("waiting"):
        checks.check(line.at("waiting"), line.whole("waiting"), len(waiting))


def _servers(line: Fields, checks: Checks) -> None:
    """Compare the difference of two servers, and what moves; which copies are drawn is of no matter to it."""
    given = line.inner("servers")
    there, sizes = [], {}
    for name in given.names():
        fields = given.inner(name)
        row = [whole(f"{fields.at('segments')}[{n}]", value) for n, value in enumerate(fields.items("segments", ()))]
        sizes[name] = [Copyable((name, number), size) for number, size in enumerate(row)]
        holds = frozenset(one.name for one in sizes[name])
        there.append(Location(name, capacity=fields.whole("capacity"), used=sum(row), holds=holds))
        fields.done()
    threshold, most = line.number("threshold", 3.0), line.whole("max_moves", 5)
    pending = line.whole("pending", 0)
    drawn = [moves(there, sizes, seed, threshold=threshold, most=most, pending=pending) for seed in _SEEDS]
    used = sorted(one.utilisation for one in there)
    if line.has("difference_percent"):
        answer = round(float(difference(used[-1], used[0])), 2)
        checks.check(line.at("difference_percent"), line.number("difference_percent"), answer)
    if line.has("moves"):
        checks.check(line.at("moves"), [line.whole("moves")], sorted({len(one) for one in drawn}))
    if line.has("from_to"):
        pairs = sorted({(move.source, move.target) for one in drawn for move in one})
        checks.check(line.at("from_to"), [line.texts("from_to")], [list(pair) for pair in pairs])
