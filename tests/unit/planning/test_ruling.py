"""What rules hide: entries as long as the rules allow, and a person's beside them."""

from __future__ import annotations

from datetime import UTC, datetime

from airflow_coordination.planning.intervals import interval_of
from airflow_coordination.planning.rules.choosing import choose
from airflow_coordination.planning.rules.reading import read_rules
from airflow_coordination.planning.view import changing
from airflow_coordination.planning.view.ruling import ruled
from airflow_coordination.planning.view.view import BY_RULES, EMPTY, View

NOW = datetime(2013, 5, 1, tzinfo=UTC)
FIRST, GAP, LAST = (interval_of("interval", f"2013-01-0{day}/P1D") for day in (1, 2, 3))
A_GAP = [
    {"type": "dropByInterval", "interval": str(FIRST)},
    {"type": "dropByInterval", "interval": str(LAST)},
    {"type": "loadForever"},
]


def applied(view: View, said: list[dict[str, str]], *intervals) -> View:
    rules = read_rules("rules", said)

    def dropped(interval) -> str | None:
        found = choose(rules, interval, NOW).rule
        return str(found) if found is not None and found.type.drops else None

    return ruled(view, "clean", intervals, dropped, NOW)


def test_an_entry_does_not_reach_across_what_rules_keep() -> None:
    assert [each.interval for each in applied(EMPTY, A_GAP, FIRST, LAST).hidden] == [FIRST, LAST]
    [one] = applied(EMPTY, [{"type": "dropForever"}], FIRST, LAST).hidden
    assert str(one.interval) == "2013-01-01/2013-01-04"


def test_what_a_person_hides_too_stays_when_rules_let_it_go() -> None:
    view = applied(EMPTY, [{"type": "dropForever"}], FIRST, LAST)
    both = changing.hidden(view, "clean", FIRST, "ana", "wrong", NOW)
    assert [each.by for each in both.hidden] == [BY_RULES, "ana"]
    assert changing.hidden(both, "clean", FIRST, "bob", "again", NOW) == both
    [left] = applied(both, [{"type": "loadForever"}], FIRST, LAST).hidden
    assert (left.interval, left.by) == (FIRST, "ana")
