"""Which dead letters stand, and whose work they are: what a payload says, and what head records lead to."""

from __future__ import annotations

import pytest

from airflow_coordination.delivery.again.letters import MOST_ROUNDS, AgainWork, Rounds, again_source, digest_of
from airflow_coordination.leases import InvalidInputError, InvalidKeyError, SourceCoordinator
from airflow_coordination.outputs import Block
from airflow_coordination.stores import open_store

WORK = AgainWork(source="flights", partition="2013-01", dataset="dead", letters="ab" * 32, round=1)


def letters(digest: str, rows: int = 2, dataset: str = "dead") -> Block:
    return Block(dataset, f"/out/{digest}", digest, rows)


@pytest.fixture
def store():
    return open_store("memory://")


@pytest.fixture
def publish(store):
    """Complete a partition of a source with blocks, anew if it is there."""

    def publish(source: str, key: str, *blocks: Block) -> None:
        coordinator = SourceCoordinator(store, source=source, owner="me")
        if coordinator.partition(key) is None:
            coordinator.create_partitions([key])
        else:
            coordinator.people.reset(key, by="me", why="anew")
        coordinator.complete(coordinator.acquire_partition(key), blocks)

    return publish


def works(store, key: str = "2013-01") -> list[tuple[str, int]]:
    return [(each.work.letters, each.work.round) for each in Rounds(store, None, "flights", "dead").of(key)]


def test_a_payload_says_which_letters_and_gives_them_back() -> None:
    assert AgainWork.of_payload(WORK.payload()) == WORK == AgainWork.needed(WORK.payload())
    assert WORK.key == f"2013-01@{'ab' * 6}"


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"again": "2013-01"},
        {"again": {**WORK.payload()["again"], "round": "1"}},
        {"again": {**WORK.payload()["again"], "more": 1}},
        {"again": {"source": "flights"}},
    ],
)
def test_a_payload_of_other_work_is_refused_where_it_is_needed(payload) -> None:
    assert AgainWork.of_payload(payload) is None
    with pytest.raises(InvalidInputError, match=r"to be delivered again\. .*dead_letters_again"):
        AgainWork.needed(payload)


def test_a_set_stands_while_its_head_record_leads_to_it(store, publish) -> None:
    assert works(store) == []
    publish("flights", "2013-01", letters("a"), Block("clean", "/out/c", "c", 9))
    assert works(store) == [("a", 1)]
    publish("flights", "2013-01", letters("b"))
    assert works(store) == [("b", 1)]
    publish("flights", "2013-01", letters("none", rows=0))
    assert works(store) == [], "an empty block holds no letter"


def test_the_next_round_is_what_the_one_before_has_set_aside(store, publish) -> None:
    publish("flights", "2013-01", letters("a"))
    publish("flights-again", "2013-01@a", letters("b", 1))
    publish("flights-again", "2013-01@b", letters("c", 1))
    assert works(store) == [("a", 1), ("b", 2), ("c", 3)]
    publish("flights", "2013-01", letters("d"))
    assert works(store) == [("d", 1)], "all rounds of what was replaced are void"


def test_rounds_end(store, publish) -> None:
    """Whoever has written a circle into the store keeps no reader busy."""
    publish("flights", "2013-01", letters("a"))
    publish("flights-again", "2013-01@a", letters("a"))
    assert len(works(store)) == MOST_ROUNDS


def test_what_was_taken_back_is_no_set(store, publish) -> None:
    publish("flights", "2013-01", letters("a"))
    SourceCoordinator(store, source="flights", owner="me").people.retract("2013-01", by="me", why="wrong")
    assert works(store) == []


def test_several_blocks_are_one_set_in_any_order(store, publish) -> None:
    publish("flights", "one", letters("a"), letters("b"))
    publish("flights", "other", letters("b"), letters("a"))
    one, other = (store.heads("flights|PARTITION", key=key)[0] for key in ("one", "other"))
    assert digest_of(one) == digest_of(other) not in ("a", "b")


def test_a_source_whose_name_is_too_long_has_none_beside_it(store) -> None:
    assert again_source("flights") == "flights-again"
    Rounds(store, None, "f" * 230, "dead")
    with pytest.raises(InvalidKeyError, match="the limit is 255"):
        Rounds(store, None, "f" * 243, "dead")
