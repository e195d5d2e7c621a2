"""The sink conformance kit: what every sink of ``lease.deliver``, also one from outside, must do.

Subclass :class:`SinkConformance` in a test module of yours and give it two fixtures: ``sink``, new and empty, for
records with the columns ``id`` (int64) and ``value`` (text), and ``stored``, a function that returns what is in it::

    class TestMySink(SinkConformance):
        @pytest.fixture
        def sink(self, queue):
            return MySink(queue)

        @pytest.fixture
        def stored(self, queue):
            return lambda: {message["id"]: message["value"] for message in queue}

``stored`` returns one value for each id, or a list of pairs where a sink keeps every delivery.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from airflow_coordination.systems.sink import (
    DELIVERED,
    AcceptingSink,
    Answer,
    AnswerKind,
    CheckingSink,
    Guarantee,
    Record,
    Sink,
    SinkTask,
)

Stored = Callable[[], Mapping[int, str] | Sequence[tuple[int, str]]]


def sink_task(**changes: Any) -> SinkTask:
    """Return a Spark task of the first owner of a partition, as sinks see it."""
    import pyarrow as pa

    schema = pa.schema([("id", pa.int64()), ("value", pa.string())])
    task = SinkTask(
        key="id",
        source="s",
        partition="p",
        partition_id="store/s/p",
        token=1,
        fence="1-aaaa",
        delivery="d1",
        attempt="a1",
        schema=schema,
    )
    return replace(task, **changes)


def deliver(sink: Sink, records: Sequence[Record], task: SinkTask | None = None) -> Sequence[Answer]:
    """Deliver one bulk as one accepted Spark task does, and return the answers."""
    task = task or sink_task()
    writer = sink.open(task)
    answers = writer.write(records)
    note = writer.close()
    if isinstance(sink, AcceptingSink):
        sink.accept(task.delivery, [] if note is None else [note])
    return answers


def _records(*ids: int, value: str = "new") -> list[Record]:
    return [{"id": each, "value": value} for each in ids]


class SinkConformance:
    """Subclass it, and give it ``sink`` and ``stored``."""

    bad_record: ClassVar[Record | None] = None
    """A record that the sink refuses for good, if there is such a thing."""

    @pytest.fixture
    def sink(self) -> Sink:
        """Return a new, empty sink."""
        raise NotImplementedError("give the kit a sink")

    @pytest.fixture
    def stored(self) -> Stored:
        """Return a function that returns what is in the sink."""
        raise NotImplementedError("give the kit a function that reads the sink")

    def test_it_can_be_pickled(self, sink: Sink, stored: Stored) -> None:
        """Executors get a copy."""
        deliver(pickle.loads(pickle.dumps(sink)), _records(1))
        assert dict(stored()) == {1: "new"}

    def test_it_says_how_it_is_to_be_used(self, sink: Sink) -> None:
        """The runner reads these."""
        assert sink.where is None or isinstance(sink.where, str)
        assert sink.bulk_records >= 1
        assert isinstance(sink.guarantee, Guarantee)
        if isinstance(sink, CheckingSink):
            sink.check(["id", "value"], "id")

    def test_s13_every_record_is_answered_and_there(self, sink: Sink, stored: Stored) -> None:
        """In the order of the records; several bulks and none."""
        writer = sink.open(sink_task())
        answers = [*writer.write(_records(*range(50))), *writer.write(_records(50))]
        note = writer.close()
        if isinstance(sink, AcceptingSink):
            sink.accept("d1", [] if note is None else [note])
        assert [each.kind for each in answers] == [AnswerKind.DELIVERED] * 51
        assert sorted(dict(stored())) == list(range(51))

    def test_a_task_without_records_leaves_nothing(self, sink: Sink, stored: Stored) -> None:
        """A Spark task may be owed nothing."""
        deliver(sink, [])
        assert len(stored()) == 0

    def test_a_record_that_is_refused_stops_no_other(self, sink: Sink, stored: Stored) -> None:
        """One answer for each record; the reason is short."""
        if self.bad_record is None:
            pytest.skip("this sink refuses nothing")
        answers = deliver(sink, [*_records(1, 2), self.bad_record, *_records(4)])
        refused = AnswerKind.REFUSED
        assert [each.kind for each in answers] == [*[AnswerKind.DELIVERED] * 2, refused, AnswerKind.DELIVERED]
        assert 0 < len(answers[2].reason) <= 300
        assert sorted(dict(stored())) == [1, 2, 4]

    def test_s13_what_comes_again_takes_its_own_place(self, sink: Sink, stored: Stored) -> None:
        """Idempotent: a Spark task that is retried, an owner that is replaced."""
        if sink.guarantee is Guarantee.AT_LEAST_ONCE:
            pytest.skip("this sink promises no more than at least once")
        deliver(sink, _records(1, 2, value="old"))
        deliver(sink, _records(2, 3), sink_task(attempt="a2"))
        deliver(sink, _records(3), sink_task(token=2, fence="2-bbbb"))
        assert sorted(_pairs(stored())) == [(1, "old"), (2, "new"), (3, "new")]

    def test_s13_a_zombie_overwrites_nothing(self, sink: Sink, stored: Stored) -> None:
        """Fenced: what the successor wrote stays, and the zombie is told for each record."""
        if sink.guarantee is not Guarantee.FENCED:
            pytest.skip("this sink is not fenced")
        deliver(sink, _records(1, 2, value="successor's"), sink_task(token=8, fence="8-bbbb"))
        answers = deliver(sink, _records(1, 3, 2, value="zombie's"), sink_task(token=7, fence="7-aaaa"))
        assert [each.kind for each in answers] == [AnswerKind.FAILED, AnswerKind.DELIVERED, AnswerKind.FAILED]
        assert dict(stored()) == {1: "successor's", 2: "successor's", 3: "zombie's"}
        assert list(deliver(sink, _records(3), sink_task(token=8, fence="8-bbbb"))) == [DELIVERED]
        assert dict(stored())[3] == "new"

    def test_s13_a_task_that_was_not_accepted_is_not_seen(self, sink: Sink, stored: Stored) -> None:
        """For sinks whose work counts only for accepted tasks."""
        if not isinstance(sink, AcceptingSink):
            pytest.skip("what this sink's tasks write is there at once")
        notes = []
        for attempt in ("lost", "accepted"):
            writer = sink.open(sink_task(attempt=attempt))
            writer.write(_records(1, value=attempt))
            notes.append(writer.close())
        assert len(stored()) == 0
        sink.accept("d1", [note for note in notes[1:] if note])
        assert _pairs(stored()) == [(1, "accepted")]


def _pairs(stored: Mapping[int, str] | Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    return list(stored.items() if isinstance(stored, Mapping) else stored)
