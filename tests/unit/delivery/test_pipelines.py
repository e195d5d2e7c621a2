"""Data Prepper's twelve ``PipelinesWithAcks`` cases: what its pipelines do to a set, done to ours.

Also their dead letters (scenario 40) and their failing processors (41).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from airflow_coordination.acknowledgments import AcknowledgmentSet
from airflow_coordination.testing.clock import FakeClock

Record = int


@dataclass
class Sink:
    """Takes records; releases each, unless it is one that hangs.

    :param accepts: whether a record is delivered.
    :param dead_letters: where the others go: ``None`` if there is no such place, and whether it can be written.
    """

    accepts: Callable[[Record], bool] = lambda _: True
    where: Callable[[Record], bool] = lambda _: True
    dead_letters: bool | None = None
    hangs: bool = False
    got: list[Record] = field(default_factory=list)

    def take(self, record: Record, acks: AcknowledgmentSet) -> None:
        if self.hangs:
            return
        delivered = self.accepts(record)
        if delivered:
            self.got.append(record)
        acks.release(record, positive=delivered or bool(self.dead_letters))


@dataclass
class Pipeline:
    """Processors, then routes to sinks or further pipelines."""

    to: Sequence[Sink | Pipeline]
    process: Callable[[Record], Record | None] = lambda record: record
    where: Callable[[Record], bool] = lambda _: True
    default: Sink | None = None

    def take(self, record: Record, acks: AcknowledgmentSet) -> None:
        try:
            kept = self.process(record)
        except Exception:
            acks.release(record, positive=False)  # Data Prepper's is positive: the record is lost
            return
        routes = [each for each in self.to if each.where(record)] if kept is not None else []
        if kept is not None and not routes and self.default:
            routes = [self.default]
        if not routes:  # dropped or unrouted
            acks.release(record)
            return
        if len(routes) > 1:
            acks.acquire(record, len(routes) - 1)
        for route in routes:
            route.take(record, acks)


@pytest.fixture
def deliver(clock: FakeClock):
    def deliver(records: Iterable[Record], *pipelines: Pipeline) -> tuple[list[bool], AcknowledgmentSet]:
        told: list[bool] = []
        acks = AcknowledgmentSet(told.append, timedelta(seconds=10), clock=clock)
        for record in records:
            acks.add(record)
            if len(pipelines) > 1:
                acks.acquire(record, len(pipelines) - 1)
            for pipeline in pipelines:
                pipeline.take(record, acks)
        acks.complete()
        return told, acks

    return deliver


def test_s13_pipelines_1_one_record(deliver):
    sink = Sink()
    assert deliver([1], Pipeline([sink]))[0] == [True]
    assert sink.got == [1]


def test_s13_pipelines_2_a_hundred_records(deliver):
    sink = Sink()
    assert deliver(range(100), Pipeline([sink]))[0] == [True]
    assert sink.got == list(range(100))


def test_s13_pipelines_3_two_in_a_row(deliver):
    sink = Sink()
    assert deliver(range(100), Pipeline([Pipeline([sink])]))[0] == [True]
    assert len(sink.got) == 100


def test_s13_pipelines_4_three_in_a_row(deliver):
    sink = Sink()
    assert deliver(range(100), Pipeline([Pipeline([Pipeline([sink])])]))[0] == [True]
    assert len(sink.got) == 100


def test_s13_pipelines_5_all_unrouted_is_positive(deliver):
    """Scenario 37."""
    sink = Sink(where=lambda _: False)
    assert deliver(range(100), Pipeline([sink]))[0] == [True]
    assert sink.got == []


def test_s13_pipelines_6_routed(deliver):
    even, odd = Sink(where=lambda r: r % 2 == 0), Sink(where=lambda r: r % 2 == 1)
    assert deliver(range(100), Pipeline([even, odd]))[0] == [True]
    assert (len(even.got), len(odd.got)) == (50, 50)


def test_s13_pipelines_7_default_route(deliver):
    """Two pipelines; what the second's routes leave goes to its default: twice the records."""
    first, routed, default = Sink(), Sink(where=lambda r: r < 10), Sink()
    assert deliver(range(100), Pipeline([first]), Pipeline([routed], default=default))[0] == [True]
    assert len(first.got) + len(routed.got) + len(default.got) == 200


def test_s13_pipelines_8_two_side_by_side(deliver):
    first, second = Sink(), Sink()
    assert deliver(range(100), Pipeline([first]), Pipeline([second]))[0] == [True]
    assert first.got == second.got == list(range(100))


def test_s13_pipelines_9_three_with_many_sinks(deliver):
    """Scenario 37: three sinks are three releases each."""
    sinks = [Sink(), Sink(), Sink()]
    inner = Pipeline([sinks[1], sinks[2]])
    told, acks = deliver(range(100), Pipeline([sinks[0], inner]))
    assert (told, acks.pending, sum(len(sink.got) for sink in sinks)) == ([True], 0, 300)


def test_s13_pipelines_10_one_with_three_sinks(deliver):
    sinks = [Sink(), Sink(), Sink()]
    assert deliver(range(100), Pipeline(sinks))[0] == [True]
    assert [len(sink.got) for sink in sinks] == [100, 100, 100]


def test_s13_pipelines_11_expiry_acknowledges_nothing(deliver, clock):
    told, acks = deliver(range(100), Pipeline([Sink(hangs=True)]))
    clock.advance(timedelta(seconds=10))
    acks.look()
    assert told == []


def test_s13_pipelines_12_three_sinks_one_of_them_negative(deliver):
    sinks = [Sink(), Sink(accepts=lambda record: record != 50), Sink()]
    assert deliver(range(100), Pipeline(sinks))[0] == [False]


def test_s13_scenario_37_dropped_records_count_as_success(deliver):
    sink = Sink()
    assert deliver(range(100), Pipeline([sink], process=lambda r: r if r % 10 else None))[0] == [True]
    assert len(sink.got) == 90


@pytest.mark.parametrize(("dead_letters", "result"), [(True, True), (False, False), (None, False)])
def test_s13_scenario_40_dead_letters_count_once_they_are_written(deliver, dead_letters, result):
    sink = Sink(accepts=lambda record: record != 50, dead_letters=dead_letters)
    assert deliver(range(100), Pipeline([sink]))[0] == [result]


def test_s13_scenario_41_an_exception_in_processing_is_negative_mended(deliver):
    """Data Prepper releases the batch positively: its data is lost, and the source is told that all is well."""

    def process(record: Record) -> Record:
        if record == 50:
            raise ValueError("bad record")
        return record

    assert deliver(range(100), Pipeline([Sink()], process=process))[0] == [False]
