"""One Spark task's pass, without Spark: real Arrow batches in, one row out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module

import pyarrow as pa
import pytest

from airflow_coordination.acknowledgments import Accounting, SinkCounts
from airflow_coordination.delivery.dead_letters import DeadLetterFiles
from airflow_coordination.delivery.tally import Tally, added_up
from airflow_coordination.delivery.task_pass import TaskPass
from airflow_coordination.sinks import (
    DELIVERED,
    Answer,
    DataPrepperDeadLetters,
    Guarantee,
    Record,
    SinkTask,
    failed,
    refused,
)
from airflow_coordination.testing.sinks import sink_task


@dataclass
class Collecting:
    """A sink that answers as it is told.

    :param answers: by record id.
    :param too_few: answers that it leaves out.
    """

    answers: dict[int, Answer] = field(default_factory=dict)
    too_few: int = 0
    fails_to_close: bool = False
    where: str | None = None
    bulk_records: int = 2
    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    bulks: list[list[int]] = field(default_factory=list)
    closed: int = 0

    def open(self, task: SinkTask) -> Collecting:
        assert task.schema.names == ["id", "value"]
        return self

    def write(self, records: Sequence[Record]) -> Sequence[Answer]:
        ids = [record["id"] for record in records]
        self.bulks.append(ids)
        return [self.answers.get(each, DELIVERED) for each in ids][self.too_few :]

    def close(self) -> str | None:
        self.closed += 1
        if self.fails_to_close:
            raise OSError("no space left")
        return None


@dataclass
class InColumns(Collecting):
    """A sink that takes columns, but for those in which one of these records is.

    :param odd: their ids.
    """

    odd: tuple[int, ...] = ()
    columns: list[list[int]] = field(default_factory=list)

    def write_columns(self, records: pa.RecordBatch) -> bool:
        ids = records.column("id").to_pylist()
        if set(self.odd) & set(ids):
            return False
        assert records.schema.names == ["id", "value"]
        self.columns.append(ids)
        return True


def batch(ids: Sequence[int], *flags: Sequence[bool]) -> pa.RecordBatch:
    columns = {"id": list(ids), "value": ["v"] * len(ids)}
    return pa.RecordBatch.from_pydict(columns | {f"__deliver_{n}": list(flag) for n, flag in enumerate(flags)})


def run(
    *batches: pa.RecordBatch, sinks, reasons=0, dead_letters=None, aside=None, key=None
) -> tuple[Accounting, Tally]:
    names = tuple(f"s{n}" for n in range(len(sinks)))
    one_pass = TaskPass(sink_task(schema=None), 2, reasons, names, tuple(sinks), dead_letters, aside, key=key)
    [row] = one_pass(iter(batches))
    tally = Tally.from_json(row.column("summary")[0].as_py())
    accounting = tally.accounting(names, [f"r{n}" for n in range(reasons)])
    assert accounting.imbalances() == []
    return accounting, tally


def letters(directory) -> DeadLetterFiles:
    return DeadLetterFiles(str(directory))


ALL, NONE = [True] * 4, [False] * 4


def test_s13_each_record_goes_where_its_conditions_say():
    first, second = Collecting(), Collecting()
    drop = [True, False, False, False]
    found, _ = run(batch(range(4), drop, ALL, [True, True, False, False]), sinks=[first, second], reasons=1)
    assert (first.bulks, second.bulks) == ([[1, 2], [3]], [[1]])
    assert found == Accounting(
        read=4,
        delivered_everywhere=3,
        dropped={"r0": 1},
        sinks={"s0": SinkCounts(3, 3), "s1": SinkCounts(1, 1)},
    )


NO = [False] * 3
ONE = batch([1], [False], [False], [True])
LOOKED_AT = {
    "apart": ([batch([1, 2, 3], NO, NO, [True] * 3)], False),
    "twice": ([batch([1, 2, 1], NO, NO, [True] * 3)], True),
    "null": ([batch([1, None, 3], NO, NO, [True] * 3)], True),
    "one of two is dropped": ([batch([1, 2, 1], [True, False, False], NO, [True] * 3)], False),
    "one of two is set aside": ([batch([1, 2, 1], NO, [True, False, False], [True] * 3)], False),
    "one of two goes nowhere": ([batch([1, 2, 1], NO, NO, [True, True, False])], False),
    "more than one batch": ([batch([1, 2, 3], NO, NO, [True] * 3), batch([4], [False], [False], [True])], True),
    "empty batches beside it": ([ONE.slice(1), ONE, ONE.slice(1)], False),
    "nothing": ([], False),
}


@pytest.mark.parametrize(("batches", "held_back"), LOOKED_AT.values(), ids=LOOKED_AT)
def test_s13_a_task_that_looks_at_keys_delivers_nothing_before_it_has_seen_all(tmp_path, batches, held_back):
    """Of two records with one key the later wins unseen, and nobody takes back what a sink has got."""
    sink = Collecting()
    more = {"reasons": 1, "dead_letters": letters(tmp_path), "aside": "bad"}
    found, tally = run(*batches, sinks=[sink], key=0, **more)
    assert tally.held_back is held_back
    assert added_up([tally, Tally([0], [0])], 1, 1).held_back is held_back
    if held_back:
        assert (sink.bulks, found, tally.dead_letter_files) == (
            [],
            Accounting(sinks={"s0": SinkCounts(0)}, dropped={"r0": 0}),
            [],
        )
    else:
        assert found.read == sum(each.num_rows for each in batches)
        assert run(*batches, sinks=[Collecting()], **more)[0] == found, "as without the look"


def test_s13_a_key_that_two_sinks_are_owed_in_turn_is_there_twice():
    """One record for each of two sinks: what they are owed together counts, as where Spark looks."""
    one, other = Collecting(), Collecting()
    batches = [batch([1, 1], [True, False], [False, True])]
    assert run(*batches, sinks=[one, other], key=0)[1].held_back
    assert (one.bulks, other.bulks) == ([], [])


def test_s13_columns_that_are_not_taken_are_asked_about_as_records(tmp_path):
    """A bulk in which one record is refused: only that one is a dead letter, in the place of no other."""
    sink, other = InColumns(odd=(5,), answers={5: refused("bad date")}), Collecting()
    drop, even = [False] * 7 + [True], [each % 2 == 0 for each in range(8)]
    place = letters(tmp_path)
    found, tally = run(batch(range(8), drop, [True] * 8, even), sinks=[sink, other], reasons=1, dead_letters=place)
    assert (sink.columns, sink.bulks, other.bulks) == ([[0, 1], [2, 3], [6]], [[4, 5]], [[0, 2], [4, 6]])
    assert found == Accounting(
        read=8,
        dropped={"r0": 1},
        dead_lettered=1,
        delivered_everywhere=6,
        sinks={"s0": SinkCounts(7, 6, 1), "s1": SinkCounts(4, 4)},
    )
    [file] = tally.dead_letter_files
    assert [json.loads(line)["key"] for line in (tmp_path / file).read_text().splitlines()] == ["5"]


def test_s13_only_the_rows_that_are_owed_are_given_as_columns():
    sink = InColumns(bulk_records=3)
    found, _ = run(batch(range(8), [each not in (2, 3) for each in range(8)]), sinks=[sink])
    assert (sink.columns, sink.bulks) == ([[0, 1, 4], [5, 6, 7]], [])
    assert (found.unrouted, found.sinks) == (2, {"s0": SinkCounts(6, 6)})


def test_s13_a_sink_that_is_away_is_not_given_columns_again():
    sink = InColumns(odd=(0,), answers={0: failed("503"), 1: failed("503")})
    found, _ = run(batch(range(4), ALL), sinks=[sink])
    assert (sink.columns, sink.bulks, found.failed) == ([], [[0, 1]], 4)


def test_a_record_is_dropped_once_for_the_first_reason_that_holds():
    found, _ = run(batch(range(4), ALL, [True, False, True, False], ALL), sinks=[Collecting()], reasons=2)
    assert (found.dropped, found.delivered_everywhere) == ({"r0": 4, "r1": 0}, 0)


def test_s13_unrouted_is_done_by_that_name():
    found, _ = run(batch(range(4), NONE), sinks=[Collecting()])
    assert (found.unrouted, found.done) == (4, 4)


def test_s13_one_refusal_makes_the_record_failed_and_only_it():
    sinks = [Collecting(answers={2: refused("bad date")}), Collecting()]
    found, tally = run(batch(range(4), ALL, ALL), sinks=sinks)
    assert (found.failed, found.delivered_everywhere) == (1, 3)
    assert found.sinks == {"s0": SinkCounts(4, 3, 0, 1), "s1": SinkCounts(4, 4)}
    assert tally.errors == {0: "bad date"}


def test_s13_a_refusal_is_done_once_it_is_a_dead_letter(tmp_path):
    sinks = [Collecting(answers={2: refused("bad date")}), Collecting(answers={2: refused("too long")})]
    found, tally = run(batch(range(4), ALL, ALL), sinks=sinks, dead_letters=DeadLetterFiles(str(tmp_path)))
    assert (found.failed, found.dead_lettered, found.delivered_everywhere) == (0, 1, 3)
    [file] = tally.dead_letter_files
    letters = [json.loads(line) for line in (tmp_path / file).read_text().splitlines()]
    assert [(each["key"], each["sink"], each["reason"]) for each in letters] == [
        ("2", "s0", "bad date"),
        ("2", "s1", "too long"),
    ]
    assert json.loads(letters[0]["record"]) == {"id": 2, "value": "v"}


def test_s13_a_dead_letter_by_condition_goes_to_no_sink_and_a_dropped_record_is_none(tmp_path):
    sink, drop, malformed = Collecting(), [True, False, False, False], [True, True, False, False]
    place = DeadLetterFiles(str(tmp_path))
    found, tally = run(batch(range(4), drop, malformed, ALL), sinks=[sink], reasons=1, dead_letters=place, aside="bad")
    assert sink.bulks == [[2, 3]]
    assert found == Accounting(
        read=4, dropped={"r0": 1}, dead_lettered=1, delivered_everywhere=2, sinks={"s0": SinkCounts(2, 2)}
    )
    [file] = tally.dead_letter_files
    [letter] = [json.loads(line) for line in (tmp_path / file).read_text().splitlines()]
    assert (letter["key"], letter["sink"], letter["reason"]) == ("1", "dead_letters", "bad")


def test_s13_dead_letters_by_condition_that_cannot_be_written_are_failures(tmp_path):
    (tmp_path / "file").write_text("")
    place = DeadLetterFiles(str(tmp_path / "file"))
    found, tally = run(batch(range(4), [True] * 3 + [False], ALL), sinks=[None], dead_letters=place, aside="bad")
    assert (found.failed, found.dead_lettered, found.delivered_everywhere) == (3, 0, 1)
    assert found.sinks == {"s0": SinkCounts(1, 1)}
    assert set(tally.errors) == {-1}


def test_s13_a_sink_that_is_away_makes_no_dead_letters(tmp_path):
    """Its records will be taken another time."""
    sinks = [Collecting(answers={each: failed("429") for each in range(4)})]
    found, tally = run(batch(range(4), ALL), sinks=sinks, dead_letters=DeadLetterFiles(str(tmp_path)))
    assert (found.failed, tally.dead_letter_files, tally.errors) == (4, [], {0: "429"})
    assert sinks[0].bulks == [[0, 1]], "after its patience is over it is not asked for every further bulk"


def told(value: str) -> Answer:
    """What OpenSearch says of one record: its own value is in it."""
    return refused(f"400 failed to parse field [value] of type [date] in document's id '{value}'. Preview: '{value}x'")


@pytest.mark.parametrize("size", [10, 1], ids=["a whole bulk", "ten bulks of one"])
@pytest.mark.parametrize("place", [DeadLetterFiles, DataPrepperDeadLetters])
def test_d6_what_every_record_is_refused_for_is_the_sink_s_fault(tmp_path, size, place):
    """It took the first 20; the index was closed then. Nothing becomes a dead letter, and it is asked no more."""
    closed = Collecting(answers={each: told(str(each)) for each in range(20, 40)}, bulk_records=size)
    other = Collecting(answers={3: refused("bad date")})
    where = place(str(tmp_path))
    found, tally = run(batch(range(40), [True] * 40, [True] * 40), sinks=[closed, other], dead_letters=where)
    assert (found.failed + found.dead_lettered, found.sinks["s0"].delivered) == (21, 20)
    assert sum(map(len, closed.bulks)) == 30
    assert tally.errors[0].startswith("it refuses every record for one reason, which is no record's fault: 400 failed")
    tally.judge()
    found = tally.accounting(["s0", "s1"], [])
    assert (found.failed, found.dead_lettered, tally.dead_letter_files) == (21, 0, [])
    assert found.imbalances() == []


def test_d6_a_sink_that_took_nothing_for_one_reason_is_to_blame_however_few_records_there_are(tmp_path):
    tallies = []
    for start in (0, 2):
        sink = Collecting(answers={each: told(str(each)) for each in range(4)})
        tallies.append(run(batch(range(start, start + 2), [True] * 2), sinks=[sink], dead_letters=letters(tmp_path))[1])
    assert [each.accounting(["s0"], []).dead_lettered for each in tallies] == [2, 2]
    total = added_up(tallies, 1, 0)
    total.judge()
    assert (total.accounting(["s0"], []).failed, total.dead_letter_files) == (4, [])
    assert total.errors[0].startswith("it refuses every record for one reason, which is no record's fault: 400 failed")


@pytest.mark.parametrize(
    "answers",
    [
        {0: told("0")},
        {each: told(str(each)) for each in range(99)},
        {each: refused(f"bad {'date' if each else 'number'}") for each in range(100)},
    ],
    ids=["one of all", "all but one", "two reasons"],
)
def test_d6_what_is_refused_for_itself_is_a_dead_letter(tmp_path, answers):
    sink = Collecting(answers=answers, bulk_records=100)
    found, tally = run(batch(range(100), [True] * 100), sinks=[sink], dead_letters=letters(tmp_path))
    tally.judge()
    assert (found.failed, found.dead_lettered, len(tally.dead_letter_files)) == (0, len(answers), 1)


def test_d7_a_value_that_cannot_be_converted_is_one_dead_letter(tmp_path):
    """A time beyond the year 9999 failed the Spark task, and so all records of it, each time."""
    times = pa.array([253_402_300_800_000_000 if each == 42 else 0 for each in range(100)], pa.int64())
    columns = {"id": list(range(100)), "value": times.cast(pa.timestamp("us")), "__deliver_0": [True] * 100}
    found, tally = run(pa.RecordBatch.from_pydict(columns), sinks=[Collecting()], dead_letters=letters(tmp_path))
    tally.judge()
    assert (found.sinks["s0"].delivered, found.dead_lettered, found.failed) == (99, 1, 0)
    [letter] = lines(tmp_path / tally.dead_letter_files[0])
    assert (letter["key"], letter["reason"].startswith("column 'value': ")) == ("42", True)
    kept = {"unreadable": letter["reason"].removeprefix("column 'value': "), "raw": "253402300800000000"}
    assert json.loads(letter["record"]) == {"id": 42, "value": kept}
    assert json.loads(letter["unreadable"]) == {"value": kept["unreadable"]}


def lines(file) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_d7_a_value_that_looks_like_one_that_cannot_be_converted_is_a_value(tmp_path):
    """Beside the record a letter says which values could not be read; what is in it may look like anything."""
    alike = {"unreadable": "no", "raw": "x"}
    columns = {"id": [1], "value": [alike], "__deliver_0": [True]}
    sinks = [Collecting(answers={1: refused("bad")})]
    _, tally = run(pa.RecordBatch.from_pydict(columns), sinks=sinks, dead_letters=letters(tmp_path))
    [letter] = lines(tmp_path / tally.dead_letter_files[0])
    assert (json.loads(letter["record"])["value"], letter["unreadable"]) == (alike, None)


def test_d7_a_key_that_cannot_be_converted_is_no_key(tmp_path):
    keys = pa.array([b"good", b"\xff"]).view(pa.string())
    columns = {"id": keys, "value": ["v"] * 2, "__deliver_0": [True] * 2}
    found, tally = run(pa.RecordBatch.from_pydict(columns), sinks=[Collecting()], dead_letters=letters(tmp_path))
    [letter] = lines(tmp_path / tally.dead_letter_files[0])
    assert (found.sinks["s0"].delivered, letter["key"], list(json.loads(letter["unreadable"]))) == (1, None, ["id"])


def test_d6_one_record_alone_tells_nothing_about_its_sink(tmp_path):
    found, tally = run(batch([7], [True]), sinks=[Collecting({7: told("7")})], dead_letters=letters(tmp_path))
    tally.judge()
    assert (found.dead_lettered, len(tally.dead_letter_files)) == (1, 1)


@pytest.mark.parametrize("as_it", ["open", "write"])
def test_b4_a_library_that_executors_lack_is_told_as_such(monkeypatch, as_it):
    lacking = Collecting()
    monkeypatch.setattr(lacking, as_it, lambda _: import_module("a_library_of_the_driver_alone"))
    accounting, tally = run(batch([1, 2], [True, True], [True, True]), sinks=[Collecting(), lacking])
    assert accounting.sinks["s1"] == SinkCounts(owed=2, failed=2)
    assert tally.missing == {1: "a_library_of_the_driver_alone"}
    assert added_up([Tally([0, 0], []), Tally.from_json(tally.to_json())], 2, 0).missing == tally.missing


def test_s13_fewer_answers_than_records_are_none():
    found, tally = run(batch(range(4), ALL), sinks=[Collecting(too_few=1)])
    assert (found.failed, found.sinks["s0"].delivered) == (4, 0)
    assert tally.errors == {0: "the sink answered for 1 of 2 records"}


def test_s13_a_sink_that_cannot_be_closed_has_delivered_nothing():
    sinks = [Collecting(fails_to_close=True), Collecting()]
    found, tally = run(batch(range(4), [True, True, False, False], ALL), sinks=sinks)
    assert (found.failed, found.sinks) == (2, {"s0": SinkCounts(2, 0, 0, 2), "s1": SinkCounts(4, 4)})
    assert tally.errors == {0: "OSError: no space left"}
    assert sinks[1].closed == 1


def test_s13_dead_letters_that_cannot_be_written_are_failures(tmp_path):
    (tmp_path / "file").write_text("")
    sinks = [Collecting(answers={2: refused("bad date"), 3: refused("bad date")})]
    place = DeadLetterFiles(str(tmp_path / "file"))
    found, tally = run(batch(range(4), ALL), sinks=sinks, dead_letters=place)
    assert (found.failed, found.dead_lettered) == (2, 0)
    assert "write a file" in tally.errors[-1]


class FullDisk(DeadLetterFiles):
    """Takes every letter, and cannot store the file."""

    def open(self, task: SinkTask):
        writer = super().open(task)

        def close() -> None:
            raise OSError("no space left on device")

        writer.close = close
        return writer


def test_s13_dead_letters_that_cannot_be_stored_are_failures(tmp_path):
    sinks = [Collecting(answers={2: refused("bad date")}), Collecting()]
    found, tally = run(batch(range(4), ALL, ALL), sinks=sinks, dead_letters=FullDisk(str(tmp_path)))
    assert (found.failed, found.dead_lettered, found.sinks["s0"]) == (1, 0, SinkCounts(4, 3, 0, 1))
    assert (tally.dead_letter_files, tally.errors[-1]) == ([], "OSError: no space left on device")


def test_a_block_is_owed_and_not_written_here():
    found, _ = run(batch(range(4), ALL, NONE), sinks=[None, Collecting()])
    assert found.sinks == {"s0": SinkCounts(4, 4), "s1": SinkCounts()}


def test_a_task_without_records_counts_nothing():
    sink = Collecting()
    found, _ = run(sinks=[sink])
    assert (found, sink.closed) == (Accounting(sinks={"s0": SinkCounts()}), 0)


def test_accepted_tasks_add_up():
    tallies = []
    for start in range(3):
        sinks = [Collecting(answers={1: refused(f"bad {start}")})]
        tallies.append(run(batch(range(start, start + 4), ALL), sinks=sinks)[1])
    total = added_up(tallies, 1, 0)
    assert total.accounting(["s0"], []).sinks["s0"] == SinkCounts(12, 10, 0, 2)
    assert total.errors == {0: "bad 0"}


def test_an_answer_keeps_a_short_printable_reason():
    assert refused("a\nb" + "x" * 400).reason == "a\\nb" + "x" * 296
    assert len(failed("x" * 400).reason) == 300


@pytest.mark.parametrize("number", [0, 7])
def test_all_eight_sinks_fit(number):
    sinks = [Collecting(answers={1: refused("bad")} if n == number else {}) for n in range(8)]
    found, _ = run(batch(range(4), *[ALL] * 8), sinks=sinks)
    assert found.sinks[f"s{number}"] == SinkCounts(4, 3, 0, 1)
    assert found.failed == 1
