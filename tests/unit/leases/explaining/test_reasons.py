"""Each reason why a partition is not moving: the word, the sentence, what happens by itself, and what to type."""

from dataclasses import replace

import pytest

from airflow_coordination.leases import Explanation, Reason
from airflow_coordination.leases.explaining.facts import LONG, MOST_HEADS, PersonsAct, Place, Signs
from airflow_coordination.leases.explaining.reasons import explain
from airflow_coordination.protocol.pause import Pause
from tests.unit.leases.explaining.values import HOUR, NOW, OWNER, facts, head, partition, ring

REOPEN = "airflow coordination reopen flights 2013-01 --why '…'"
STATUS = "airflow coordination status flights"
SWEPT = "The next sweep of a sensor or the next acquirer {} it; if it stays so, neither of them runs."
HOLDER = "task 'process', map index 3, try 2, of run 'scheduled__2026-01-01T00:00:00+00:00' of DAG 'my dag'"


def explained(found, **known):
    return explain(found, facts(**known), NOW)


def test_it_reopens_at_a_time():
    assert explained(partition("CLOSED", reopen_at=NOW + 8 * HOUR, closed_count=2)) == Explanation(
        "2013-01",
        Reason.REOPENS,
        "Partition '2013-01' was closed 2 times and reopens at 2026-01-01T08:00:00+00:00 (in 8 h).",
        "At 2026-01-01T08:00:00+00:00 it can be acquired again.",
        REOPEN,
    )


@pytest.mark.parametrize("late", [0 * HOUR, HOUR / 2])
def test_it_is_due_from_that_very_moment_on(late):
    ago = "30 min" if late else "0 s"
    said = explained(partition("CLOSED", reopen_at=NOW - late))
    assert (said.reason, said.next, said.command) == (Reason.DUE, SWEPT.format("opens"), STATUS)
    assert said.sentence.endswith(f" ({ago} ago), and waits for a sweep or an acquirer.")


def test_it_is_delayed_after_a_failure():
    fields = {"failures": 2, "last_error": "No memory\nat line 3", "ring": ring("failed")}
    assert explained(partition("UNASSIGNED", available_at=NOW + HOUR / 60, **fields)) == Explanation(
        "2013-01",
        Reason.DELAYED,
        "Partition '2013-01' is delayed until 2026-01-01T00:01:00+00:00 (in 1 min) after failure 2 of 5: No memory.",
        "At 2026-01-01T00:01:00+00:00 it can be acquired again.",
        REOPEN,
    )


def test_a_partition_that_says_its_limit_is_believed():
    fields = {"failures": 6, "max_failures": 9, "last_error": "E", "ring": ring("failed")}
    said = explained(partition("UNASSIGNED", available_at=NOW + HOUR, **fields))
    assert said.sentence.endswith("after failure 6 of 9: E.")


@pytest.mark.parametrize(("failures", "said"), [(4, "failure 4 of 5: E."), (5, "failure 5: E."), (7, "failure 7: E.")])
def test_a_maximum_that_is_reached_is_not_the_one_in_force(failures, said):
    """The owner's setting is another than that of whoever asks: it would be parked."""
    fields = {"failures": failures, "last_error": "E", "ring": ring("failed")}
    assert explained(partition("UNASSIGNED", available_at=NOW + HOUR, **fields)).sentence.endswith(said)


def test_it_is_delayed_because_it_was_given_up():
    """The error of an earlier failure is not why."""
    fields = {"failures": 1, "last_error": "No memory", "ring": ring("given up")}
    said = explained(partition("UNASSIGNED", available_at=NOW + HOUR, **fields))
    assert said.reason is Reason.DELAYED
    assert said.sentence.endswith("(in 1 h) because its owner gave it up until then.")


def test_it_is_held_by_a_task_instance():
    said = explained(partition("ASSIGNED", owner=OWNER, ownership_timeout=NOW + HOUR / 75, confirmed=True))
    assert said == Explanation(
        "2013-01",
        Reason.HELD,
        f"Partition '2013-01' is held by {HOLDER} on host 'worker-1'; its lease ends at 2026-01-01T00:00:48+00:00 "
        "(in 48 s) unless it is renewed.",
        "The owner renews the lease or ends it; otherwise others can acquire the partition from "
        "2026-01-01T00:00:48+00:00 on.",
    )


def test_it_is_held_by_somebody_else_and_without_a_sign_of_life():
    said = explained(partition("ASSIGNED", owner="ana\x1b", ownership_timeout=NOW + HOUR, nonce="n", last_op="n"))
    start = r"Partition '2013-01' is held by 'ana\x1b'; its owner has not renewed the lease nor written anything yet;"
    assert said.sentence.startswith(start)


def test_a_lease_without_an_end_waits_for_a_person():
    said = explained(partition("ASSIGNED", owner="ana", last_op="w"))
    assert said.sentence == "Partition '2013-01' is held by 'ana'; its lease has no end."
    assert (said.next, said.command) == (None, "airflow coordination release flights 2013-01 --why '…'")


@pytest.mark.parametrize("late", [0 * HOUR, HOUR])
def test_its_lease_has_expired(late):
    said = explained(partition("ASSIGNED", owner=OWNER, ownership_timeout=NOW - late))
    assert (said.reason, said.next, said.command) == (Reason.EXPIRED, SWEPT.format("takes"), STATUS)
    assert said.sentence.startswith(f"Partition '2013-01' was held by {HOLDER} on host 'worker-1'; the lease ended at")


@pytest.mark.parametrize(("own", "parks"), [(None, False), (3, True)])
def test_its_last_lost_lease_will_park_it_by_the_limit_that_travels_with_it(own, parks):
    fields = {"lost_leases": 2, "max_lost_leases": own, "confirmed": True}
    said = explained(partition("ASSIGNED", owner=OWNER, ownership_timeout=NOW, **fields))
    parked = "The next sweep of a sensor parks it, after 3 lost leases in a row."
    assert said.next == (parked if parks else SWEPT.format("takes"))


FIRST = "Partition '2013-01' can be acquired, first in the order (class: new)"


@pytest.mark.parametrize(
    ("last", "since"),
    [
        (NOW - 3 * HOUR, "since 2025-12-31T21:00:00+00:00 (3 h ago)"),
        (NOW - LONG, "since 2025-12-31T23:50:00+00:00 (10 min ago)"),
        (None, "as far back as its history goes"),
    ],
)
def test_nobody_has_acquired_in_its_source_for_long(last, since):
    said = explained(partition("UNASSIGNED"), place=Place(0), signs=Signs(last, 0))
    nobody = f"{FIRST}, but nobody has acquired anything in its source {since}, and nobody holds any of it."
    asks = "A task or driver that asks this source for work acquires it: is its DAG paused, or without such a task?"
    assert said == Explanation("2013-01", Reason.IDLE, nobody, asks, STATUS)


def test_who_has_acquired_lately_comes_again():
    said = explained(partition("UNASSIGNED"), place=Place(0), signs=Signs(NOW - LONG + HOUR / 3600, 0))
    assert (said.reason, said.sentence) == (Reason.WAITING, f"{FIRST}.")


def test_those_at_work_are_busy():
    said = explained(partition("UNASSIGNED"), place=Place(0), signs=Signs(NOW - HOUR, 2))
    nobody = "nobody has acquired anything in its source since 2025-12-31T23:00:00+00:00 (1 h ago)"
    assert (said.reason, said.sentence) == (Reason.WAITING, f"{FIRST}; {nobody}, and 2 partitions are held.")


@pytest.mark.parametrize(
    "found",
    [partition("ASSIGNED", owner="ana", ownership_timeout=NOW - HOUR), partition("CLOSED", reopen_at=NOW - HOUR)],
    ids=["expired", "due"],
)
def test_nobody_looks_after_its_source(found):
    unseen = "; no sensor or acquirer was seen in its source since 2025-12-31T22:00:00+00:00 (2 h ago)."
    assert explained(found, signs=Signs(NOW - 2 * HOUR, 0)).sentence.endswith(unseen)
    for signs in (None, Signs(NOW - HOUR / 60, 0), Signs(NOW - 2 * HOUR, 1)):
        assert "seen" not in explained(found, signs=signs).sentence


PAUSED = Pause(True, "ana", "Spark is ill", NOW, "op")
WHO = "paused at 2026-01-01T00:00:00+00:00 by 'ana', who said 'Spark is ill'"


@pytest.mark.parametrize(
    "found",
    [partition("UNASSIGNED", available_at=NOW), partition("CLOSED", reopen_at=NOW - HOUR)],
    ids=["ready", "due"],
)
def test_its_source_is_paused(found):
    said = explained(found, pause=PAUSED)
    sentence = f"Partition '2013-01' could be acquired, but its source was {WHO}."
    resume = "airflow coordination resume flights --why '…'"
    assert said == Explanation("2013-01", Reason.PAUSED, sentence, None, resume)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (partition("UNASSIGNED", available_at=NOW + HOUR), Reason.DELAYED),
        (partition("CLOSED", reopen_at=NOW + HOUR), Reason.REOPENS),
        (partition("ASSIGNED", owner=OWNER, ownership_timeout=NOW - HOUR), Reason.EXPIRED),
    ],
)
def test_what_waits_for_something_else_waits_for_the_pause_after_it(found, reason):
    said, without = explained(found, pause=PAUSED), explained(found)
    assert (said.reason, said.sentence, said.command) == (reason, without.sentence, without.command)
    assert said.next == f"{without.next} Nothing of the source is acquired until it is resumed: it was {WHO}."


@pytest.mark.parametrize("status", ["ASSIGNED", "COMPLETED", "CLOSED"])
def test_a_pause_says_nothing_of_what_is_held_done_or_parked(status):
    found = partition(status, owner=OWNER, ownership_timeout=NOW + HOUR)
    assert explained(found, pause=PAUSED) == explained(found)


def test_a_source_that_was_resumed_is_none_that_is_paused():
    found = partition("UNASSIGNED", available_at=NOW)
    assert explained(found, pause=replace(PAUSED, paused=False)) == explained(found)


def test_it_is_parked_after_failures():
    said = explained(partition("CLOSED", failures=5, last_error="ValueError: month 13", ring=ring("failed")))
    sentence = "Partition '2013-01' is parked after 5 failures in a row: ValueError: month 13."
    assert said == Explanation("2013-01", Reason.PARKED, sentence, None, REOPEN)


def test_it_is_parked_after_lost_leases():
    said = explained(partition("CLOSED", lost_leases=3, last_error="lost", ring=ring("lost")))
    sentence = "Partition '2013-01' is parked after 3 lost leases in a row: its owners vanished without a word."
    assert said == Explanation("2013-01", Reason.PARKED, sentence, None, REOPEN)


def test_z11_it_is_parked_and_something_is_to_follow():
    """It was said in this generation; what another one has left is not to be done."""
    fields = {"failures": 5, "last_error": "E", "ring": ring("failed"), "generation": "g"}
    left = " What is to follow at its source (on_parked) is not done yet."
    said = [explained(partition("CLOSED", **fields, on_parked_text=text)).sentence for text in (None, "g 1", "f 1")]
    assert [sentence.endswith(left) for sentence in said] == [False, True, False]


def test_it_is_parked_by_a_person():
    act = PersonsAct("park", "ana", "bad\nfile", NOW)
    said = explained(partition("CLOSED", last_error="an earlier one", ring=ring("failed")), act=act)
    sentence = (
        r"Partition '2013-01' is parked since 2026-01-01T00:00:00+00:00 (0 s ago) by 'ana', who said 'bad\nfile'."
    )
    assert said == Explanation("2013-01", Reason.PARKED, sentence, None, REOPEN)


@pytest.mark.parametrize("action", ["park", "reopen"])
def test_a_person_s_act_before_the_last_failure_has_not_parked_it(action):
    act = PersonsAct(action, "ana", "why", NOW - 2 * HOUR)
    said = explained(partition("CLOSED", failures=5, last_error="E", ring=ring("failed")), act=act)
    assert said.sentence == "Partition '2013-01' is parked after 5 failures in a row: E."


def test_parking_what_is_held_is_a_person_s_act_whatever_the_clocks_say():
    act = PersonsAct("park", "ana", "why", NOW - 2 * HOUR)
    assert "by 'ana'" in explained(partition("CLOSED", ring=ring("released")), act=act).sentence


def test_it_is_parked_and_nobody_remembers_why():
    """As what was taken over from Data Prepper unreadable."""
    said = explained(partition("CLOSED", last_error="not JSON"))
    assert said.sentence == "Partition '2013-01' is parked and waits for a person: not JSON."
    assert explained(partition("CLOSED")).sentence.endswith("waits for a person: without an error.")


@pytest.mark.parametrize(
    ("place", "where"),
    [
        (Place(0), "first in the order"),
        (Place(1), "behind 1 other in the order"),
        (Place(999), "behind 999 others in the order"),
        (Place(1000, exact=False), "behind at least 1,000 others in the order"),
        (None, "its place in the order is not known"),
    ],
)
@pytest.mark.parametrize("since", [None, NOW])
def test_it_waits_for_its_turn(place, where, since):
    turn = "A task or driver that asks this source for work acquires it when its turn comes."
    sentence = f"Partition '2013-01' can be acquired, {where} (class: new)."
    said = explained(partition("UNASSIGNED", available_at=since), place=place)
    assert said == Explanation("2013-01", Reason.WAITING, sentence, turn, STATUS)


@pytest.mark.parametrize(
    ("heads", "published"),
    [
        ((), "it has published nothing"),
        ((head("clean", 0, blocks=False),), "what it published was taken back"),
        ((head("clean", 1234), head("bad", 1), head("old", 9, blocks=False)),
         "1,234 rows in dataset 'clean', 1 row in dataset 'bad'"),
    ],
)  # fmt: skip
def test_it_is_done(heads, published):
    found = partition("COMPLETED", ring=ring("completed", after="COMPLETED"), updated_at=NOW)
    sentence = f"Partition '2013-01' is done since 2025-12-31T23:00:00+00:00 (1 h ago): {published}."
    assert explained(found, heads=heads) == Explanation("2013-01", Reason.DONE, sentence)


def test_many_datasets_are_not_all_named():
    said = explained(partition("COMPLETED"), heads=tuple(head(f"d{n}", 1) for n in range(MOST_HEADS)))
    assert said.sentence.endswith("1 row in dataset 'd4', and at least 95 datasets more.")


def test_it_was_deleted():
    found = partition("UNASSIGNED", deleted=True, updated_at=NOW - HOUR)
    said = explained(found, act=PersonsAct("delete", "ana", "not needed", NOW - HOUR))
    sentence = "Partition '2013-01' was deleted at 2025-12-31T23:00:00+00:00 (1 h ago) by 'ana', who said 'not needed'."
    then = "It is created anew when a supplier names it again."
    assert said == Explanation("2013-01", Reason.DELETED, sentence, then)


def test_it_was_cleaned_up():
    found = partition("COMPLETED", deleted=True, updated_at=NOW - HOUR)
    said = explained(found, act=PersonsAct("clean up", "h/d/r/t/0/1", "finished longer than a day ago", NOW - HOUR))
    sentence = (
        "Partition '2013-01' had finished, and was cleaned up at 2025-12-31T23:00:00+00:00 (1 h ago) by 'h/d/r/t/0/1', "
        "who said 'finished longer than a day ago'."
    )
    then = (
        "Partitions that name it as a parent need not wait for it. It is created anew when a supplier names it again."
    )
    assert said == Explanation("2013-01", Reason.DELETED, sentence, then)


def test_there_is_none_of_this_key():
    said = explained(None, nearest=("2012-12", "2013-02"), prefix="east")
    sentence = "There is no partition '2013-01' in source 'flights'; the nearest keys: '2012-12', '2013-02'."
    command = "airflow coordination explain flights 2013-02 --partition-prefix east"
    then = "It is created when a supplier names it."
    assert said == Explanation("2013-01", Reason.ABSENT, sentence, then, command)


def test_there_is_none_at_all():
    said = explained(None)
    assert said.sentence.endswith("; no other key was found near it.")
    assert said.command == "airflow coordination list flights"


@pytest.mark.parametrize(
    ("until", "said"),
    [
        (NOW + HOUR, "from 2026-01-01T01:00:00+00:00 on it may take it"),
        (NOW - HOUR, "since 2025-12-31T23:00:00+00:00 (1 h ago) it may take it"),
    ],
)
def test_another_worker_has_asked_for_it(until, said):
    mark = {"wanted_by": "worker-2", "wanted_token": 3, "wanted_until": until}
    held = partition("ASSIGNED", owner=OWNER, ownership_timeout=NOW + HOUR, token=3, nonce="n", **mark)
    assert f"; 'worker-2' has asked for it, and {said}; its lease ends" in explained(held).sentence
    assert "has asked" not in explained(replace(held, token=4)).sentence
