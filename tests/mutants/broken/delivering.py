"""Mutants of acknowledgments, sinks and deliveries."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested


def _set(test: str) -> Tested:
    return Tested(f"tests/unit/delivery/test_acknowledgment_set.py::test_s13_{test}")


def _pass6(test: str) -> Tested:
    return Tested(f"tests/unit/delivery/test_task_pass.py::test_d6_{test}")


def _pass(test: str) -> Tested:
    return Tested(f"tests/unit/delivery/test_task_pass.py::test_s13_{test}")


def _table(test: str) -> Tested:
    return Tested(f"tests/integration/sinks/test_postgres.py::{test}", postgresql=True)


def _index(test: str) -> Tested:
    return Tested(f"tests/integration/sinks/test_opensearch.py::{test}")


def _spoilt(test: str) -> Tested:
    return Tested(f"tests/integration/sinks/test_opensearch_faults.py::test_s13_{test}")


def _seen(test: str) -> Tested:
    return Tested(f"tests/unit/delivery/test_observing.py::test_{test}")


MUTANTS = (
    Mutant(
        "a task looks at the number of batches only",
        "delivery.task_pass",
        " or not all(self._are_apart(batch, key) for batch in few)",
        "",
        "S13: of two records with one key the later wins unseen",
        _pass("a_task_that_looks_at_keys_delivers_nothing_before_it_has_seen_all"),
    ),
    Mutant(
        "a task delivers before it has seen all keys",
        "delivery.task_pass",
        "        yield from () if self._tally.held_back else few\n",
        "        yield from chain(few, batches)\n",
        "S13: of two records with one key the later wins unseen",
        _pass("a_task_that_looks_at_keys_delivers_nothing_before_it_has_seen_all"),
    ),
    Mutant(
        "what a write has seen is believed without its footers",
        "delivery.observing",
        "    if got != first.owed:\n",
        "    if False:\n",
        "S13: a stage that was repeated has counted its records twice, and the totals say so",
        _seen("s13_a_task_that_counted_twice_or_not_at_all_is_not_believed"),
    ),
    Mutant(
        "writes that have seen other records agree",
        "delivery.observing",
        "first is None or any(each != first for each in seen)",
        "first is None",
        "S13: a record changes sides between two blocks, is in neither, and counts as delivered",
        _seen("s13_writes_that_have_seen_other_records_are_not_believed"),
    ),
    Mutant(
        "formats without footers count by their writes",
        "delivery.observing",
        " and all(each.format in WITH_FOOTERS for each in blocks)",
        "",
        "S13: Spark's numbers are held against Spark's own",
        _seen("w4_only_blocks_with_footers_count_by_their_writes"),
    ),
    Mutant(
        "other sinks count by the write of a block",
        "delivery.observing",
        "return not routing.external and len(blocks)",
        "return len(blocks)",
        "S13: what a sink was owed is counted as if it had taken it",
        _seen("w4_only_blocks_with_footers_count_by_their_writes"),
    ),
    Mutant(
        "nothing seen is nothing read",
        "delivery.observing",
        "    if any(str(each) not in seen for each in _routes(routing)):\n        return None\n",
        "    seen = {str(each): 0 for each in _routes(routing)} | dict(seen)\n",
        "S13: Spark says nothing of a write, and its records count as none",
        _seen("s13_nothing_seen_is_no_tally_and_no_record_is_one"),
    ),
    Mutant(
        "a dropped record is owed",
        "delivery.counting",
        "        elif route < 0:\n            tally.dropped[-1 - route] += records\n        elif",
        "        elif route < 0:\n            tally.dropped[-1 - route] += records\n        if",
        "S13: blocks only: a record that was dropped on purpose counts as delivered, too",
        Tested("tests/unit/delivery/test_counting.py::test_s13_each_route_counts_for_its_sinks_or_its_reason"),
    ),
    Mutant(
        "an unknown release counts",
        "delivery.acknowledgment_set",
        "            if known is None or known.references < count:\n                return False\n",
        "            if known is None or known.references < count:\n                self._result &= positive\n"
        "                return False\n",
        "S13: a duplicate release turns a delivered batch negative, as Data Prepper's does",
        _set("scenario_34_a_duplicate_or_unknown_release_changes_nothing_mended"),
    ),
    Mutant(
        "late releases count until somebody looks",
        "delivery.acknowledgment_set",
        "        return self._status not in _WAITING or self._overdue()\n",
        "        return self._status not in _WAITING\n",
        "S13: a batch is acknowledged after its expiry, when somebody else may have it",
        _set("scenario_38_a_late_release_is_harmless_also_before_anybody_looked"),
    ),
    Mutant(
        "positions beyond a gap are safe",
        "delivery.checkpoints",
        "            else:\n                return\n",
        "            else:\n                self._batches.rotate(-1)\n                return\n",
        "S13: progress is saved beyond records that nobody has acknowledged",
        Tested(
            "tests/unit/delivery/test_checkpoints.py::test_s13_scenario_45_a_negative_stops_at_the_last_good_position"
        ),
    ),
    Mutant(
        "a table without the fence",
        "systems.sql.postgres_upsert",
        '        "or target.{token} <= excluded.{token}"\n',
        '        "or target.{token} <= excluded.{token} or true"\n',
        "S13: an owner that lost its lease overwrites what its successor wrote",
        _table("TestPostgres::test_s13_a_zombie_overwrites_nothing"),
    ),
    Mutant(
        "a fence for all partitions",
        "systems.sql.postgres_upsert",
        '        "where target.{partition} is distinct from excluded.{partition} or target.{token} is null "\n',
        '        "where target.{token} is null "\n',
        "S13: tokens of two partitions are compared, and records are kept out for ever",
        _table("test_s13_another_partition_s_token_does_not_keep_a_record_out"),
    ),
    Mutant(
        "an index without the fence",
        "systems.opensearch.bulk",
        '{"_id": document.id, "version": self._task.token, "version_type": "external_gte"}',
        '{"_id": document.id}',
        "S13: an owner that lost its lease overwrites what its successor wrote",
        _index("TestOpenSearch::test_s13_a_zombie_overwrites_nothing"),
    ),
    Mutant(
        "whatever is in the way is replaced",
        "systems.opensearch.bulk",
        "_number(token) > self._task.token",
        "False",
        "S13: an owner that lost its lease overwrites what its successor wrote, in two steps",
        _index("test_s13_the_fence_holds_where_a_record_has_moved"),
    ),
    Mutant(
        "a fence for all partitions of an index",
        "systems.opensearch.bulk",
        "return fence.get(self._partition_field) == self._task.partition_id and _number",
        "return _number",
        "S13: tokens of two partitions are compared, and records are kept out for ever",
        _index("test_s13_another_partition_s_token_does_not_keep_a_record_out"),
    ),
    Mutant(
        "what was looked at is replaced even if it has changed",
        "systems.opensearch.bulk",
        '    return {"index": {"_id": document.id, **at}}\n',
        '    return {"index": {"_id": document.id}}\n',
        "S13: what a successor writes between a zombie's look and its write is overwritten",
        _spoilt("a_zombie_s_look_is_out_of_date_when_it_writes"),
    ),
    Mutant(
        "a short answer is a delivery",
        "systems.opensearch.bulk",
        "if not isinstance(items, list) or len(items) != len(documents):",
        "if isinstance(items, list):\n"
        "            items += [{'index': {'_id': each.id, 'status': 201}} for each in documents[len(items) :]]\n"
        "        else:",
        "S13: records that OpenSearch did not answer for count as delivered",
        _spoilt("an_answer_that_is_not_one_for_each_record_delivers_nothing[shorter]"),
    ),
    Mutant(
        "a busy index is a refusal",
        "systems.opensearch.bulk",
        "if document.conflict or status in _TRANSIENT or status >= 500:",
        "if document.conflict:",
        "S13: records that a full queue turned away are never sent again",
        _spoilt("only_the_records_that_were_not_taken_are_sent_again[429]"),
    ),
    Mutant(
        "a redirection is followed",
        "systems.http.request",
        "urllib.request.build_opener(_NoRedirection)",
        "urllib.request.build_opener()",
        "S13: a page for logging in is taken for a delivery",
        Tested("tests/unit/systems/http/test_http.py::test_s13_a_request_that_may_not_be_made_is_nobody_s_record"),
    ),
    Mutant(
        "a sink that is away makes dead letters",
        "delivery.task_pass",
        "    return answer.kind is AnswerKind.REFUSED\n",
        "    return answer.kind is not AnswerKind.DELIVERED\n",
        "S13: an outage of a sink is answered with dead letters, and the source is told that all is well",
        _pass("a_sink_that_is_away_makes_no_dead_letters"),
    ),
    Mutant(
        "dead letters count before they are stored",
        "delivery.task_pass",
        "            self._tally.no_dead_letters()\n",
        "            pass\n",
        "S13: records are neither in their sink nor among the dead letters, and count as done",
        _pass("dead_letters_that_cannot_be_stored_are_failures"),
    ),
    Mutant(
        "a dead letter by condition goes to the sinks, too",
        "delivery.task_pass",
        "            self._sum_up(len(sinks), parts, rows)\n            kept = pc.and_not(kept, holds)\n",
        "            self._sum_up(len(sinks), parts, rows)\n",
        "S13: what is known to be malformed reaches sinks, and counts there and among the dead letters",
        _pass("a_dead_letter_by_condition_goes_to_no_sink_and_a_dropped_record_is_none"),
    ),
    Mutant(
        "dead letters by condition count as Spark has counted them",
        "delivery.tally",
        "        del self.arrivals[self.aside]\n        self.arrivals.update(written.arrivals)\n",
        "",
        "S13: records are in no sink and not among the dead letters, and count as done",
        Tested(
            "tests/unit/delivery/test_counting.py"
            "::test_s13_what_was_written_of_them_counts_and_not_how_many_there_should_be"
        ),
    ),
    Mutant(
        "a sink that cannot be closed has delivered",
        "delivery.task_pass",
        "            self._tally.not_safe(number)\n",
        "            pass\n",
        "S13: records of a file that was never stored count as delivered",
        _pass("a_sink_that_cannot_be_closed_has_delivered_nothing"),
    ),
    Mutant(
        "columns that were not taken are there",
        "delivery.task_pass",
        "        return isinstance(writer, ColumnWriter) and writer.write_columns(records.columns(rows))\n",
        "        return isinstance(writer, ColumnWriter) and writer.write_columns(records.columns(rows)) is not None\n",
        "S13: records of a bulk that the sink did not take whole count as delivered",
        _pass("columns_that_are_not_taken_are_asked_about_as_records"),
    ),
    Mutant(
        "null is a key",
        "delivery.keys",
        " and not pc.any(pc.equal(found, _OF_NULL)).as_py()\n",
        "\n",
        "a record without a key is delivered although none is there twice",
        Tested(
            "tests/unit/delivery/test_keys.py"
            "::test_w5_hashes_are_apart_where_no_two_are_equal_and_none_is_that_of_null[null]"
        ),
    ),
    Mutant(
        "too few answers are enough",
        "delivery.task_pass",
        "        if len(answers) != len(bulk):\n",
        "        answers += [Answer(AnswerKind.DELIVERED)] * (len(bulk) - len(answers))\n        if False:\n",
        "S13: records that a sink says nothing about count as delivered",
        _pass("fewer_answers_than_records_are_none"),
    ),
    Mutant(
        "a good ending after a negative delivery",
        "delivery.deliveries",
        '        if self._negative[0].on_negative == "fail":\n            raise self._error()\n',
        '        if self._negative[0].on_negative == "fail":\n            return outcome\n',
        "S13: a partition completes although its records did not arrive",
        Tested("tests/unit/delivery/test_deliveries.py::test_s13_no_good_ending_after_a_negative_delivery"),
    ),
    Mutant(
        "a delivery that raised is forgotten",
        "delivery.deliveries",
        "            self.add_raised(error, on_negative, delivery.routing)\n",
        "",
        "S13: a function that swallows the error of a delivery completes without its records",
        Tested("tests/unit/delivery/test_deliveries.py::test_d1_what_raises_is_kept_although_its_error_is_swallowed"),
    ),
    Mutant(
        "HTTP 413 refuses the whole bulk",
        "systems.http.sink",
        "        if answer.kind is not AnswerKind.REFUSED or len(texts) == 1:\n",
        "        if answer.kind is not AnswerKind.REFUSED or len(texts) == 1 or answer.reason.startswith('413'):\n",
        "S13: records that fit in smaller requests become dead letters",
        Tested("tests/unit/systems/http/test_http.py::test_small_x9_a_bulk_that_is_too_large_is_halved_until_it_fits"),
    ),
    Mutant(
        "what a sink refuses every record for is the records' fault",
        "delivery.tally",
        "        return self._count >= ENOUGH\n",
        "        return False\n",
        "S13: an index is closed, all records become dead letters, and the input is deleted",
        _pass6("what_every_record_is_refused_for_is_the_sink_s_fault"),
    ),
    Mutant(
        "some of the records that a row stands for are done",
        "delivery.counting",
        "done, failed = (absorbed, 0) if arrived else (0, absorbed)",
        "done, failed = (absorbed, 0) if arrived else (counted.delivered_everywhere, absorbed)",
        "S13: an aggregation of which a row did not arrive counts records as delivered",
        Tested("tests/unit/delivery/test_absorbing.py::test_s13_all_arrive_or_none"),
    ),
)
