"""Mutants of a move to another store: nothing lost, nothing twice, fences go on."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested


def _moved(test: str) -> Tested:
    return Tested(f"tests/integration/transfer/test_transfer.py::test_{test}")


def _kit(test: str) -> Tested:
    return Tested(f"tests/conformance/test_sqlite.py::TestSqlite::test_{test}")


MUTANTS = (
    Mutant(
        "what is moved is due before its time",
        "stores.sql.steps",
        "at_once = life.rank is not Rank.NEW",
        "at_once = True",
        "S8: what waits after a failure is acquired at once",
        _kit("it_is_acquired_when_it_is_due_and_its_fence_goes_on"),
    ),
    Mutant(
        "the output of what was deleted stays behind",
        "leases.moving",
        "            yield Life(key, None, tuple(heads))",
        "            yield from ()",
        "S12: readers miss what was published",
        _moved("what_was_published_is_read_there"),
    ),
    Mutant(
        "a held partition is exported",
        "leases.moving",
        "if held := self._looking.counts()[ASSIGNED]:",
        "if held := 0:",
        "S2: an owner writes into a store that nobody reads any more",
        _moved("only_a_paused_source_at_rest_is_exported"),
    ),
    Mutant(
        "a moved partition is created and never placed",
        "leases.moving",
        "if life.is_fresh:",
        "if life.is_fresh or created:",
        "S3: what was completed is worked on again",
        _moved("every_partition_goes_on_as_it_was"),
    ),
    Mutant(
        "an import does not wait for its pause",
        "transfer.importing",
        "    coordinator.moving.wait_until_paused()\n",
        "",
        "X12: on DynamoDB a partition is taken before it has its life",
        _moved("on_dynamodb_it_waits_until_the_pause_holds"),
    ),
    Mutant(
        "a file without its end is imported",
        "transfer.importing",
        """        raise self._wrong("the file ends here, without its last line: it was cut off")""",
        """        return self._ended({"partitions": len(self._found), "sha256": self._digest.hexdigest()}, b"")""",
        "people: half of a source goes on, and nobody knows",
        _moved("a_file_that_is_not_whole_is_refused_before_anything_is_written"),
    ),
    Mutant(
        "a changed file is imported",
        "transfer.importing",
        "!= (len(self._found), self._digest.hexdigest()):",
        "== (-1, ''):",
        "people: lines that somebody lost on the way are lost for good",
        _moved("a_file_that_is_not_whole_is_refused_before_anything_is_written"),
    ),
)
