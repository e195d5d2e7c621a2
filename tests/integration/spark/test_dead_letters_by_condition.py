"""``DeadLetters(where=…)`` on real Spark: what is known to be malformed goes to no sink, and is counted (S13)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_coordination.acknowledgments import SinkCounts
from airflow_coordination.delivery import delivery
from airflow_coordination.delivery.counting import SUMS
from airflow_coordination.leases import InvalidInputError, PartitionStatus
from airflow_coordination.outputs import published_accounting
from airflow_coordination.sinks import DataPrepperDeadLetters
from airflow_coordination.spark import Complete, DeadLetters, Publish
from tests.integration.spark.one_partition import coordinator, run, store
from tests.integration.spark.test_deliver import ROWS, Journal, deliver, journal, once, published, written

__all__ = ["coordinator", "deliver", "journal", "once", "published", "run", "store"]

ODD = DeadLetters("dead", where="k % 2 = 1")
BY_ODD = "dead_letters.where: k % 2 = 1"


def letters(published) -> list[tuple]:
    return sorted((row.key, row.sink, row.reason, json.loads(row.record)["k"]) for row in published("dead"))


@pytest.fixture(params=[False, True], ids=["blocks only", "another sink"])
def sinks(request, journal):
    """A block, alone or beside a sink that executors write to: the two ways of counting."""
    return {"clean": Publish("clean")} | ({"journal": Journal(str(journal))} if request.param else {})


def test_s13_what_the_condition_holds_for_goes_there_and_to_no_sink(
    deliver, published, journal, coordinator, sinks
) -> None:
    done = deliver(ROWS, sinks, dead_letters=ODD)["done"]
    counts = done.accounting
    assert (done.positive, done.problems) == (True, ())
    assert (counts.read, counts.dead_lettered, counts.delivered_everywhere, counts.unrouted) == (10, 5, 5, 0)
    assert counts.sinks == {name: SinkCounts(5, 5) for name in sinks}, "no sink was owed what is set aside"
    assert letters(published) == [(str(k), "dead_letters", BY_ODD, k) for k in (1, 3, 5, 7, 9)]
    assert sorted(row.k for row in published("clean")) == [0, 2, 4, 6, 8]
    assert written(journal) == ([0, 2, 4, 6, 8] if "journal" in sinks else [])
    partition = coordinator.partition("p")
    assert (partition.status, partition.accounting) == (PartitionStatus.COMPLETED, counts)
    assert published_accounting(coordinator.store, "s", "dead").dead_lettered == 5


def test_s13_drop_comes_before_it_and_it_before_the_sinks(deliver, published, journal, sinks) -> None:
    drop = {"small": "k < 4", "nine": "k = 9"}
    counts = deliver(ROWS, sinks, drop=drop, dead_letters=ODD)["done"].accounting
    assert (counts.read, counts.dropped, counts.dead_lettered) == (10, {"small": 4, "nine": 1}, 2)
    assert [letter[0] for letter in letters(published)] == ["5", "7"]
    assert sorted(row.k for row in published("clean")) == [4, 6, 8]


def test_a_condition_that_is_null_does_not_hold(deliver, published, sinks) -> None:
    """As those of drop and of sinks: the fourth record has no ``v``."""
    place = DeadLetters("dead", where="v <> 'v' or k = 9 and v is not null")
    counts = deliver(ROWS, sinks, dead_letters=place)["done"].accounting
    assert (counts.dead_lettered, counts.delivered_everywhere) == (1, 9)
    assert [letter[0] for letter in letters(published)] == ["9"]


def test_s13_a_record_that_is_refused_goes_there_too_under_the_name_of_its_sink(deliver, published, journal) -> None:
    refusing = {"clean": Publish("clean"), "search": Journal(str(journal), refuses=(4,))}
    counts = deliver(ROWS, refusing, dead_letters=ODD)["done"].accounting
    assert (counts.dead_lettered, counts.delivered_everywhere) == (6, 4)
    assert counts.sinks == {"clean": SinkCounts(5, 5), "search": SinkCounts(5, 4, 1)}
    assert [(key, sink) for key, sink, *_ in letters(published)] == [
        ("1", "dead_letters"),
        ("3", "dead_letters"),
        ("4", "search"),
        ("5", "dead_letters"),
        ("7", "dead_letters"),
        ("9", "dead_letters"),
    ]


def test_s13_data_prepper_s_form_has_them_too(deliver, tmp_path, sinks) -> None:
    place = DataPrepperDeadLetters(str(tmp_path / "dlq"), where="k > 7")
    done = deliver(ROWS, sinks, dead_letters=place)["done"]
    assert (done.positive, done.accounting.dead_lettered, done.accounting.delivered_everywhere) == (True, 2, 8)
    files = list((tmp_path / "dlq").glob("dlq-v2-s_PARTITION-dead_letters-*.json"))
    found = [each for file in files for each in json.loads(file.read_text())["dlqObjects"]]
    assert sorted(each["failedData"]["document"]["k"] for each in found) == [8, 9]
    assert {(each["pluginId"], each["failedData"]["message"]) for each in found} == {
        ("dead_letters", "dead_letters.where: k > 7")
    }


def test_s13_what_cannot_be_stored_has_failed(deliver, tmp_path, coordinator, sinks, monkeypatch) -> None:
    monkeypatch.setattr(DataPrepperDeadLetters, "check", lambda *_: None)  # it could be used a moment ago
    (tmp_path / "file").write_text("")
    done = deliver(ROWS, sinks, dead_letters=DataPrepperDeadLetters(str(tmp_path / "file"), where="k > 7"))["done"]
    assert (done.positive, done.accounting.failed, done.accounting.dead_lettered) == (False, 2, 0)
    [problem] = done.problems
    assert problem.startswith("dead letters could not be written: ")
    assert (coordinator.partition("p").failures, coordinator.partition("p").accounting) == (1, None)


def test_s13_malformed_lines_of_text_are_set_aside_whole(deliver, spark, tmp_path, published, coordinator) -> None:
    """Of a line that is no JSON nothing is known but its text: no key, too."""
    (tmp_path / "in.json").write_text('{"k": 1, "v": "a"}\n{no record\n{"k": 3, "v": "c"}\n')
    schema = "k bigint, v string, malformed string"
    records = spark.read.json(str(tmp_path / "in.json"), schema=schema, columnNameOfCorruptRecord="malformed")
    place = DeadLetters("dead", where="malformed is not null")
    done = deliver(records, {"clean": Publish("clean")}, dead_letters=place)["done"]
    assert done.positive, done.problems
    assert (done.accounting.delivered_everywhere, done.accounting.dead_lettered) == (2, 1)
    [letter] = published("dead")
    assert (letter.key, letter.sink) == (None, "dead_letters")
    assert json.loads(letter.record) == {"k": None, "v": None, "malformed": "{no record"}


def test_letters_without_and_with_keys_are_one_dataset(run, spark, published) -> None:
    def main(spark, lease):
        for rows in ([(None, "x")], [(7, "x")]):
            frame = spark.createDataFrame(rows, "k bigint, v string")
            place = DeadLetters("dead", mode="append", where="v = 'x'")
            lease.deliver(frame, "k", {"clean": Publish("clean", mode="append")}, dead_letters=place)
            lease.save({"rows": len(rows)})
        return Complete()

    assert run(main).completed == 1
    assert {row.key for row in published("dead")} == {None, "7"}


def test_s13_two_hands_count_what_is_set_aside(deliver, once, coordinator, monkeypatch) -> None:
    """Spark counts it by the condition; then the condition does not hold any more, and nothing is written."""

    def write_nothing(self, flagged, name) -> None:
        """Stand in for all that is noted as a block is written."""
        self._rows[name], self._sums[name] = 0, [0] * len(SUMS)

    monkeypatch.setattr(delivery.Delivery, "_publish", write_nothing)
    done = deliver(once, {"some": Publish("some", where="false")}, dead_letters=DeadLetters("dead", where="r"))["done"]
    assert not done.positive
    assert done.problems[0].startswith("the counts do not balance: read 1 ≠ delivered everywhere 0 + dropped 0 + ")
    assert coordinator.partition("p").failures == 1


def test_s13_without_any_such_record_no_python_is_asked(deliver, spark, monkeypatch) -> None:
    monkeypatch.setattr(type(spark.range(1)), "mapInArrow", None)
    done = deliver(ROWS, {"clean": Publish("clean")}, dead_letters=DeadLetters("dead", where="k > 100"))["done"]
    assert (done.positive, done.accounting.dead_lettered) == (True, 0)


def test_s13_what_a_lost_attempt_set_aside_is_no_dead_letter(deliver, published, monkeypatch) -> None:
    """A file that no accepted summary names, in the directory of the dead letters, where Spark alone counts."""
    real = delivery.Delivery._on_executors

    def with_a_zombie(self, flagged, dead_letters):
        Path(dead_letters.directory).mkdir(parents=True, exist_ok=True)
        (Path(dead_letters.directory) / "part-zombie.json").write_text('{"key":"99"}\n')
        return real(self, flagged, dead_letters)

    monkeypatch.setattr(delivery.Delivery, "_on_executors", with_a_zombie)
    assert deliver(ROWS, {"clean": Publish("clean")}, dead_letters=ODD)["done"].positive
    assert [letter[0] for letter in letters(published)] == ["1", "3", "5", "7", "9"]


def test_keys_of_what_is_set_aside_may_be_null(deliver, journal) -> None:
    rows, place = [(1, "a"), (None, "bad"), (None, "bad")], DeadLetters("dead", where="v = 'bad'")
    done = deliver(rows, {"journal": Journal(str(journal))}, dead_letters=place)["done"]
    assert (done.positive, done.accounting.dead_lettered, written(journal)) == (True, 2, [1])


@pytest.mark.parametrize(
    ("where", "problem"),
    [
        ("nothing = 1", "dead_letters.where='nothing = 1': cannot be evaluated: "),
        ("", "dead_letters.where='': cannot be evaluated: "),
        ("k + 1", r"dead_letters.where='k \+ 1': is bigint, not boolean. Give an SQL expression"),
        (7, "dead_letters.where=7: is int, not text. Give an SQL expression over the records' columns"),
    ],
)
@pytest.mark.parametrize("place", [DeadLetters, DataPrepperDeadLetters])
def test_bad_conditions_are_named(deliver, tmp_path, place, where, problem) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        raise deliver(ROWS, {"a": Publish("x")}, dead_letters=place(str(tmp_path / "dead"), where=where))["error"]


@pytest.mark.parametrize(
    ("name", "place", "problem"),
    [
        ("a", "dead", "dead_letters='dead': is no place for dead letters. Give DeadLetters"),
        ("dead_letters", ODD, "sinks='dead_letters': is what dead letters by dead_letters.where name as their sink"),
    ],
)
def test_bad_places_are_named(deliver, name, place, problem) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        raise deliver(ROWS, {name: Publish("x")}, dead_letters=place)["error"]
