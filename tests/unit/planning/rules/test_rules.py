"""Which rule decides, when that changes, and what is odd about a list of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_coordination.planning.intervals import ETERNITY, Interval, parse_interval, parse_moment
from airflow_coordination.planning.rules.choosing import choose, first_change, next_change
from airflow_coordination.planning.rules.lint import lint
from airflow_coordination.planning.rules.reading import read_rule, read_rules
from airflow_coordination.planning.rules.rule import Rule, RuleType
from airflow_coordination.values.input_errors import InvalidInputError

NOW = datetime(2026, 3, 31, tzinfo=UTC)


def rule(kind, what=None, **more):
    return read_rule(
        "rule", {"type": kind} | ({} if what is None else {"interval" if "/" in what else "period": what}) | more
    )


def of(text):
    return parse_interval("interval", text)


def test_the_first_that_applies_decides_and_says_why():
    rules = [rule("dropByInterval", "2026-01-01/2026-02-01"), rule("loadByPeriod", "P1M"), rule("dropForever")]
    assert [choose(rules, of(text), NOW).index for text in ("2026-01-05/P1D", "2026-03-05/P1D", "2025-01-05/P1D")] == [
        0,
        1,
        2,
    ]
    assert choose(rules, of("2026-03-05/P1D"), NOW).why == (
        "rule 2, loadByPeriod P1M: 2026-03-05/2026-03-06 overlaps 2026-02-28/.."
    )
    assert choose([], of("2026-03-05/P1D"), NOW).why == (
        "none of 0 rules applies to 2026-03-05/2026-03-06: it is left as it is"
    )


def test_what_has_begun_before_the_window_is_kept_until_it_is_wholly_outside():
    """Druid issues 6387, 1362, 5595: a merged month was dropped because it began outside."""
    rules = [rule("loadByPeriod", "P30D"), rule("dropForever")]
    month = of("2026-01-15/2026-03-02")
    assert choose(rules, month, NOW).index == 0
    assert next_change(rules, month, NOW) == parse_moment("m", "2026-04-01")
    assert choose(rules, month, parse_moment("m", "2026-04-01")).index == 1


def test_what_lies_in_the_future_is_kept():
    """Druid issue 5869: "load 30 days, drop the rest" dropped what lay slightly in the future."""
    rules = [rule("loadByPeriod", "P30D"), rule("dropForever")]
    assert choose(rules, of("2026-04-01/P1D"), NOW).index == 0
    assert (
        choose(
            [rule("loadByPeriod", "P30D", includeFuture=False), rule("dropForever")], of("2026-04-01/P1D"), NOW
        ).index
        == 1
    )


def test_a_month_back_from_its_last_day_is_the_last_day_of_the_one_before():
    assert rule("loadByPeriod", "P1M").reach(NOW).start == parse_moment("m", "2026-02-28")


KINDS = ["loadByPeriod", "dropByPeriod", "dropBeforeByPeriod"]
by_period = st.builds(
    lambda kind, text, future: rule(kind, text, includeFuture=future),
    st.sampled_from(KINDS),
    st.sampled_from(["P1M", "P2M", "P30D", "PT36H", "P1Y", "P1M1D"]),
    st.booleans(),
)


@given(st.lists(by_period, min_size=1, max_size=3), st.integers(-400, 60), st.integers(1, 40))
@settings(max_examples=60)
def test_nothing_changes_before_it_is_said_to(rules, day, length):
    """Looked at six hours apart, for more than a year."""
    start = NOW + timedelta(days=day)
    interval = Interval(start, start + timedelta(days=length))
    index, said = choose(rules, interval, NOW).index, next_change(rules, interval, NOW)
    for step in range(400 * 4):
        moment = NOW + step * timedelta(hours=6)
        if said is not None and moment >= said:
            break
        assert choose(rules, interval, moment).index == index
    if said is not None:
        assert choose(rules, interval, said).index != index


@given(
    st.lists(by_period, min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(-800, 60), st.integers(1, 40)), max_size=12),
)
@settings(max_examples=200)
def test_the_first_change_of_many_is_the_first_of_all_of_them(rules, days):
    starts = [(NOW + timedelta(days=day), length) for day, length in days]
    row = [Interval(start, start + timedelta(days=length)) for start, length in starts]
    each = [next_change(rules, interval, NOW) for interval in row]
    assert first_change(rules, row, NOW) == min((one for one in each if one is not None), default=None)


def test_what_never_changes_has_no_moment():
    assert next_change([rule("loadForever")], of("2026-01-01/P1D"), NOW) is None
    assert next_change([rule("dropByInterval", "2025-01-01/P1D"), rule("loadByPeriod", "P1D")], ETERNITY, NOW) is None


@given(st.integers(-400, 60), st.integers(1, 40), st.sampled_from(["P1M", "P30D", "PT36H"]))
def test_dropping_what_is_before_is_keeping_what_is_not(day, length, text):
    """Druid: ``dropBeforeByPeriod`` with ``loadForever`` is ``loadByPeriod`` with the future, then ``dropForever``."""
    start = NOW + timedelta(days=day)
    interval = Interval(start, start + timedelta(days=length))
    first = choose([rule("dropBeforeByPeriod", text), rule("loadForever")], interval, NOW).rule
    second = choose([rule("loadByPeriod", text), rule("dropForever")], interval, NOW).rule
    assert first.type.drops is second.type.drops


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, r"rules\[0\]\.type=None: is no type of a rule. Use loadForever, loadByInterval"),
        ({"type": "loadByPeriode", "period": "P1D"}, "is no type of a rule. Did you mean loadByPeriod"),
        ({"type": "keep"}, r"rules\[0\]\.type='keep': is no type of a rule. Use loadForever"),
        ({"type": "loadByPeriod"}, r"rules\[0\]\.period=None: is missing for loadByPeriod. Give the period"),
        ({"type": "dropByInterval"}, r"rules\[0\]\.interval=None: is missing for dropByInterval"),
        (
            {"type": "loadForever", "period": "P1D"},
            r"rules\[0\]\.period='P1D': does not go with loadForever. Leave it out",
        ),
        ({"type": "dropForever", "tieredReplicants": {"a": 1}}, r"tieredReplicants=.*does not go with dropForever"),
        ({"type": "loadByPeriod", "period": "P0D"}, r"rules\[0\]\.period='P0D': is zero. Give a period above zero"),
        ({"type": "loadByPeriod", "period": "-P1D"}, "goes backwards. Write it without the sign, P1D"),
        ({"type": "loadByPeriod", "period": "30D"}, "does not begin with P. Write P30D"),
        ({"type": "loadByInterval", "interval": "2026"}, r"rules\[0\]\.interval='2026': has no slash"),
        ({"type": "loadByPeriod", "period": "P1D", "includefuture": True}, "is unknown. Did you mean includeFuture"),
        (
            {"type": "loadByPeriod", "period": "P1D", "includeFuture": 1},
            "is neither true nor false. Write true or false",
        ),
        ({"type": "loadForever", "tieredReplicants": {}}, "is no object of tiers. Write"),
        (
            {"type": "loadForever", "tieredReplicants": {"hot": -1}},
            r"tieredReplicants\.hot=-1: is no whole number from 0",
        ),
        (
            {"type": "loadForever", "tieredReplicants": {"hot": "1"}},
            "is no whole number from 0 on. Give 0 or more copies",
        ),
        ("loadForever", r"rules\[0\]='loadForever': is no rule. Write"),
    ],
)
def test_a_bad_rule_is_refused_by_field_value_and_remedy(document, message):
    with pytest.raises(InvalidInputError, match=message):
        read_rules("rules", [document])


@pytest.mark.parametrize("rules", ["loadForever", {"type": "loadForever"}, None])
def test_what_is_no_list_is_refused(rules):
    with pytest.raises(InvalidInputError, match=r"rules=.*is no list of rules. Write"):
        read_rules("rules", rules)


def test_a_rule_made_in_python_is_checked_as_well():
    with pytest.raises(InvalidInputError, match=r"rule\.interval=None: is missing. Give one, or another type"):
        Rule(RuleType.DROP_BY_INTERVAL)
    with pytest.raises(
        InvalidInputError, match=r"rule\.interval='2026-01-01/.*does not go with dropForever. Leave it out"
    ):
        Rule(RuleType.DROP_FOREVER, of("2026-01-01/P1D"))


def test_the_defaults_are_druids():
    loads = read_rule("rule", {"type": "loadByPeriod", "period": "P1D"})
    assert (loads.include_future, loads.tiers) == (True, {"_default_tier": 2})


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ([], ["is empty, so the default rules decide about everything. Give rules, or none on purpose"]),
        ([("loadForever",)], []),
        (
            [("loadForever",), ("dropByPeriod", "P1D")],
            ["rule 2: never applies, because rule 1, loadForever, comes first"],
        ),
        (
            [("loadByPeriod", "P1Y"), ("loadByPeriod", "P30D"), ("dropForever",)],
            ["rule 2: never applies, because what rule 1 keeps comes first"],
        ),
        ([("loadByPeriod", "P30D"), ("loadByPeriod", "P1Y"), ("dropForever",)], []),
        (
            [
                ("loadByInterval", "2025-01-01/P1M"),
                ("loadByInterval", "2025-02-01/P1M"),
                ("dropByInterval", "2025-01-10/P1M"),
                ("dropForever",),
            ],
            ["rule 3: never applies, because what rule 1 and rule 2 keeps comes first"],
        ),
        (
            [
                ("dropByInterval", "2025-01-01/P1M"),
                ("dropByInterval", "2025-02-01/P1M"),
                ("dropByInterval", "2025-01-10/P1M"),
                ("dropForever",),
            ],
            [],  # what lies on both sides of the border lies inside of neither
        ),
        (
            [("dropByInterval", "2025-01-01/P3M"), ("dropByInterval", "2025-01-10/P1M"), ("dropForever",)],
            ["rule 2: never applies, because rule 1, dropByInterval 2025-01-01/2025-04-01, comes first"],
        ),
        ([("loadByInterval", "2025-01-01/P3M"), ("loadByPeriod", "P1D"), ("dropForever",)], []),
        ([("dropBeforeByPeriod", "P1Y"), ("dropByPeriod", "P1D"), ("dropForever",)], []),
        (
            [("loadByPeriod", "P1M")],
            ["no rule is forever: what none of them applies to is never dropped, and warned of in each run"],
        ),
        (
            [("loadByInterval", "2062-01-01/P1M"), ("dropForever",)],
            ["rule 1: lies in the future, 2062-01-01/2062-02-01"],
        ),
    ],
)
def test_what_is_odd_about_a_list(rules, found):
    told = [str(one) for one in lint([rule(*one) for one in rules], NOW)]
    assert len(told) == len(found)
    assert all(one.startswith(each) for one, each in zip(told, found, strict=True))


def test_tiers_that_there_are_not():
    rules = [rule("loadForever", tieredReplicants={"hot": 3, "cold": 1, "new": 1})]
    assert [str(one) for one in lint(rules, NOW, {"hot": 2, "cold": 1})] == [
        "rule 1: wants 3 copies in tier 'hot', which has 2 locations. Ask for fewer, or add locations",
        "rule 1: names tier 'new', which has no location. Use cold, hot",
    ]
