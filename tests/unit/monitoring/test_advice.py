"""What is concluded from the tenures that ended."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.monitoring.advice import ENOUGH, MOST_NAMED, Kind, advise, percentile
from airflow_coordination.monitoring.throughput import of_rows
from airflow_coordination.protocol.results import Outlook
from airflow_coordination.values.status import Outcome
from tests.unit.monitoring.past import MINUTE, NOW, ended, held, task

HOUR = timedelta(hours=1)
NOTHING = Outlook()


def hour_of(number, **more):
    return [ended(HOUR * place / number, **more) for place in range(number)]


def of_kind(kind, past, owners=(), outlook=NOTHING):
    return [each for each in advise(of_rows(past, NOW, 2000), owners, outlook) if each.kind is kind]


def test_a_straggler_is_held_longer_than_the_95th_percentile():
    past = [ended(place * MINUTE, place * MINUTE) for place in range(1, 101)]
    longest, other = of_kind(Kind.STRAGGLER, past, [held("a", 95 * MINUTE, task(0)), held("b", 96 * MINUTE, "x"),
        held("c", 5 * HOUR, task(3)), held("d", None, task(4))])  # fmt: skip
    assert (longest.about, other.about) == ("c", "b")
    assert longest.sentence == (
        "Partition 'c' is held for 5 h by task 'process', map index 3, try 1, of run 'manual__1' of DAG 'flights' on "
        "host 'host'; 95 of 100 finished tenures took 1 h 35 min at most (100 tenures)."
    )


def test_b7_whose_lease_has_ended_is_no_straggler():
    past = [ended(place * MINUTE, place * MINUTE) for place in range(1, 101)]
    gone = held("gone", 5 * HOUR, task(3), left=-MINUTE)
    found = of_kind(Kind.STRAGGLER, past, [gone, held("slow", 4 * HOUR, task(4))])
    assert [each.about for each in found] == ["slow"]


def test_hostile_names_are_escaped_and_few_are_named():
    many = [held(f"\x1b[2J\u202e{place}", HOUR, "\x1b\n") for place in range(30)]
    found = of_kind(Kind.STRAGGLER, hour_of(ENOUGH), many)
    assert len(found) == MOST_NAMED
    assert all(each.sentence.isprintable() for each in found)


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.LOST, Outcome.GIVEN_UP])
def test_what_failed_is_no_measure(outcome):
    assert of_kind(Kind.STRAGGLER, hour_of(50, outcome=outcome), [held("a", HOUR, "x")]) == []


def test_nothing_is_concluded_from_little():
    past = hour_of(ENOUGH - 1)
    assert (
        advise(of_rows(past, NOW, 2000), [held("a", 9 * HOUR, "x"), held("b", HOUR, "y")], Outlook(claimable=9)) == ()
    )


def test_who_does_far_more_and_who_far_less():
    shares = {0: 30, 1: 12, 2: 15, 3: 3}
    past = [ended(HOUR * place / 30, key=f"{index}-{place}", owner=task(index, 1 + place % 2))
            for index, number in shares.items() for place in range(number)]  # fmt: skip
    past.sort(key=lambda each: each.ended_at, reverse=True)
    owners = [held(str(index), 2 * HOUR, task(index, 2)) for index in shares]
    [hot] = of_kind(Kind.HOT_OWNER, past, owners)
    [starved] = of_kind(Kind.STARVED_OWNER, past, owners)
    assert (hot.about, starved.about) == ("flights/manual__1/process/0", "flights/manual__1/process/3")
    assert "has ended 30 of the 60 tenures" in hot.sentence
    assert "an equal share of 4 is 15" in starved.sentence


def test_who_has_just_begun_is_not_called_starved():
    past = hour_of(60)
    assert of_kind(Kind.STARVED_OWNER, past, [held("a", 2 * HOUR, task(0)), held("b", MINUTE, task(1))]) == []
    assert of_kind(Kind.STARVED_OWNER, past, [held("a", 2 * HOUR, task(0)), held("b", 2 * HOUR, task(1))])


def test_who_is_not_at_work_any_more_is_compared_with_nobody():
    owners = [held("a", 2 * HOUR, task(0)), held("b", 2 * HOUR, task(1), -MINUTE)]
    assert of_kind(Kind.HOT_OWNER, hour_of(60), owners) == []


@pytest.mark.parametrize(
    ("took", "chosen"), [(timedelta(seconds=2), "1 min"), (3.5 * MINUTE, "4 min"), (5 * HOUR, "10 min")]
)
def test_a_timeout_is_as_long_as_the_work_within_bounds(took, chosen):
    [found] = of_kind(Kind.OWNERSHIP_TIMEOUT, hour_of(ENOUGH, took=took))
    assert (found.about, "lost" in found.sentence) == (chosen, False)


def test_many_lost_leases_ask_for_a_longer_one():
    past = [*hour_of(38), *(ended(2 * HOUR, outcome=Outcome.LOST) for _ in range(2))]
    [found] = of_kind(Kind.OWNERSHIP_TIMEOUT, past)
    assert "But 2 of 40 tenures were lost without a word" in found.sentence


def test_as_many_tasks_as_finish_the_rest_in_an_hour():
    past = [*hour_of(30, took=6 * MINUTE), *(ended(2 * HOUR, 6 * MINUTE, Outcome.FAILED) for _ in range(10))]
    both = [held(f"k{n}", MINUTE, task(n % 2, 1 + n // 4)) for n in range(5)]  # five leases, and two tries of one task
    gone = [held("k9", MINUTE, task(9), left=-MINUTE)]
    [found] = of_kind(Kind.TASKS, past, both + gone, Outlook(claimable=20, assigned=2, waiting=8, parked=99))
    assert found.about == "4"  # 30 partitions of 8 minutes, of which 2 went into failures
    assert found.sentence == (
        "30 partitions are left, and one took 8 min of work, failed attempts included: 4 tasks would finish them "
        "in 1 h; 2 are at work now."
    )


def test_no_more_tasks_than_partitions():
    assert [each.about for each in of_kind(Kind.TASKS, hour_of(30, took=9 * HOUR), outlook=Outlook(claimable=3))] == [
        "3"
    ]
    assert of_kind(Kind.TASKS, hour_of(30), outlook=Outlook(parked=3)) == []


@given(st.lists(st.timedeltas(timedelta(0), HOUR), min_size=1), st.integers(1, 100))
def test_a_percentile_is_one_of_them_and_so_many_do_not_exceed_it(durations, rank):
    found = percentile(durations, rank)
    assert found in durations
    assert sum(each <= found for each in durations) >= len(durations) * rank / 100
    assert sum(each < found for each in durations) < len(durations) * rank / 100


@given(
    st.lists(
        st.tuples(
            st.timedeltas(timedelta(0), 30 * HOUR),
            st.none() | st.timedeltas(-MINUTE, HOUR),
            st.sampled_from([one for one in Outcome if one is not Outcome.OVERTAKEN]),
            st.none() | st.sampled_from([task(0), task(1), "me", "\x00"]),
        ),
        max_size=60,
    ),
    st.lists(st.tuples(st.none() | st.timedeltas(-MINUTE, HOUR), st.text(max_size=5)), max_size=5),
    st.integers(0, 10**9),
)
def test_whatever_ended_it_answers_in_one_printable_line_each(past, holders, left):
    rows = sorted((ended(*each[:3], owner=each[3]) for each in past), key=lambda each: each.ended_at, reverse=True)
    owners = [held(f"k{place}", since, owner) for place, (since, owner) in enumerate(holders)]
    for each in advise(of_rows(rows, NOW, 50), owners, Outlook(claimable=left)):
        assert each.sentence.isprintable()
        assert each.sentence.endswith(".")
