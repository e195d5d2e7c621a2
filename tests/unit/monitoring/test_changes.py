"""What people and duties have set: the changes of documents, the newest first, whoever made them."""

from __future__ import annotations

import json
from datetime import timedelta
from unittest.mock import Mock

import pytest

from airflow_coordination.duties.configuring import set_config
from airflow_coordination.duties.retention.ruled import set_rules
from airflow_coordination.leases import SourceCoordinator
from airflow_coordination.monitoring import changes
from airflow_coordination.monitoring.changes import (
    DOCUMENTS,
    MOST,
    REQUESTS,
    VERSIONS,
    changes_of,
    newest_changes,
)
from airflow_coordination.monitoring.deeds import ANYTHING, Meant
from airflow_coordination.protocol.beside.documents import SetDocument
from airflow_coordination.stores.in_memory import InMemoryStore
from airflow_coordination.testing.clock import FakeClock
from airflow_coordination.testing.forwarding import ForwardingStore
from airflow_coordination.values.names import everybody

FLIGHTS = "flights|PARTITION"
HERE = [everybody(None), FLIGHTS]


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def flights(clock):
    """A source on a store in memory."""
    return SourceCoordinator(InMemoryStore(clock), "flights", "somebody", clock=clock)


def rules(flights, clock, period, by="dora", why="w"):
    clock.advance(60)
    set_rules(flights, "clean", json.dumps([{"type": "dropBeforeByPeriod", "period": period}]), by, why)


def told(found):
    return [(each.document.author, each.what, each.document.version) for each in found.found]


def test_changes_of_all_documents_stand_in_the_order_of_time_with_what_was_before(flights, clock):
    rules(flights, clock, "P1M")
    clock.advance(60)
    set_config(flights, {"maxSegmentsToMove": 9}, "ana", "slow")
    rules(flights, clock, "P2M")
    found = newest_changes(flights.store, HERE, ANYTHING, 10)
    assert told(found) == [
        ("dora", "the rules of clean", 2),
        ("ana", "the configuration of the duties", 1),
        ("dora", "the rules of clean", 1),
    ]
    [change] = found.found[0].differences
    assert (change.key, change.old, change.new) == ("[0].period", '"P1M"', '"P2M"')
    assert [(each.old, each.new) for each in found.found[1].differences] == [(None, "9")]
    assert (found.documents, found.since) == (2, None)


def test_it_is_narrowed_by_who_why_and_since_when(flights, clock):
    rules(flights, clock, "P1M", "ana", "a Month")
    rules(flights, clock, "P2M", "runRules", "two")
    then = flights.store.now()
    rules(flights, clock, "P3M", "ana", "three")
    assert told(newest_changes(flights.store, HERE, Meant(by="ana"), 10)) == [
        ("ana", "the rules of clean", 3),
        ("ana", "the rules of clean", 1),
    ]
    assert [each.document.version for each in newest_changes(flights.store, HERE, Meant(has="month"), 10).found] == [1]
    since = newest_changes(flights.store, HERE, Meant(since=then), 10)
    assert ([each.document.version for each in since.found], since.since) == ([3, 2], None)


def test_a_dataset_that_is_named_as_the_rules_of_all_is_told_by_its_name(flights):
    set_rules(flights, "_default", '[{"type": "loadForever"}]', "ana", "w")
    set_rules(flights, None, '[{"type": "loadForever"}]', "ana", "w")
    found = newest_changes(flights.store, HERE, ANYTHING, 10).found
    assert {(each.document.source, each.what) for each in found} == {
        (FLIGHTS, "the rules of _default"),
        (everybody(None), "the rules of all datasets"),
    }


class Reading(ForwardingStore):
    """Counts the versions of documents that are read."""

    read = 0

    def forward(self, name, call):
        found = call()
        if name == "document_history":
            self.read += len(found)
        return found


def test_where_it_ends_is_said_and_one_document_leads_on(flights, clock):
    for number in range(VERSIONS + 20):
        rules(flights, clock, f"P{number + 1}D")
    store = Reading(flights.store)
    found = newest_changes(store, HERE, Meant(has="no such reason"), 10)
    assert found.found == ()
    assert store.read == VERSIONS
    [next_one] = flights.documents.history("rules/clean", limit=1, before=20 + 1)
    assert found.since == next_one.at
    few = newest_changes(flights.store, HERE, ANYTHING, 3)
    last = few.found[-1].document
    assert few.since == last.at - timedelta(seconds=60)
    older = changes_of(flights.store, FLIGHTS, "rules/clean", last.version, 3)
    assert [each.document.version for each in older.found] == [last.version - number for number in (1, 2, 3)]
    assert changes_of(flights.store, FLIGHTS, "rules/clean", 1, 3).found == ()


def test_of_many_differences_the_first_are_told_and_a_version_that_is_gone_is_said(flights, clock):
    many = [{"type": "dropBeforeByPeriod", "period": f"P{200 - number}Y"} for number in range(2 * MOST)]
    set_rules(flights, "clean", json.dumps(many), "ana", "w")
    [change] = newest_changes(flights.store, HERE, ANYTHING, 10).found
    assert (len(change.differences), change.more) == (MOST, MOST)
    clock.advance(60)
    rules(flights, clock, "P1M")
    clock.advance(timedelta(days=3).total_seconds())
    flights.documents.forget("rules/", flights.store.now() - timedelta(days=2))
    [change] = newest_changes(flights.store, HERE, ANYTHING, 10).found
    assert (change.document.version, change.differences) == (2, None)


class Old:
    """Documents of a store that was written before there was a limit; counts requests and rows."""

    def __init__(self, store):
        self.store, self.requests, self.rows = store, 0, 0

    def _counted(self, found):
        self.requests, self.rows = self.requests + 1, self.rows + len(found)
        return found

    def documents(self, source):
        return self._counted(self.store.documents(source))

    def document_history(self, *given):
        return self._counted(self.store.document_history(*given))


class New(Old):
    """The same of a store that knows of it."""

    def documents(self, source, limit=None):
        return self._counted(self.store.documents(source, limit))


def put(store, source, name, versions=1):
    for seen in range(versions):
        said = {"name": name, "seen": seen, "content": "[]", "author": "a", "comment": "c", "op": f"{name} {seen}"}
        assert store.set_document(SetDocument(source=source, **said))


def looked(store, sources, meant, kind, monkeypatch):
    kept = kind(store)
    monkeypatch.setattr(changes, "parts_of", lambda _: Mock(documents=kept))
    return newest_changes(store, sources, meant, 30), kept


@pytest.mark.parametrize("kind", [Old, New])
@pytest.mark.parametrize(("number", "each"), [(40, 60), (400, 4), (1, 700)])
def test_one_look_reads_so_many_documents_at_most_and_names_the_sources_of_the_others(kind, number, each, monkeypatch):
    store = InMemoryStore()
    sources = [f"s{source:03}|PARTITION" for source in range(number)]
    for source in sources:
        for document in range(each):
            put(store, source, f"rules/d{document}")
    found, kept = looked(store, sources, ANYTHING, kind, monkeypatch)
    assert kept.rows <= 2_000
    assert found.documents <= DOCUMENTS
    unread = set(found.unread)
    assert unread, "not all are read, so it is said"
    assert found.documents >= min(DOCUMENTS, each) - number
    assert {change.document.source for change in found.found} <= set(sources)
    few, _ = looked(store, sources[:3], ANYTHING, kind, monkeypatch)
    assert few.unread == (() if 3 * each <= DOCUMENTS else tuple(sources[:3]))


def test_a_history_that_was_forgotten_counts_as_a_request(monkeypatch):
    store = InMemoryStore()
    for number in range(300):
        put(store, FLIGHTS, f"rules/d{number}", 2)
    store.forget_versions(FLIGHTS, "rules/", store.now() + timedelta(seconds=1))
    found, kept = looked(store, [FLIGHTS], Meant(by="nobody"), New, monkeypatch)
    assert kept.requests == REQUESTS + 1
    assert found.since is not None, "it is said that it ends there"
