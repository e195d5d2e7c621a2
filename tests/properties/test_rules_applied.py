"""After rules were applied exactly that is hidden which they drop, judged on the head record that shows."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.periods import Period, parse_period
from airflow_coordination.planning.rules.choosing import choose
from airflow_coordination.planning.rules.rule import Rule, RuleType
from airflow_coordination.planning.view.ruling import MOST_ENTRIES, ruled
from airflow_coordination.planning.view.showing import hiding, hiding_interval, interval_of_head, newest
from airflow_coordination.planning.view.view import BY_RULES, EMPTY, Branch, BranchState, Hidden, HiddenState, View
from airflow_coordination.protocol.results import HeadRecord
from airflow_coordination.values.names import branch_dataset

START = datetime(2013, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def span(first: int, hours: int) -> Interval:
    return Interval(START + first * HOUR, START + (first + hours) * HOUR)


SPANS = st.builds(span, st.integers(0, 12), st.sampled_from([1, 1, 1, 2, 3, 12]))
NOWS = st.integers(0, 20).map(lambda hours: START + hours * HOUR)
PERIODS = st.integers(1, 12).map(lambda hours: parse_period("period", f"PT{hours}H"))


def rule(kind: RuleType, interval: Interval, period: Period, future: bool) -> Rule:
    return Rule(kind, interval if kind.by_interval else None, period if kind.by_period else None, future)


RULES = st.lists(st.builds(rule, st.sampled_from(list(RuleType)), SPANS, PERIODS, st.booleans()), max_size=4)


def head(key: str, token: int, branch: int | None, interval: Interval | None) -> HeadRecord:
    start, end = (interval.start, interval.end) if interval else (None, None)
    stored = branch_dataset(branch, "clean")
    return HeadRecord("f|P", stored, key, (), 1, 1, "g", "op", token, interval_start=start, interval_end=end)


HEADS = st.lists(
    st.builds(
        head,
        st.sampled_from("abcdefgh"),
        st.integers(1, 9),
        st.sampled_from([None, 1, 2]),
        st.none() | SPANS,
    ),
    max_size=24,
)
ENTRIES = st.lists(
    st.builds(
        Hidden,
        dataset=st.sampled_from(["clean", "clean", "other"]),
        interval=SPANS,
        since=NOWS,
        by=st.sampled_from([BY_RULES, BY_RULES, "ana"]),
        why=st.just("-"),
        state=st.sampled_from([HiddenState.HIDDEN, HiddenState.HIDDEN, HiddenState.PURGING]),
    ),
    max_size=4,
    unique_by=lambda each: (each.dataset, each.interval, each.by),
)


def branch(number: int, state: BranchState) -> Branch:
    return Branch(number=number, state=state, selection={}, by="-", why="-", at=START, changed_at=START)


VIEWS = st.builds(
    lambda entries, states: View(
        hidden=tuple(entries),
        branches=tuple(branch(number, state) for number, state in enumerate(states, 1)),
        next_number=3,
    ),
    ENTRIES,
    st.lists(st.sampled_from(BranchState), min_size=2, max_size=2),
)


def drops(rules: list[Rule], now: datetime):
    def verdict(interval: Interval) -> str | None:
        found = choose(rules, interval, now).rule
        return str(found) if found is not None and found.type.drops else None

    return verdict


def showing(view: View, heads: list[HeadRecord]) -> list[HeadRecord]:
    keys = {each.key for each in heads}
    found = (newest(view, [each for each in heads if each.key == key]) for key in sorted(keys))
    return [each for each in found if each is not None]


def applied(view: View, heads: list[HeadRecord], rules: list[Rule], now: datetime) -> View:
    intervals = [interval for each in showing(view, heads) if (interval := interval_of_head(each)) is not None]
    return ruled(view, "clean", intervals, drops(rules, now), now)


def others(view: View) -> list[Hidden]:
    return [each for each in view.hidden if each.dataset != "clean" or not each.by_rules or each.purging]


@given(VIEWS, HEADS, RULES, NOWS)
def test_exactly_what_rules_drop_is_hidden_by_them(view, heads, rules, now) -> None:
    after = applied(view, heads, rules, now)
    assert after.branches == view.branches
    assert others(after) == others(view)
    kept = replace(EMPTY, hidden=tuple(others(view)))
    for each in showing(view, heads):
        interval = interval_of_head(each)
        dropped = interval is not None and drops(rules, now)(interval) is not None
        assert (hiding(after, each) is not None) is (dropped or hiding(kept, each) is not None)


@given(VIEWS, HEADS, RULES, NOWS)
def test_twice_is_once_and_nothing_is_hidden_longer_than_it_was(view, heads, rules, now) -> None:
    after = applied(view, heads, rules, now)
    assert applied(after, heads, rules, now) == after
    for each in after.hidden:
        if each.by_rules and each not in view.hidden:
            assert each.since in {now, *(old.since for old in view.hidden)}
    for each in showing(view, heads):
        interval = interval_of_head(each)
        before = interval and [old for old in view.hidden if old.dataset == "clean" and old.interval.contains(interval)]
        if interval and (entry := hiding_interval(after, "clean", interval)) is not None and entry.since < now:
            assert before
            assert min(old.since for old in before) <= entry.since


@given(VIEWS, HEADS, RULES, NOWS, SPANS)
def test_what_is_published_later_is_hidden_only_if_rules_drop_it(view, heads, rules, now, later) -> None:
    after = applied(view, heads, rules, now)
    mine = [each for each in after.hidden if each.dataset == "clean" and each.by_rules and not each.purging]
    if any(each.interval.contains(later) for each in mine):
        assert drops(rules, now)(later) is not None


def test_days_that_go_one_by_one_take_no_more_entries_than_there_may_be() -> None:
    """A year of daily runs with a rule by period: hidden since the later of two, so never purged too early."""
    rules = [Rule(RuleType.DROP_BEFORE_BY_PERIOD, period=parse_period("period", "P30D"))]
    days = [span(24 * number, 24) for number in range(400)]
    view = EMPTY
    for number in range(31, 400):
        now = START + number * 24 * HOUR
        view = ruled(view, "clean", days[:number], drops(rules, now), now)
        assert len(view.hidden) <= MOST_ENTRIES
        for each in days[:number]:
            entry = hiding_interval(view, "clean", each)
            gone = each.end <= now - timedelta(days=30)
            assert (entry is not None) is gone
            assert entry is None or entry.since >= each.end + timedelta(days=30)
    assert len(view.text.encode()) < 16 * 1024
