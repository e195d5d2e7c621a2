"""Mutants of the SQL statements, each in the words of the state table; on SQLite."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Simulated, Tested

_ACQUIRE = "stores.sql.statements.acquire"
_OWNER = "stores.sql.statements.owner"
_ENDINGS = "stores.sql.statements.endings"
_SWEEP = "stores.sql.statements.sweep"
_CREATE = "stores.sql.statements.create"
_PEOPLE = "stores.sql.statements.people"
_SIMULATED = Simulated("sqlite", operations=40_000)


def _kit(test: str) -> Tested:
    return Tested(f"tests/conformance/test_sqlite.py::TestSqlite::{test}")


MUTANTS = (
    Mutant(
        "SQL: acquired before it is due",
        _ACQUIRE,
        "        OR timed IN ({Timed.DELAYED:d}, {Timed.CLOSED:d}) AND due_at <= {dialect.now}\n",
        "        OR timed IN ({Timed.DELAYED:d}, {Timed.CLOSED:d})\n",
        "S8: acquired before availableAt or reOpenAt",
        _SIMULATED,
    ),
    Mutant(
        "SQL: healthy lease taken",
        _ACQUIRE,
        "AND partition_ownership_timeout <= {dialect.now} AND lost_leases + 1 < :max_lost)",
        "AND lost_leases + 1 < :max_lost)",
        "S8: acquired before somebody's lease has ended",
        _SIMULATED,
    ),
    Mutant(
        "SQL: taken by the index's time alone",
        "stores.sql.statements.order",
        '        really = f"AND {age} <= {dialect.now}" + (""',
        '        really = "" + (""',
        "S8: a lease that was renewed is taken by the time in the index, which moves seldom",
        _SIMULATED,
    ),
    Mutant(
        "SQL: token not raised",
        _ACQUIRE,
        "token = token + 1, nonce = :op, last_op = :op,",
        "nonce = :op, last_op = :op,",
        "S1: tokens do not order the tenures",
        _SIMULATED,
    ),
    Mutant(
        "SQL: hint acquired whatever its token",
        _ACQUIRE,
        "WHERE {_KEY} AND token = :token AND {claimable(dialect)}",
        "WHERE {_KEY} AND {claimable(dialect)}",
        "S1: a late copy of an acquisition starts a second tenure under its nonce",
        _kit("test_a_hint_holds_while_its_token_does"),
    ),
    Mutant(
        "SQL: taken at the last lost lease",
        _ACQUIRE,
        "AND partition_ownership_timeout <= {dialect.now} AND lost_leases + 1 < :max_lost)",
        "AND partition_ownership_timeout <= {dialect.now})",
        "L5: a poison partition is never parked",
        _kit("test_at_the_last_lost_lease_only_a_sweep_acts"),
    ),
    Mutant(
        "SQL: retaken whatever the try",
        _ACQUIRE,
        "AND owner_task = :owner_task AND owner_try < :below_try",
        "AND owner_task = :owner_task",
        "S2: an earlier try takes the partition from a later one",
        _kit("test_retaking_is_for_later_tries_of_the_same_task"),
    ),
    Mutant(
        "SQL: retaken whatever was written since",
        _ACQUIRE,
        "AND token = :token AND last_op = :seen_op",
        "AND token = :token",
        "S5: retaken from an owner that has written since it was seen",
        _kit("test_retaking_needs_the_last_write_as_seen"),
    ),
    Mutant(
        "SQL: written without the fence",
        _OWNER,
        '    AND source_partition_status = \'ASSIGNED\' AND token = :token AND nonce = :nonce"""',
        '    AND source_partition_status = \'ASSIGNED\'"""',
        "S2: who has lost the lease renews that of its successor",
        _SIMULATED,
    ),
    Mutant(
        "SQL: written without the nonce",
        _OWNER,
        'AND token = :token AND nonce = :nonce"""',
        'AND token = :token"""',
        "S2: the tenure of a row that has gone writes into the next life of its partition",
        _kit("test_s2_the_token_alone_does_not_own"),
    ),
    Mutant(
        "SQL: written without the chain",
        _OWNER,
        'CHAINED = f"{FENCED} AND last_op = :prev"',
        "CHAINED = FENCED",
        "S2, S6: two drivers begin under one fence, a late save undoes a newer one",
        _SIMULATED,
    ),
    Mutant(
        "SQL: renewal shortens",
        _OWNER,
        'later = f"CASE WHEN partition_ownership_timeout > {new} THEN partition_ownership_timeout ELSE {new} END"',
        "later = new",
        "S2: a late copy of a renewal ends the lease before its owner believes",
        _kit("test_a_renewal_never_shortens"),
    ),
    Mutant(
        "SQL: staged blocks stay after publication",
        _OWNER,
        '    staged = "staged = NULL," if clear_staged else ""\n',
        '    staged = ""\n',
        "S12: blocks are published again by the next ending",
        _SIMULATED,
    ),
    Mutant(
        "SQL: delay ignored",
        _OWNER,
        "reopen_at = {dialect.now} + :reopen_delay, available_at = {dialect.now} + :available_delay,",
        "reopen_at = {dialect.now}, available_at = {dialect.now},",
        "S8: what people see of a delay is not what was asked for",
        _kit("test_closing_sets_when_it_reopens"),
    ),
    Mutant(
        "SQL: due at once",
        _OWNER,
        "due_at = {dialect.now} + :due_delay",
        "due_at = {dialect.now}",
        "S8: acquired before availableAt or reOpenAt",
        _SIMULATED,
    ),
    Mutant(
        "SQL: ending in the slot beside",
        _OWNER,
        "{RING[slot % RING_SIZE]} = :entry",
        "{RING[(slot + 1) % RING_SIZE]} = :entry",
        "S6: the ending is not found where it is looked for",
        _SIMULATED,
    ),
    Mutant(
        "SQL: lost lease in the slot beside",
        _ENDINGS,
        "(token & {RING_SIZE - 1}) = {i}",
        "((token + 1) & {RING_SIZE - 1}) = {i}",
        "S6: the end of a lease is not found where it is looked for",
        _kit("test_an_expired_lease_is_taken_over_with_its_progress"),
    ),
    Mutant(
        "SQL: phantoms count as lost leases",
        _ENDINGS,
        'COUNTS_AS_LOST = "(CASE WHEN confirmed = 1 OR last_op <> nonce THEN 1 ELSE 0 END)"',
        'COUNTS_AS_LOST = "1"',
        "L5: partitions are parked for acquisitions that nobody heard of",
        _kit("test_leases_that_saw_no_owner_write_count_nothing"),
    ),
    Mutant(
        "SQL: healthy lease reclaimed",
        _SWEEP,
        'WHERE {_due(dialect, Timed.HELD, f"AND partition_ownership_timeout <= {dialect.now}")}',
        "WHERE {_due(dialect, Timed.HELD)}",
        "S8: a renewed lease is reclaimed by the time in the index, which moves seldom",
        _SIMULATED,
    ),
    Mutant(
        "SQL: reopened before its time",
        _SWEEP,
        "timed = {timed:d} AND due_at <= {dialect.now} {also}",
        "timed = {timed:d} {also}",
        "S8: a sweep frees what is delayed or closed before its time",
        _SIMULATED,
    ),
    Mutant(
        "SQL: last lost lease does not park",
        _SWEEP,
        '_PARKS = f"{_LOST} >= :max_lost"',
        '_PARKS = f"{_LOST} > :max_lost"',
        "L5: a poison partition is not parked at its maximum",
        _kit("test_l5_the_last_lost_lease_parks_and_says_why"),
    ),
    Mutant(
        "SQL: living partition created again",
        _CREATE,
        "        WHERE deleted = 1 AND create_op <> :op RETURNING 1",
        "        WHERE create_op <> :op RETURNING 1",
        "S3, S10: creating twice resets what is there",
        _SIMULATED,
    ),
    Mutant(
        "SQL: tombstone forgotten by a creation",
        _CREATE,
        "confirmed = 0, deleted = 0, ready",
        "confirmed = 0, deleted = 0, token = 0, ready",
        "S1: tokens start again after a deletion",
        _SIMULATED,
    ),
    Mutant(
        "SQL: release without a token",
        _PEOPLE,
        'fence = "token = token + 1, nonce = :op," if held or action is Action.DELETE else ""',
        'fence = "nonce = :op," if held or action is Action.DELETE else ""',
        "S1: taking a lease away uses up no token",
        _SIMULATED,
    ),
    Mutant(
        "SQL: somebody else's lease released",
        _PEOPLE,
        "\"source_partition_status = 'ASSIGNED' AND token = :token AND nonce = :nonce\"",
        "\"source_partition_status = 'ASSIGNED'\"",
        "S5: a person takes the lease from an owner that was never seen",
        _kit("test_a_stale_view_is_refused"),
    ),
    Mutant(
        "SQL: head records without the ending",
        "stores.sql.sqlite_store",
        "        if applied and write.heads:\n",
        "        if write.heads:\n",
        "S12: readers see the output of an ending that was refused: published before the fence was looked at",
        _SIMULATED,
    ),
    Mutant(
        "SQL: ending without head records",
        "stores.sql.sqlite_store",
        "        if applied and write.heads:\n",
        "        if not applied and write.heads:\n",
        "S12: output that was accepted is never seen",
        _SIMULATED,
    ),
    Mutant(
        "SQL: next one acquired after a refusal",
        "stores.sql.sqlite_store",
        "rows = self._acquire_in(run, end, following) if applied else ()",
        "rows = self._acquire_in(run, end, following)",
        "S1: a repeated fused step acquires a second partition under its nonce",
        _kit("test_a_repeated_step_acquires_nothing_more"),
    ),
)
