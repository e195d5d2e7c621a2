"""Mutants of how the operation table becomes SQL: its words, its steps, the records beside them, the index's columns.

Both engines get these texts. A line that is broken is said once; each engine's own kit has to catch it.

Left out, because nothing can tell it from the code as it is: that a sweep's *search* looks at the time. The search is
sorted by it, and the rule of the step looks again.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tests.mutants.mutant import Mutant, Tested

_RECORDS = "stores.sql.statements.writes"
_STEP = "stores.sql.statements.step"
_SYMBOLS = "stores.sql.statements.step"
_WORDS = "stores.sql.statements.step"
_DOCUMENTS = "stores.sql.statements.documents"
_GIVEN = "stores.sql.steps"
_WAITING = "stores.sql.columns"


class _Line(NamedTuple):
    """A line of the rendering, what stands there instead, and the kit's test that notices."""

    module: str
    old: str
    new: str
    breaks: str
    test: str


_ONE_ROW = "WHERE source_identifier = :source AND source_partition_key = :key\n        AND (CAST"
_OTHER_SOURCES = "e16_what_another_source_published_under_the_same_key_stays"
_RING = "the_ring_remembers_the_last_eight_tenures"
_TAKEN_OVER = "an_expired_lease_is_taken_over_with_its_progress"
_LAST_LOST = "l5_the_last_lost_lease_parks_and_says_why"

_LINES: Final = {
    # Words.
    "claimable before it is due": _Line(
        _WORDS,
        "{Timed.CLOSED:d}) AND due_at <= {now}",
        "{Timed.CLOSED:d})",
        "S8: acquired before availableAt or reOpenAt",
        "s8_not_before_a_delay_is_over",
    ),
    "parked is claimable": _Line(
        _WORDS,
        'f"ready IS NOT NULL OR timed',
        'f"ready IS NULL AND timed IS NULL OR ready IS NOT NULL OR timed',
        "S3: what is completed, parked or deleted is acquired by its key",
        "parked_and_completed_are_never_acquired",
    ),
    "alternatives without brackets": _Line(
        _WORDS,
        "f\"({' OR '.join(condition for condition in conditions if condition is not False)})\"",
        '" OR ".join(condition for condition in conditions if condition is not False)',
        "S8: an acquisition of one row takes all that are due, in every source",
        "s9_the_order_is_the_same_whether_swept_or_not",
    ),
    "judged by the judge's own limit": _Line(
        _WORDS,
        "coalesce({limit}, {own})",
        "{own}",
        "E11: a sensor parks by its own setting what a task has acquired with another",
        "e11_the_leases_limit_is_in_force_not_the_judges",
    ),
    "one lost lease too many": _Line(
        _WORDS,
        "{count} + 1 < coalesce",
        "{count} + 1 <= coalesce",
        "L5: a poison partition is not parked at its maximum",
        _LAST_LOST,
    ),
    "lost leases told without the last": _Line(
        _WORDS,
        "|| ({number}) ||",
        "|| ({number} - 1) ||",
        "L5: the error of a parked partition says a wrong number",
        _LAST_LOST,
    ),
    "retaken by the same try": _Line(
        _WORDS,
        '{said(one)} < {said(other)}"',
        '{said(one)} <= {said(other)}"',
        "S2: two tasks of one try take a partition from each other",
        "retaking_is_for_later_tries_of_the_same_task",
    ),
    "not due at the moment itself": _Line(
        _WORDS,
        '{said(one)} <= {said(other)}"',
        '{said(one)} < {said(other)}"',
        "S9: what expires now is not in line, although the search has found it",
        "a_sweep_is_idempotent",
    ),
    "flag taken for a text": _Line(
        _WORDS,
        'f"{value} = 0" if value in _FLAGS else f"{value} IS NULL"',
        'f"{value} IS NULL"',
        "L5: what an owner has never confirmed counts as lost, and nobody can act on anything",
        "leases_that_saw_no_owner_write_count_nothing",
    ),
    "choice with its sides swapped": _Line(
        _WORDS,
        "THEN {said(then)} ELSE {said(otherwise)} END",
        "THEN {said(otherwise)} ELSE {said(then)} END",
        "L5: what may still be lost is parked, and what is poison waits",
        _LAST_LOST,
    ),
    "the earlier of two times": _Line(
        _WORDS,
        'Case(f"{one} > {other}", one, other)',
        'Case(f"{one} < {other}", one, other)',
        "S2: a renewal does not hold the lease for longer",
        "renewing_moves_the_timeout_and_confirms_and_nothing_else",
    ),
    "nothing said as an empty text": _Line(
        _WORDS,
        'return str(value) if value else "NULL"',
        "return str(value) if value else \"''\"",
        "S2: what nobody owns has an owner without a name",
        "closing_sets_when_it_reopens",
    ),
    "lost lease in the slot beside": _Line(
        _WORDS,
        "(token & {RING_SIZE - 1}) = {slot}",
        "((token + 1) & {RING_SIZE - 1}) = {slot}",
        "S6: the end of a lease is not found where it is looked for",
        _TAKEN_OVER,
    ),
    "ending in the slot beside": _Line(
        _WORDS,
        "RING[self._slot]",
        "RING[(self._slot + 1) % RING_SIZE]",
        "S6: the ending is not found where it is looked for",
        "an_ending_is_remembered_and_clears_the_owner",
    ),
    "ring emptied beside the slot": _Line(
        _WORDS,
        "THEN {entry} ELSE {column} END",
        "THEN {entry} ELSE NULL END",
        "S6: an acquisition makes the endings of earlier tenures forgotten",
        _RING,
    ),
    "ending where none was": _Line(
        _WORDS,
        'also = "" if when is True else f"{when} AND "',
        'also = ""',
        "S6: an acquisition of what is free overwrites the ending of the tenure before",
        _RING,
    ),
    # Steps.
    "step whatever its rule says": _Line(
        _STEP,
        "WHERE {guard} RETURNING",
        "WHERE {found} RETURNING",
        "S2: every write is applied",
        "s2_a_write_under_an_old_fence_is_refused_and_changes_nothing",
    ),
    "freed partitions remembered as ended": _Line(
        _STEP,
        " AND {ROW.status} = {said(PartitionStatus.ASSIGNED)}\n",
        "\n",
        "X11: a history of tenures that never were",
        "x11_a_deleted_partition_and_its_next_life_share_one",
    ),
    "history of the next tenure": _Line(
        _STEP,
        '        "token": token,\n        "nonce": nonce,\n',
        '        "token": f"{token} + 1",\n        "nonce": nonce,\n',
        "X11: rows under fences that did not end",
        "x11_each_ending_is_a_row",
    ),
    "history without its owner": _Line(
        _STEP,
        '        "owner": ROW.owner,\n',
        '        "owner": None,\n',
        "X11: nobody can tell who held it",
        "x11_each_ending_is_a_row",
    ),
    "step on all partitions of a source": _Line(
        _STEP,
        '"source_identifier = :source AND source_partition_key = :key"',
        '"source_identifier = :source"',
        "S2: an acquisition by key takes them all",
        "a_bare_key_is_acquired_whatever_its_token",
    ),
    "step in every source": _Line(
        _STEP,
        '"source_identifier = :source AND source_partition_key = :key"',
        '"source_partition_key = :key"',
        "S2: an acquisition by key takes the partition of another source",
        "sources_are_apart",
    ),
    "try not stored": _Line(
        _STEP,
        '            yield "owner_try", value and f"{value}_try"\n',
        "",
        "S2: no later try can retake",
        "a_later_try_retakes_without_waiting",
    ),
    "task not stored": _Line(
        _STEP,
        '            yield "owner_task", value and f"{value}_task"\n',
        "",
        "S2: a task does not find what it holds",
        "a_tasks_partitions_are_found_whatever_the_try_and_host",
    ),
    "due at once": _Line(
        _STEP,
        '"due_at": f"{words.now} + :due_delay"',
        '"due_at": words.now',
        "S8: acquired before availableAt or reOpenAt",
        "s8_not_before_a_delay_is_over",
    ),
    "ended behind its old place": _Line(
        _STEP,
        '"ready": ":ready", "position": "ordinal"',
        '"ready": ":ready"',
        "S9: what returns stands where it stood as a crashed one, not in its old place",
        "s9_a_crashed_or_reopened_one_that_ends_returns_to_new",
    ),
    "index columns of the other status": _Line(
        _STEP,
        "(value.then, value.otherwise)[which]",
        "(value.otherwise, value.then)[which]",
        "L5: what is parked at its last lost lease waits, and what may be lost again waits for nobody",
        _LAST_LOST,
    ),
    "crashed ones in their old places": _Line(
        _STEP,
        '"position": "ordinal" if rank is Rank.NEW else available',
        '"position": "ordinal"',
        "S9: crashed ones are not in the order of their lost leases",
        "s9_the_order_is_the_same_whether_swept_or_not",
    ),
    "released to the crashed ones' places": _Line(
        _STEP,
        '"position": "ordinal" if rank is Rank.NEW else available',
        '"position": available',
        "S9: what was released goes behind all that is new",
        "s9_fail_give_up_and_release_return_to_the_old_place",
    ),
    # Index columns.
    "reopened among the crashed": _Line(
        _WAITING,
        "Rank.REOPENED: Ready.REOPENED",
        "Rank.REOPENED: Ready.CRASHED",
        "S9: reopened ones do not wait behind crashed ones",
        "s9_the_order_is_the_same_whether_swept_or_not",
    ),
    "held and in no index": _Line(
        _WAITING,
        "return None, Timed.HELD",
        "return None, None",
        "L1: nobody finds a lease that has run out",
        "an_expired_lease_is_reclaimed_in_its_place",
    ),
    "delayed among the closed": _Line(
        _WAITING,
        "Timed.DELAYED if status is PartitionStatus.UNASSIGNED else Timed.CLOSED",
        "Timed.CLOSED",
        "S9: what waits for a retry is ranked with the reopened",
        "s9_fail_give_up_and_release_return_to_the_old_place",
    ),
    "closed among the delayed": _Line(
        _WAITING,
        "Timed.DELAYED if status is PartitionStatus.UNASSIGNED else Timed.CLOSED",
        "Timed.DELAYED",
        "L2: what is closed until now is not reopened by a sweep",
        "a_due_partition_is_reopened_in_its_place",
    ),
    "delayed in no index": _Line(
        _WAITING,
        "if later and status in (PartitionStatus.UNASSIGNED, PartitionStatus.CLOSED)",
        "if later and status is PartitionStatus.CLOSED",
        "L1: what failed is never found again",
        "s8_not_before_a_delay_is_over",
    ),
    "tombstone in the queue": _Line(
        _WAITING,
        "if status is PartitionStatus.UNASSIGNED and at_once:",
        "if status is PartitionStatus.UNASSIGNED:",
        "S1: what was deleted is acquired",
        "delete_leaves_a_tombstone_that_nothing_finds",
    ),
    # Records beside a step.
    "equal keys of other sources retracted": _Line(
        _RECORDS,
        _ONE_ROW,
        "WHERE source_partition_key = :key\n        AND (CAST",
        "S12: what another source has published vanishes",
        _OTHER_SOURCES,
    ),
    "whole source retracted": _Line(
        _RECORDS,
        _ONE_ROW,
        "WHERE source_identifier = :source\n        AND (CAST",
        "S12: what other partitions have published vanishes",
        _OTHER_SOURCES,
    ),
    "retracted whatever is named": _Line(
        _RECORDS,
        'AND (CAST(:datasets AS TEXT) IS NULL OR {dialect.among("dataset", ":datasets")})',
        "AND (CAST(:datasets AS TEXT) IS NULL OR true)",
        "S12: what a branch hides is emptied together with what shows",
        "a_retract_empties_what_it_names",
    ),
    "created in no branch": _Line(
        "stores.sql.statements.create",
        "{ready}, {ordinal}, {_BRANCH}",
        "{ready}, {ordinal}, NULL",
        "S22: what is new in a branch shows at once",
        "what_is_new_is_created_in_a_branch",
    ),
    "lives again in no branch": _Line(
        "stores.sql.statements.create",
        "branch = {_BRANCH}, last_op",
        "branch = NULL, last_op",
        "S22: what was deleted and is new in a branch shows at once",
        "what_is_new_is_created_in_a_branch",
    ),
    "document over one that nobody saw": _Line(
        _DOCUMENTS,
        "WHERE {newest} = :seen ON",
        "WHERE {newest} <= :seen ON",
        "a version is missing, and the newest one is not the one that was seen",
        "nobody_has_seen_what_was_never_written[7]",
    ),
    "own document not recognised": _Line(
        "stores.sql.store",
        "any(op == write.op for (op,) in found)",
        "False",
        "S6: who has written a document is told that somebody else has",
        "a_repetition_finds_that_it_was_written_and_writes_nothing",
    ),
    "anybody's document is one's own": _Line(
        "stores.sql.store",
        "any(op == write.op for (op,) in found)",
        "bool(found)",
        "S22: two branches begin by one number, and one of them is forgotten",
        "a_late_message_of_who_was_refused_writes_nothing",
    ),
    "a version is listed twice": _Line(
        _DOCUMENTS,
        "AND version < :before",
        "AND version <= :before",
        "whoever reads on by version comes to no end",
        "all_versions_are_kept_and_come_in_pages_the_newest_first",
    ),
    "parked ones of a branch count as none": _Line(
        _DOCUMENTS,
        "CASE WHEN {PARKED} THEN 1",
        "CASE WHEN {PARKED} THEN 0",
        "what a branch waits for is not seen",
        "they_are_counted_as_they_are",
    ),
    "head records only of the first life": _Line(
        _RECORDS,
        "DO UPDATE SET {_REPLACED}",
        "DO NOTHING",
        "S12: what is published later is never seen",
        "a_later_publication_replaces_the_record",
    ),
    "retracted rows still counted": _Line(
        _RECORDS,
        "SET blocks = '[]', row_count = 0, byte_count = 0,",
        "SET blocks = '[]',",
        "S12: readers are told of rows that were taken back",
        "e16_retract_empties_the_head_records_and_changes_nothing_else",
    ),
    # Parameters.
    "ending without the operation before": _Line(
        _GIVEN,
        "write.outcome, write.op, write.prev, status",
        "write.outcome, write.op, write.op, status",
        "S6: a save that was applied just before the tenure ended is reported as refused",
        "an_ending_is_remembered_and_clears_the_owner",
    ),
    "closed until the delay of a retry": _Line(
        _GIVEN,
        "later = closed is not None or bool(available)",
        "later = bool(available)",
        "L2: what is closed is never reopened",
        "s8_not_before_reopening_and_then_without_a_sweep",
    ),
    "progress wiped by an ending that keeps it": _Line(
        _SYMBOLS,
        'shape |= {"progress": KEEP} if keep_progress else {}',
        "shape |= {}",
        "S14: the next owner starts from nothing",
        "failing_keeps_progress_and_staged_blocks_and_waits",
    ),
    "retaken by the new operation": _Line(
        _SYMBOLS,
        'Retake: {"last_op": "seen_op"}',
        'Retake: {"last_op": "op"}',
        "S2: no later try can retake",
        "a_later_try_retakes_without_waiting",
    ),
}

_ON_POSTGRESQL: Final = (
    "claimable before it is due",
    "parked is claimable",
    "alternatives without brackets",
    "one lost lease too many",
    "lost leases told without the last",
    "flag taken for a text",
    "choice with its sides swapped",
    "the earlier of two times",
    "lost lease in the slot beside",
    "ending in the slot beside",
    "ring emptied beside the slot",
    "ending where none was",
    "step whatever its rule says",
    "index columns of the other status",
    "equal keys of other sources retracted",
    "whole source retracted",
    "retracted whatever is named",
    "created in no branch",
    "own document not recognised",
    "head records only of the first life",
)
"""Those that are tried on a real server, too: their texts are not the same there, or a type could hide them."""


def _mutant(name: str, *, postgresql: bool) -> Mutant:
    line = _LINES[name]
    place = "test_postgresql.py::TestPostgresql" if postgresql else "test_sqlite.py::TestSqlite"
    catcher = Tested(f"tests/conformance/{place}::test_{line.test}", postgresql=postgresql)
    prefix = "PostgreSQL" if postgresql else "SQL"
    return Mutant(f"{prefix}: {name}", line.module, line.old, line.new, line.breaks, catcher)


MUTANTS = (
    *(_mutant(name, postgresql=False) for name in _LINES),
    *(_mutant(name, postgresql=True) for name in _ON_POSTGRESQL),
)
