"""Mutants of what only PostgreSQL is told: searching, locking, fused steps, creations; each tried on a real server.

The conditions of its steps are those of the operation table: their mutants are in ``rules.py`` and ``rendering.py``.
Left out, because nothing can tell it from the code as it is, is that a fused step leaves out what it ends: PostgreSQL
locks and changes no row twice in one statement.
"""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

ORDER = "stores.sql.statements.acquire"
_COMBINED = "stores.sql.postgres_store"
_CREATE = "stores.sql.statements.create"
_FLOORS = "stores.sql.queue"
_GIVEN = "stores.sql.steps"
_READ = "stores.sql.statements.read"
_RECORDS = "stores.sql.statements.writes"
_USED_UP = "stores.sql.queue"
_SWEEP = "stores.sql.statements.writes"


def kit(test: str) -> Tested:
    """Return the conformance kit's test on a real server."""
    return Tested(f"tests/conformance/test_postgresql.py::TestPostgresql::{test}", postgresql=True)


def looks(test: str) -> Tested:
    """Return a test of what an update looks at itself."""
    return Tested(f"tests/integration/stores/test_second_looks.py::test_e17_{test}", postgresql=True)


def _plans(test: str) -> Tested:
    return Tested(f"tests/integration/stores/test_plans.py::test_{test}", postgresql=True)


def _floors(test: str) -> Tested:
    return Tested(f"tests/integration/stores/test_used_up.py::test_e15_{test}", postgresql=True)


_READY_LOCK = '{_ORDER} LIMIT 1 FOR UPDATE SKIP LOCKED"""'
_TIMED_LOCK = '{_ANY_AGE}, ordinal LIMIT 1 FOR UPDATE SKIP LOCKED"""'
_FREE_HELD = "OR partition_ownership_timeout <= {dialect.now} AND {MAY_BE_LOST})"
_SWEEP_LOCK = "({query} FOR UPDATE SKIP LOCKED))"
_PASSES = "an_acquisition_passes_by_what_somebody_else_is_taking"
_ENDS_NOTHING = "a_sweep_ends_nothing_that_is_not_due[postgres_store_url"

_SEARCHING = (
    (
        "ready row not locked",
        _READY_LOCK,
        '{_ORDER} LIMIT 1"""',
        "L3: all workers run after one row",
        f"{_PASSES}[_returned]",
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
        "behind_a_busy_row_another_source_holds_up_nobody[_returned]",
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
    *(Mutant(f"PostgreSQL: {name}", ORDER, old, new, what, looks(test)) for name, old, new, what, test in _SEARCHING),
    Mutant(
        "PostgreSQL: free row of any ready class",
        ORDER,
        "AND ready = head.ready {only}",
        "AND ready IS NOT NULL {only}",
        "S9: a new partition goes before a crashed one",
        kit("test_s9_priority_decides_inside_a_class_only"),
    ),
    Mutant(
        "PostgreSQL: free row of any timed class",
        ORDER,
        "AND timed = head.timed AND due_at",
        "AND due_at",
        "S9: a reopened partition goes before a crashed one",
        kit("test_s9_priority_decides_inside_a_class_only"),
    ),
    Mutant(
        "PostgreSQL: branches of a class in any order",
        ORDER,
        'heads = f"SELECT * FROM ({_union(branches)}) AS heads {_ORDER}"',
        'heads = f"SELECT * FROM ({_union(branches)}) AS heads ORDER BY ordinal DESC"',
        "S9: the newest of a class goes first",
        kit("test_s9_fail_give_up_and_release_return_to_the_old_place"),
    ),
    Mutant(
        "PostgreSQL: looked at before it is due",
        ORDER,
        "AND timed = {timed:d} AND due_at <= {dialect.now}\n        {not_used_up(dialect)} {really}",
        "AND timed = {timed:d}\n        {not_used_up(dialect)} {really}",
        "S8: hints of what is delayed or closed",
        kit("test_e17_hints_are_of_what_is_due"),
    ),
    Mutant(
        "PostgreSQL: looked at while its lease is renewed",
        ORDER,
        'really = f"AND {age} <= {dialect.now}" + (""',
        'really = "" + (""',
        "S8: hints of what is held",
        kit("test_e17_a_renewed_lease_holds_up_nobody"),
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
        ORDER,
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
        ORDER,
        "        AND (priority, position, ordinal) >= (head.priority, head.position, head.ordinal)\n"
        "        AND priority <= head.last AND position >= head.low {_ORDER}",
        "        {_ORDER}",
        "P4: a held snapshot makes every acquisition walk over all that is used up",
        _plans("e17_an_acquisition_from_the_mark_walks_over_nothing_that_is_used_up"),
    ),
    Mutant(
        "PostgreSQL: next key waited for",
        _COMBINED,
        'FOR UPDATE SKIP LOCKED)"""',
        'FOR UPDATE)"""',
        "L3: two fused steps that cross wait for each other",
        looks("a_fused_step_waits_for_nobody[busy]"),
    ),
    Mutant(
        "PostgreSQL: living partition created again",
        _CREATE,
        "AND p.deleted = 1\n            AND p.source_partition_key",
        "AND p.deleted >= 0\n            AND p.source_partition_key",
        "S3, S10: creating twice resets what is there",
        kit("test_s10_creating_again_changes_nothing_in_any_status"),
    ),
    Mutant(
        "PostgreSQL: tombstone revived by its own creation",
        _CREATE,
        "AND p.create_op <> :op RETURNING 1)",
        "RETURNING 1)",
        "S10: a repeated message undoes a person's deletion",
        kit("test_a_tombstone_is_not_revived_by_a_repeated_old_creation"),
    ),
    Mutant(
        "PostgreSQL: tombstones of other sources revived",
        _CREATE,
        "AND p.source_identifier = :source AND p.deleted = 1",
        "AND p.deleted = 1",
        "S10: one source's creation revives what was deleted in another",
        kit("test_e17_what_other_sources_have_says_nothing"),
    ),
    Mutant(
        "PostgreSQL: creations compared with other sources",
        _CREATE,
        "ON p.source_identifier = :source AND p.source_partition_key = given.key)",
        "ON p.source_partition_key = given.key)",
        "S10: what another source has counts as existing",
        kit("test_e17_what_other_sources_have_says_nothing"),
    ),
    Mutant(
        "PostgreSQL: creations in any order",
        _CREATE,
        "(SELECT number FROM page) * {PLACES_PER_PAGE} + given.place",
        "(SELECT number FROM page) * {PLACES_PER_PAGE} - given.place",
        "S9: new partitions do not keep the supplier's order",
        kit("test_s9_new_ones_keep_the_suppliers_order"),
    ),
    Mutant(
        "PostgreSQL: next one acquired after a refusal",
        _COMBINED,
        'also="EXISTS (SELECT 1 FROM done) AND"',
        'also=""',
        "S1: a repeated fused step acquires a second partition under its nonce",
        kit("test_a_refused_completion_acquires_nothing"),
    ),
    Mutant(
        "PostgreSQL: fused step without records",
        _COMBINED,
        'f"done AS ({done}){ended}"',
        'f"done AS ({done})"',
        "S12: what a fused step publishes is never seen",
        kit("test_both_halves"),
    ),
    Mutant(
        "PostgreSQL: fused step that forgets whom it takes over from",
        _COMBINED,
        ", following AS ({following}){beside}",
        ", following AS ({following})",
        "X11: a lost lease has no row",
        kit("test_x11_completing_one_and_acquiring_an_expired_one_are_two"),
    ),
    Mutant(
        "PostgreSQL: sweep that fails with its thinning",
        "stores.sql.store",
        "except CoordinationError as error:",
        "except KeyError as error:",
        "X11: what a sweep has reclaimed is not heard of, and no later sweep succeeds",
        Tested(
            "tests/integration/stores/test_history_attacks.py"
            "::test_a_history_that_cannot_be_thinned_hides_nothing_that_was_swept",
            postgresql=True,
        ),
    ),
    Mutant(
        "PostgreSQL: ending refused for its history",
        "stores.sql.statements.step",
        ") DO NOTHING",
        ") DO UPDATE SET token = -1, nonce = 1 / 0",
        "X11: a row that a restored copy brought refuses an ending",
        Tested(
            "tests/integration/stores/test_history.py::test_x11_a_row_that_is_there_refuses_nothing[postgresql]",
            postgresql=True,
        ),
    ),
    Mutant(
        "PostgreSQL: head records without the ending",
        _RECORDS,
        "{dialect.now} FROM done\n            CROSS JOIN unnest",
        "{dialect.now} FROM\n            unnest",
        "S12: readers see the output of an ending that was refused",
        kit("test_s12_a_refused_ending_moves_nothing"),
    ),
    Mutant(
        "PostgreSQL: audited though refused",
        _RECORDS,
        'CAST(:batch AS TEXT)\n        {"FROM done" if inside else ""}',
        "CAST(:batch AS TEXT)",
        "people's actions: the audit tells of one that was not carried out",
        kit("test_e17_s2_one_of_many_people_acts_on_what_they_all_saw"),
    ),
    Mutant(
        "PostgreSQL: head records emptied though refused",
        _RECORDS,
        '{"AND EXISTS (SELECT 1 FROM done)" if inside else ""}',
        "",
        "S12: a retract that comes late takes back what nobody has seen",
        kit("test_e16_a_retract_of_what_was_never_seen_takes_nothing_back"),
    ),
    Mutant(
        "PostgreSQL: one head record of many",
        _GIVEN,
        "[row[field.column] for row in found]",
        "[row[field.column] for row in found[:1]]",
        "S12: an ending publishes to one of its datasets only",
        kit("test_one_ending_publishes_to_several_datasets"),
    ),
    Mutant(
        "PostgreSQL: sweep waits",
        _SWEEP,
        _SWEEP_LOCK,
        "({query} FOR UPDATE))",
        "L3: a sweep waits for everybody's statements",
        looks("a_sweep_passes_by_what_somebody_else_is_changing"),
    ),
    Mutant(
        "PostgreSQL: sweep locks nothing",
        _SWEEP,
        _SWEEP_LOCK,
        "({query}))",
        "L3: a sweep waits for everybody's statements",
        looks("a_sweep_passes_by_what_somebody_else_is_changing"),
    ),
    Mutant(
        "PostgreSQL: swept without a second look",
        _SWEEP,
        " AND ({due}) IS TRUE",
        "",
        "S8: a search that errs queues what is delayed, and what is held",
        looks(f"{_ENDS_NOTHING}-_delayed]"),
    ),
    Mutant(
        "PostgreSQL: swept before it is due",
        _SWEEP,
        'due = f"timed = {Timed.DELAYED:d} AND due_at <= {dialect.now}"',
        'due = f"timed = {Timed.DELAYED:d}"',
        "S8: a search that errs queues what is delayed before its time",
        looks(f"{_ENDS_NOTHING}-_delayed]"),
    ),
    Mutant(
        "PostgreSQL: swept whatever it waits for",
        _SWEEP,
        'due = f"timed = {Timed.DELAYED:d} AND due_at <= {dialect.now}"',
        'due = f"due_at <= {dialect.now}"',
        "S8: a search that errs queues what is held, by the time in the index, which moves seldom",
        looks(f"{_ENDS_NOTHING}-_healthy]"),
    ),
    Mutant(
        "PostgreSQL: searched whatever it waits for",
        _SWEEP,
        'due = f"timed = {timed:d} AND due_at <= {dialect.now} {also}"',
        'due = f"due_at <= {dialect.now} {also}"',
        "L2: what is due for something else, and longer, uses up the limit of a sweep",
        kit("test_a_sweep_takes_at_most_its_limit_of_each"),
    ),
    Mutant(
        "PostgreSQL: renewed leases use up the limit",
        _SWEEP,
        'f"AND partition_ownership_timeout <= {dialect.now}"',
        '""',
        "L2: what is renewed keeps what is expired from being reclaimed",
        kit("test_e17_a_sweep_is_not_held_up_by_renewed_leases"),
    ),
    Mutant(
        "PostgreSQL: equal keys of other sources swept",
        _SWEEP,
        'return f"source_identifier = :source AND source_partition_key {found',
        'return f"source_partition_key {found',
        "S2: a sweep ends the leases of another source under its own limit",
        kit("test_e17_a_sweep_is_not_held_up_by_other_sources"),
    ),
    Mutant(
        "PostgreSQL: swept in every source",
        _SWEEP,
        "WHERE source_identifier = :source AND {due}",
        "WHERE {due}",
        "L2: what is due in other sources uses up the limit",
        kit("test_e17_a_sweep_is_not_held_up_by_other_sources"),
    ),
    Mutant(
        "PostgreSQL: a lost lease has no age",
        _READ,
        "UNION ALL SELECT expired_since",
        "",
        "nobody is told that a source of lost leases waits",
        kit("test_the_oldest_claimable_is_as_old_as_its_time[False]"),
    ),
    Mutant(
        "PostgreSQL: only fresh ones have an age",
        _READ,
        "for ready in Ready]",
        "for ready in (Ready.FRESH,)]",
        "nobody is told that what was swept waits",
        kit("test_the_oldest_claimable_is_as_old_as_its_time[True]"),
    ),
)
