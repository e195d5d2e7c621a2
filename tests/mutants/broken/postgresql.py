"""Mutants of the SQL statements as PostgreSQL gets them, each tried on a real server.

Left out, because nothing can tell them from the code as it is:

* that an owner's write looks at source, key or token: its nonce is 96 random bits, so no other row has it;
* that a retake looks at the status: only ASSIGNED has the owner it looks at, too;
* that a person's action on a free partition looks at the status: what changes it changes the last operation, too;
* that a fused step leaves out what it ends: PostgreSQL locks and changes no row twice in one statement.
"""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_ACQUIRE = "stores.sql.statements.acquire"
_ORDER = "stores.sql.statements.order"
_COMBINED = "stores.sql.statements.combined"
_CREATE = "stores.sql.statements.create"
_FLOORS = "stores.sql.floors"
_OWNER = "stores.sql.statements.owner"
_PEOPLE = "stores.sql.statements.people"
_READ = "stores.sql.statements.read"
_USED_UP = "stores.sql.used_up"
_SWEEP = "stores.sql.statements.sweep"


def _kit(test: str) -> Tested:
    return Tested(f"tests/conformance/test_postgresql.py::TestPostgresql::{test}", postgresql=True)


def _looks(test: str) -> Tested:
    return Tested(f"tests/integration/stores/test_second_looks.py::test_e17_{test}", postgresql=True)


def _plans(test: str) -> Tested:
    return Tested(f"tests/integration/stores/test_plans.py::test_{test}", postgresql=True)


def _floors(test: str) -> Tested:
    return Tested(f"tests/integration/stores/test_used_up.py::test_e15_{test}", postgresql=True)


_READY_LOCK = '{_ORDER} LIMIT 1 FOR UPDATE SKIP LOCKED"""'
_TIMED_LOCK = '{_ANY_AGE}, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED"""'
_FREE_HELD = "OR partition_ownership_timeout <= {dialect.now} AND {MAY_BE_LOST})"
_HELD = "AND partition_ownership_timeout <= {dialect.now} AND {MAY_BE_LOST})"
_SWEEP_LOCK = "({query} FOR UPDATE SKIP LOCKED))"
_PASSES = "an_acquisition_passes_by_what_somebody_else_is_taking"
_TAKES_NOTHING = "an_acquisition_takes_nothing_that_is_not_claimable[postgres_store_url"

_SEARCHING = (
    (
        "ready row not locked",
        _READY_LOCK,
        '{_ORDER} LIMIT 1"""',
        "L3: all workers run after one row",
        f"{_PASSES}[_free]",
    ),
    (
        "ready row waited for",
        _READY_LOCK,
        '{_ORDER} LIMIT 1 FOR UPDATE"""',
        "L3: a worker waits for another's statement",
        f"{_PASSES}[_returned]",
    ),
    (
        "due row not locked",
        _TIMED_LOCK,
        '{_ANY_AGE}, ordinal LIMIT 1"""',
        "L3: all workers run after one row",
        f"{_PASSES}[_held_until_now]",
    ),
    (
        "due row waited for",
        _TIMED_LOCK,
        '{_ANY_AGE}, ordinal LIMIT 1 FOR UPDATE"""',
        "L3: a worker waits for another's statement",
        f"{_PASSES}[_closed_until_now]",
    ),
    (
        "timed free row may be unexpired",
        f"{_FREE_HELD}\n        ORDER",
        "OR {MAY_BE_LOST})\n        ORDER",
        "L3, S8: a healthy lease was stolen, before the update looked again",
        "behind_a_busy_row_a_renewed_lease_holds_up_nobody",
    ),
    (
        "timed free row may be at its last lost lease",
        f"{_FREE_HELD}\n        ORDER",
        "OR partition_ownership_timeout <= {dialect.now})\n        ORDER",
        "L3, L5: a poison partition was never parked, before the update looked again",
        "behind_a_busy_row_one_at_its_last_lost_lease_holds_up_nobody",
    ),
    (
        "timed free row may not be due",
        "AND timed = head.timed AND due_at <= {dialect.now}",
        "AND timed = head.timed",
        "L3: one that is not due holds up those behind it",
        "behind_a_busy_row_only_what_is_due_is_looked_at[_closed_until_now]",
    ),
    (
        "ready free row of any source",
        "WHERE source_identifier = :source AND ready = head.ready {only}",
        "WHERE ready = head.ready {only}",
        "L3: another source holds this one up",
        "behind_a_busy_row_another_source_holds_up_nobody[_free]",
    ),
    (
        "timed free row of any source",
        "WHERE source_identifier = :source AND timed = head.timed",
        "WHERE timed = head.timed",
        "L3: another source holds this one up",
        "behind_a_busy_row_another_source_holds_up_nobody[_held_until_now]",
    ),
)

MUTANTS = (
    *(Mutant(f"PostgreSQL: {name}", _ORDER, old, new, what, _looks(test)) for name, old, new, what, test in _SEARCHING),
    Mutant(
        "PostgreSQL: free row of any ready class",
        _ORDER,
        "AND ready = head.ready {only}",
        "AND ready IS NOT NULL {only}",
        "S9: a new partition goes before a crashed one",
        _kit("test_s9_priority_decides_inside_a_class_only"),
    ),
    Mutant(
        "PostgreSQL: free row of any timed class",
        _ORDER,
        "AND timed = head.timed AND due_at",
        "AND due_at",
        "S9: a reopened partition goes before a crashed one",
        _kit("test_s9_priority_decides_inside_a_class_only"),
    ),
    Mutant(
        "PostgreSQL: branches of a class in any order",
        _ORDER,
        'heads = f"SELECT * FROM ({_union(branches)}) AS heads {_ORDER}"',
        'heads = f"SELECT * FROM ({_union(branches)}) AS heads ORDER BY ordinal DESC"',
        "S9: the newest of a class goes first",
        _kit("test_s9_fail_give_up_and_release_return_to_the_old_place"),
    ),
    Mutant(
        "PostgreSQL: looked at before it is due",
        _ORDER,
        "AND timed = {timed:d} AND due_at <= {dialect.now}\n        {not_used_up(dialect)} {really}",
        "AND timed = {timed:d}\n        {not_used_up(dialect)} {really}",
        "S8: hints of what is delayed or closed",
        _kit("test_e17_hints_are_of_what_is_due"),
    ),
    Mutant(
        "PostgreSQL: looked at while its lease is renewed",
        _ORDER,
        'really = f"AND {age} <= {dialect.now}" + (""',
        'really = "" + (""',
        "S8: hints of what is held",
        _kit("test_e17_a_renewed_lease_holds_up_nobody"),
    ),
    Mutant(
        "PostgreSQL: nothing below the mark",
        _FLOORS,
        "            Span(self.first, priority - 1, self.low),\n",
        "",
        "S9: a fresh partition of smaller priority waits for those from the mark on",
        _plans("p4_the_mark_moves_with_acquisitions_and_is_forgotten_at_the_end"),
    ),
    Mutant(
        "PostgreSQL: no last look from the beginning",
        _ORDER,
        '        picks.append(_first_of(dialect, [fresh_branch("sure", only)], only))\n',
        "        pass\n",
        "L3: what was committed late, below the mark, is not found",
        _plans("e17_what_was_committed_late_is_found_when_nothing_else_is_left"),
    ),
    Mutant(
        "PostgreSQL: floors above pages that are still being created",
        _USED_UP,
        "        if not writing:\n",
        "        if True:\n",
        "L3: what is committed late is passed by",
        _floors("a_page_that_is_still_being_created_is_found_at_once"),
    ),
    Mutant(
        "PostgreSQL: floors above what waits",
        _FLOORS,
        "max(span.low, min(position, end)))], []",
        "max(span.low, end))], []",
        "L1: a partition is never found",
        _floors("what_comes_above_and_beside_the_floors_is_found"),
    ),
    Mutant(
        "PostgreSQL: floors for ever",
        _USED_UP,
        "NO_FLOORS if whole else known.floors",
        "known.floors",
        "L1: what nobody could expect is never found",
        _floors("what_nobody_could_expect_is_found_by_the_next_look_at_all"),
    ),
    Mutant(
        "PostgreSQL: floors of another server",
        _USED_UP,
        "            self._known.clear()  # another server, or another time: what was known is of no use\n",
        "",
        "L1: pages that are numbered again are passed by",
        _floors("floors_of_another_server_are_forgotten"),
    ),
    Mutant(
        "PostgreSQL: free row looked for from the beginning",
        _ORDER,
        "        AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal)\n"
        "        AND priority <= head.last AND position >= head.low {_ORDER}",
        "        {_ORDER}",
        "P4: a held snapshot makes every acquisition walk over all that is used up",
        _plans("e17_an_acquisition_from_the_mark_walks_over_nothing_that_is_used_up"),
    ),
    Mutant(
        "PostgreSQL: acquired without a second look",
        _ACQUIRE,
        "AND source_partition_key = {first} AND {claimable(dialect)}",
        "AND source_partition_key = {first}",
        "S8: a search that errs takes a healthy lease",
        _looks(f"{_TAKES_NOTHING}-order-_healthy]"),
    ),
    Mutant(
        "PostgreSQL: parked is claimable",
        _ACQUIRE,
        "        ready IS NOT NULL\n",
        "        ready IS NULL AND timed IS NULL OR ready IS NOT NULL\n",
        "S3: a search that errs takes what is completed",
        _looks(f"{_TAKES_NOTHING}-order-_completed]"),
    ),
    Mutant(
        "PostgreSQL: claimable before it is due",
        _ACQUIRE,
        "        OR timed IN ({Timed.DELAYED:d}, {Timed.CLOSED:d}) AND due_at <= {dialect.now}\n",
        "        OR timed IN ({Timed.DELAYED:d}, {Timed.CLOSED:d})\n",
        "S8: acquired before availableAt or reOpenAt",
        _looks(f"{_TAKES_NOTHING}-order-_closed]"),
    ),
    Mutant(
        "PostgreSQL: claimable while its lease is healthy",
        _ACQUIRE,
        _HELD,
        "AND {MAY_BE_LOST})",
        "S8: acquired before somebody's lease has ended",
        _looks(f"{_TAKES_NOTHING}-fused-_healthy]"),
    ),
    Mutant(
        "PostgreSQL: claimable at its last lost lease",
        _ACQUIRE,
        _HELD,
        "AND partition_ownership_timeout <= {dialect.now})",
        "L5: a poison partition is never parked",
        _kit("test_at_the_last_lost_lease_only_a_sweep_acts"),
    ),
    Mutant(
        "PostgreSQL: key acquired whatever its state",
        _ACQUIRE,
        "        WHERE {_KEY} AND {claimable(dialect)} RETURNING",
        "        WHERE {_KEY} RETURNING",
        "S8: a bare key takes a healthy lease",
        _kit("test_what_is_held_is_not_given_to_a_second_owner"),
    ),
    Mutant(
        "PostgreSQL: hint acquired whatever its state",
        _ACQUIRE,
        "AND token = :token AND {claimable(dialect)}",
        "AND token = :token",
        "S8: a hint takes what is held, closed or completed",
        _looks(f"{_TAKES_NOTHING}-hint-_closed]"),
    ),
    Mutant(
        "PostgreSQL: hint acquired whatever its token",
        _ACQUIRE,
        "WHERE {_KEY} AND token = :token AND {claimable(dialect)}",
        "WHERE {_KEY} AND {claimable(dialect)}",
        "S1: a late copy of an acquisition starts a second tenure under its nonce",
        _kit("test_a_hint_holds_while_its_token_does"),
    ),
    Mutant(
        "PostgreSQL: retaken whatever was written since",
        _ACQUIRE,
        "AND token = :token AND last_op = :seen_op",
        "AND token = :token",
        "S5: retaken from an owner that has written since it was seen",
        _kit("test_retaking_needs_the_last_write_as_seen"),
    ),
    Mutant(
        "PostgreSQL: retaken from another task",
        _ACQUIRE,
        "AND owner_task = :owner_task AND owner_try < :below_try",
        "AND owner_try < :below_try",
        "S2: one task takes the partition of another",
        _kit("test_retaking_is_for_later_tries_of_the_same_task"),
    ),
    Mutant(
        "PostgreSQL: retaken whatever the try",
        _ACQUIRE,
        "AND owner_task = :owner_task AND owner_try < :below_try",
        "AND owner_task = :owner_task",
        "S2: an earlier try takes the partition from a later one",
        _kit("test_retaking_is_for_later_tries_of_the_same_task"),
    ),
    Mutant(
        "PostgreSQL: retaken at its last lost lease",
        _ACQUIRE,
        "owner_try < :below_try AND {MAY_BE_LOST}",
        "owner_try < :below_try",
        "L5: a poison partition is never parked",
        _kit("test_retaking_stops_at_the_last_lost_lease"),
    ),
    Mutant(
        "PostgreSQL: token not raised",
        _ACQUIRE,
        "token = token + 1, nonce = :op, last_op = :op,",
        "nonce = :op, last_op = :op,",
        "S1: tokens do not order the tenures",
        _kit("test_s1_fences_are_never_given_twice"),
    ),
    Mutant(
        "PostgreSQL: next one acquired after a refusal",
        _COMBINED,
        "WHERE EXISTS (SELECT 1 FROM done) AND source_identifier",
        "WHERE source_identifier",
        "S1: a repeated fused step acquires a second partition under its nonce",
        _kit("test_a_refused_completion_acquires_nothing"),
    ),
    Mutant(
        "PostgreSQL: next one acquired without a second look",
        _COMBINED,
        "        AND {acquire.claimable(dialect)} RETURNING {PARTITION}",
        "        RETURNING {PARTITION}",
        "S8: a search that errs takes a healthy lease",
        _looks(f"{_TAKES_NOTHING}-fused-_healthy]"),
    ),
    Mutant(
        "PostgreSQL: next key waited for",
        _COMBINED,
        'FOR UPDATE SKIP LOCKED)"""',
        'FOR UPDATE)"""',
        "L3: two fused steps that cross wait for each other",
        _looks("a_fused_step_waits_for_nobody[busy]"),
    ),
    Mutant(
        "PostgreSQL: head records without the ending",
        _COMBINED,
        "{dialect.now} FROM done\n        CROSS JOIN unnest",
        "{dialect.now} FROM\n        unnest",
        "S12: readers see the output of an ending that was refused",
        _kit("test_s12_a_refused_ending_moves_nothing"),
    ),
    Mutant(
        "PostgreSQL: audited though refused",
        _COMBINED,
        '"FROM done"',
        '""',
        "people's actions: the audit tells of one that was not carried out",
        _kit("test_e17_s2_one_of_many_people_acts_on_what_they_all_saw"),
    ),
    Mutant(
        "PostgreSQL: living partition created again",
        _CREATE,
        "AND p.deleted = 1\n            AND p.source_partition_key",
        "AND p.deleted >= 0\n            AND p.source_partition_key",
        "S3, S10: creating twice resets what is there",
        _kit("test_s10_creating_again_changes_nothing_in_any_status"),
    ),
    Mutant(
        "PostgreSQL: tombstone revived by its own creation",
        _CREATE,
        "AND p.create_op <> :op RETURNING 1)",
        "RETURNING 1)",
        "S10: a repeated message undoes a person's deletion",
        _kit("test_a_tombstone_is_not_revived_by_a_repeated_old_creation"),
    ),
    Mutant(
        "PostgreSQL: tombstones of other sources revived",
        _CREATE,
        "FROM given WHERE p.source_identifier = :source AND p.deleted = 1",
        "FROM given WHERE p.deleted = 1",
        "S10: one source's creation revives what was deleted in another",
        _kit("test_e17_what_other_sources_have_says_nothing"),
    ),
    Mutant(
        "PostgreSQL: creations compared with other sources",
        _CREATE,
        "ON p.source_identifier = :source AND p.source_partition_key = given.key)",
        "ON p.source_partition_key = given.key)",
        "S10: what another source has counts as existing",
        _kit("test_e17_what_other_sources_have_says_nothing"),
    ),
    Mutant(
        "PostgreSQL: creations in any order",
        _CREATE,
        "(SELECT number FROM page) * {PLACES_PER_PAGE} + given.place",
        "(SELECT number FROM page) * {PLACES_PER_PAGE} - given.place",
        "S9: new partitions do not keep the supplier's order",
        _kit("test_s9_new_ones_keep_the_suppliers_order"),
    ),
    Mutant(
        "PostgreSQL: written after the ending",
        _OWNER,
        "    AND source_partition_status = 'ASSIGNED' AND token",
        "    AND token",
        "S2: a renewal brings back the timeout of a tenure that has ended",
        _kit("test_s2_a_write_under_an_old_fence_is_refused_and_changes_nothing"),
    ),
    Mutant(
        "PostgreSQL: written without the nonce",
        _OWNER,
        'AND token = :token AND nonce = :nonce"""',
        'AND token = :token"""',
        "S2: the tenure of a row that has gone writes into the next life of its partition",
        _kit("test_s2_the_token_alone_does_not_own"),
    ),
    Mutant(
        "PostgreSQL: written without the chain",
        _OWNER,
        'CHAINED = f"{FENCED} AND last_op = :prev"',
        "CHAINED = FENCED",
        "S2, S6: two drivers begin under one fence, a late save undoes a newer one",
        _kit("test_a_write_that_does_not_follow_the_last_one_is_refused"),
    ),
    Mutant(
        "PostgreSQL: adopted by an earlier try",
        _OWNER,
        "WHERE {FENCED} AND owner_try <= :owner_try RETURNING 1",
        "WHERE {FENCED} RETURNING 1",
        "S2: an earlier try watches over what is a later one's",
        _kit("test_an_earlier_try_does_not_adopt"),
    ),
    Mutant(
        "PostgreSQL: renewal shortens",
        _OWNER,
        'later = f"CASE WHEN partition_ownership_timeout > {new} THEN partition_ownership_timeout ELSE {new} END"',
        "later = new",
        "S2: a late copy of a renewal ends the lease before its owner believes",
        _kit("test_a_renewal_never_shortens"),
    ),
    Mutant(
        "PostgreSQL: tombstone acted on",
        _PEOPLE,
        "AND source_partition_key = :key AND deleted = 0\n",
        "AND source_partition_key = :key\n",
        "S1: a person's action brings a tombstone to life",
        _kit("test_e17_nobody_acts_on_a_tombstone"),
    ),
    Mutant(
        "PostgreSQL: acted on whatever was written since",
        _PEOPLE,
        'AND token = :token AND last_op = :seen_op"',
        'AND token = :token"',
        "S5: a person undoes what was never seen",
        _kit("test_seeing_it_free_means_seeing_its_last_write"),
    ),
    Mutant(
        "PostgreSQL: somebody else's lease released",
        _PEOPLE,
        "\"source_partition_status = 'ASSIGNED' AND token = :token AND nonce = :nonce\"",
        "\"source_partition_status = 'ASSIGNED'\"",
        "S5: a person takes the lease from an owner that was never seen",
        _kit("test_a_stale_view_is_refused"),
    ),
    Mutant(
        "PostgreSQL: released after its ending",
        _PEOPLE,
        "\"source_partition_status = 'ASSIGNED' AND token = :token AND nonce = :nonce\"",
        '"token = :token AND nonce = :nonce"',
        "S3: a person's release undoes a completion",
        _kit("test_e17_s2_one_of_many_people_acts_on_what_they_all_saw"),
    ),
    Mutant(
        "PostgreSQL: head records emptied though refused",
        _COMBINED,
        '"AND EXISTS (SELECT 1 FROM done)"',
        '""',
        "S12: a retract that comes late takes back what nobody has seen",
        _kit("test_e16_a_retract_of_what_was_never_seen_takes_nothing_back"),
    ),
    Mutant(
        "PostgreSQL: retracted beside staged blocks",
        _PEOPLE,
        '"AND staged IS NULL"',
        '""',
        "S12: what was retracted comes back with the block that follows it",
        _kit("test_e16_retract_is_refused_while_blocks_are_staged"),
    ),
    Mutant(
        "PostgreSQL: equal keys of other sources retracted",
        _PEOPLE,
        "WHERE source_identifier = :source AND source_partition_key = :key {when}",
        "WHERE source_partition_key = :key {when}",
        "S12: what another source has published vanishes",
        _kit("test_e16_what_another_source_published_under_the_same_key_stays"),
    ),
    Mutant(
        "PostgreSQL: whole source retracted",
        _PEOPLE,
        "WHERE source_identifier = :source AND source_partition_key = :key {when}",
        "WHERE source_identifier = :source {when}",
        "S12: what other partitions have published vanishes",
        _kit("test_e16_what_another_source_published_under_the_same_key_stays"),
    ),
    Mutant(
        "PostgreSQL: sweep waits",
        _SWEEP,
        _SWEEP_LOCK,
        "({query} FOR UPDATE))",
        "L3: a sweep waits for everybody's statements",
        _looks("a_sweep_passes_by_what_somebody_else_is_changing"),
    ),
    Mutant(
        "PostgreSQL: sweep locks nothing",
        _SWEEP,
        _SWEEP_LOCK,
        "({query}))",
        "L3: a sweep waits for everybody's statements",
        _looks("a_sweep_passes_by_what_somebody_else_is_changing"),
    ),
    Mutant(
        "PostgreSQL: swept without a second look",
        _SWEEP,
        "{found(dialect, due)} AND ({due}) IS TRUE",
        "{found(dialect, due)}",
        "S2: a search that errs ends a healthy lease",
        _looks("a_sweep_ends_nothing_that_is_not_due"),
    ),
    Mutant(
        "PostgreSQL: swept before it is due",
        _SWEEP,
        'due = f"timed = {timed:d} AND due_at <= {dialect.now} {also}"',
        'due = f"timed = {timed:d} {also}"',
        "S8: a sweep frees what is delayed or closed before its time",
        _kit("test_nothing_to_sweep"),
    ),
    Mutant(
        "PostgreSQL: swept whatever it waits for",
        _SWEEP,
        'due = f"timed = {timed:d} AND due_at <= {dialect.now} {also}"',
        'due = f"due_at <= {dialect.now} {also}"',
        "S8: what is delayed is reopened, and what is held too",
        _kit("test_an_expired_lease_is_reclaimed_in_its_place"),
    ),
    Mutant(
        "PostgreSQL: healthy lease reclaimed",
        _SWEEP,
        'WHERE {_swept(dialect, Timed.HELD, f"AND partition_ownership_timeout <= {dialect.now}")}',
        "WHERE {_swept(dialect, Timed.HELD)}",
        "S8: a renewed lease is reclaimed by the time in the index, which moves seldom",
        _looks("a_sweep_ends_nothing_that_is_not_due[postgres_store_url-_healthy]"),
    ),
    Mutant(
        "PostgreSQL: swept in every source",
        _SWEEP,
        "WHERE source_identifier = :source AND {due}",
        "WHERE {due}",
        "L2: what is due in other sources uses up the limit",
        _kit("test_e17_a_sweep_is_not_held_up_by_other_sources"),
    ),
    Mutant(
        "PostgreSQL: equal keys of other sources swept",
        _SWEEP,
        'return f"""source_identifier = :source AND source_partition_key {found',
        'return f"""source_partition_key {found',
        "S2: a sweep ends the leases of another source under its own limit",
        _kit("test_e17_a_sweep_is_not_held_up_by_other_sources"),
    ),
)
