"""Pages of keys that begin alike are those that one finds by looking at every key."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.leases import InvalidKeyError, PartitionStatus, SourceCoordinator
from airflow_coordination.stores import open_store

KEYS = st.text(alphabet="ab\u00e9\U0001f680", min_size=1, max_size=4)


@pytest.fixture
def flights():
    return SourceCoordinator(open_store("memory://"), "flights", "test")


@given(keys=st.sets(KEYS, max_size=12), prefix=KEYS, after=st.none() | KEYS, size=st.integers(1, 4))
def test_pages_with_a_prefix_are_what_every_key_says(keys, prefix, after, size):
    flights = SourceCoordinator(open_store("memory://"), "flights", "test")
    flights.create_partitions(sorted(keys))
    found, last = [], after
    while page := flights.partitions(None, last, size, prefix=prefix):
        found += [one.key for one in page]
        last = found[-1]
        if len(page) < size:
            break
    above = (after or "").encode()
    assert found == sorted((key for key in keys if key.startswith(prefix) and key.encode() > above), key=str.encode)


def test_the_key_that_is_the_prefix_is_there_in_its_state_only(flights):
    flights.create_partitions(["k", "k1"])
    flights.complete(flights.acquire_partition("k"))
    flights.people.park("k1", by="ana", why="a test")

    def keys(status, **narrowed):
        return [one.key for one in flights.partitions(status, prefix="k", **narrowed)]

    assert keys(PartitionStatus.COMPLETED) == ["k"]
    assert keys(PartitionStatus.CLOSED, parked=True) == ["k1"]
    assert keys(PartitionStatus.CLOSED, parked=False) == []
    flights.people.delete("k", by="ana", why="a test")
    assert keys(None) == ["k1"]


@given(
    keys=st.sets(KEYS, max_size=12),
    prefix=st.none() | KEYS,
    first=st.none() | KEYS,
    last=st.none() | KEYS,
    size=st.integers(1, 4),
)
def test_pages_between_two_keys_are_what_every_key_says(keys, prefix, first, last, size):
    flights = SourceCoordinator(open_store("memory://"), "flights", "test")
    flights.create_partitions(sorted(keys))
    found: list[str] = []
    while page := flights.looking.partitions(
        None, found[-1] if found else None, size, prefix=prefix, first=first, last=last
    ):
        found += [one.key for one in page]
    among = [
        key
        for key in keys
        if key.startswith(prefix or "")
        and (first is None or key.encode() >= first.encode())
        and (last is None or key.encode() <= last.encode())
    ]
    assert found == sorted(among, key=str.encode)


@pytest.mark.parametrize("field", ["first", "last"])
def test_a_bound_that_no_key_can_be_is_refused(flights, field):
    with pytest.raises(InvalidKeyError, match=field):
        flights.looking.partitions(**{field: "\x00"})


def test_a_prefix_that_no_key_can_have_is_refused(flights):
    with pytest.raises(InvalidKeyError, match="prefix"):
        flights.partitions(prefix="\x00")
