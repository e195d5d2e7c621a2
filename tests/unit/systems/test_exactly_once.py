"""Whatever arrives while scans run and die: each object is in one partition, and only one."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_coordination.systems.objects import scan
from tests.unit.systems.storage import Source, Storage

ALWAYS = timedelta(0)
ARRIVAL = st.tuples(st.just("arrive"), st.text("ab/", min_size=1, max_size=3).filter(lambda key: key[-1] != "/"))
WAIT = st.tuples(st.just("wait"), st.sampled_from([0.0, 0.4, 1.0, 30.0]))
SCAN = st.tuples(st.just("scan"), st.one_of(st.none(), st.tuples(st.integers(0, 6), st.booleans())))
EVENTS = st.lists(st.one_of(ARRIVAL, WAIT, SCAN), max_size=25)


class Timed(Storage):
    """Stamps objects in whole seconds, as S3 does, and lets some arrive while a listing goes on."""

    def __init__(self, during: list[str]) -> None:
        super().__init__()
        self.during = during

    def put(self, key, size=1, modified=None):
        if key not in self.objects_by_key:
            super().put(key, size, modified or self.now().replace(microsecond=0))

    def objects(self, prefix, start_after):
        for number, found in enumerate(super().objects(prefix, start_after)):
            self.clock.advance(0.3)
            if number % 2 and self.during:
                self.put(self.during.pop())
            yield found


def play(source, storage, events):
    for kind, value in events:
        if kind == "arrive":
            storage.put(value)
        elif kind == "wait":
            storage.clock.advance(value)
        else:
            source.scan(*value or ())
    storage.during.clear()  # what comes during the last scan is for one after it
    storage.clock.advance(3600)
    source.scan()
    storage.clock.advance(3600)
    source.scan()


@pytest.fixture(autouse=True, scope="module")
def short_pages():
    """A checkpoint every two objects or groups, so that there is much to be killed between."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "LISTED_PER_CHECKPOINT", 2)
        patch.setattr(scan, "GROUPS_PER_CHECKPOINT", 2)
        yield


@settings(max_examples=300, deadline=None)
@given(events=EVENTS, during=st.lists(st.text("ab/", min_size=1, max_size=3).map(lambda key: key + "z")))
def test_each_object_alone(events, during):
    storage = Timed(during)
    source = Source(storage, scan=ALWAYS, lateness=ALWAYS)
    play(source, storage, events)
    assert source.names() == sorted(storage.objects_by_key)


@settings(max_examples=300, deadline=None)
@given(
    events=EVENTS,
    during=st.lists(st.text("ab/", min_size=1, max_size=3).map(lambda key: key + "z")),
    size=st.integers(1, 3),
    lateness=st.sampled_from([ALWAYS, timedelta(seconds=20)]),
)
def test_each_object_in_one_group(events, during, size, lateness):
    storage = Timed(during)
    source = Source(storage, scan=ALWAYS, lateness=lateness, max_objects=size)
    play(source, storage, events)
    assert source.names() == sorted(storage.objects_by_key)
