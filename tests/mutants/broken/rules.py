"""Mutants of the operation table, each tried on the stores on which something can notice it.

The line that is broken is said once, in ``lines.py``; a table for each store says what has to catch it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from tests.mutants.broken.lines import LINES
from tests.mutants.mutant import Mutant, Simulated, Tested

_TABLE: Final = ("leases.rules", "leases.rule", "leases.people_rules", "leases.records")
"""The modules of the operation table; each line stands in one of them."""
_PACKAGE: Final = Path(__file__).parents[3] / "airflow_coordination"
"""Read, and not imported: a mutant has to come before the import."""
_SETTLING = "tests/unit/leases/test_settling.py"


def _memory(test: str) -> Tested:
    return Tested(f"tests/conformance/test_in_memory.py::TestInMemory::{test}")


def _sqlite(test: str) -> Tested:
    return Tested(f"tests/conformance/test_sqlite.py::TestSqlite::{test}")


def _postgresql(test: str) -> Tested:
    return Tested(f"tests/conformance/test_postgresql.py::TestPostgresql::{test}", postgresql=True)


def _dynamodb(test: str) -> Tested:
    return Tested(f"tests/simulation/dynamodb/test_conformance.py::TestSimulatedEngine::{test}")


def _looks(test: str) -> Tested:
    return Tested(f"tests/integration/stores/test_second_looks.py::test_e17_{test}", postgresql="postgres" in test)


_TAKES_NOTHING = "an_acquisition_takes_nothing_that_is_not_claimable"
_ENDS_NOTHING = "a_sweep_ends_nothing_that_is_not_due"

_STRICTER = "e11_a_tenure_without_an_owner_write_parks_nothing_by_a_stricter_limit"

_KIT: Final = {
    "taken at the last lost lease": "at_the_last_lost_lease_only_a_sweep_acts",
    "hint acquired whatever its token": "a_hint_holds_while_its_token_does",
    "retaken whatever was written since": "retaking_needs_the_last_write_as_seen",
    "retaken from another task": "retaking_is_for_later_tries_of_the_same_task",
    "retaken whatever the try": "retaking_is_for_later_tries_of_the_same_task",
    "retaken at its last lost lease": "retaking_stops_at_the_last_lost_lease",
    "token not raised": "s1_fences_are_never_given_twice",
    "limit not written with the lease": "e11_the_leases_limit_is_in_force_not_the_judges",
    "taken over without an ending": "an_expired_lease_is_taken_over_with_its_progress",
    "acquired as if a tenure ended": "the_ring_remembers_the_last_eight_tenures",
    "written without the fence": "s2_a_write_under_an_old_fence_is_refused_and_changes_nothing",
    "written after the ending": "s2_a_write_under_an_old_fence_is_refused_and_changes_nothing",
    "written without the nonce": "s2_the_token_alone_does_not_own",
    "written without the chain": "a_write_that_does_not_follow_the_last_one_is_refused",
    "adopted by an earlier try": "an_earlier_try_does_not_adopt",
    "renewal shortens": "a_renewal_never_shortens",
    "lost leases outlive a success": "a14_a_close_forgets_lost_leases",
    "time to reopen ignored": "closing_sets_when_it_reopens",
    "retry delay ignored": "failing_keeps_progress_and_staged_blocks_and_waits",
    "phantoms count as lost leases": "leases_that_saw_no_owner_write_count_nothing",
    "renewed tenures count as phantoms": "a_renewal_alone_makes_a_lost_lease_count",
    "lost lease does not count": "l5_the_last_lost_lease_parks_and_says_why",
    "last lost lease does not park": "l5_the_last_lost_lease_parks_and_says_why",
    "parked by a phantom with a stricter limit": _STRICTER,
    "reclaimed to the end of the line": "an_expired_lease_is_reclaimed_in_its_place",
    "tombstone acted on": "e17_nobody_acts_on_a_tombstone",
    "acted on whatever was written since": "seeing_it_free_means_seeing_its_last_write",
    "somebody else's lease released": "a_stale_view_is_refused",
    "released after its ending": "e17_s2_one_of_many_people_acts_on_what_they_all_saw",
    "retracted beside staged blocks": "e16_retract_is_refused_while_blocks_are_staged",
    "release without a token": "s1_ending_a_tenure_by_hand_uses_up_a_token",
    "reset keeps the generation": "reset_starts_afresh_in_a_new_generation",
    "action not audited": "actions_are_audited_oldest_first",
    "retracted for readers to see on": "e16_retract_empties_the_head_records_and_changes_nothing_else",
    "ending without a row": "x11_each_ending_is_a_row",
    "lost lease without a row": "x11_taking_over_an_expired_lease_is_one",
    "supplier with a row": "x11_suppliers_are_in_none",
}
"""The test of the kit that catches a line on every store."""

_IN_MEMORY: Final = {
    name: Simulated()
    for name in (
        "healthy lease taken",
        "token not raised",
        "nonce kept",
        "progress wiped by an acquisition",
        "staged blocks wiped by an acquisition",
        "renewed without the fence",
        "begun without the chain",
        "saved without the chain",
        "ended without the chain",
        "ending not remembered",
        "staged blocks stay after publication",
        "staged blocks cleared by every ending",
        "close not counted",
        "generation kept by a close without state",
        "retry delay ignored",
        "time to reopen ignored",
        "release without a token",
        "reset keeps staged blocks",
        "reset keeps progress",
        "reset keeps closedCount",
        "reopen keeps failures",
        "parked partition reopens",
        "taken at the last lost lease",
        "renewed tenures count as phantoms",
        "last lost lease does not park",
        "limit not written with the lease",
        "lost leases outlive a success",
    )
} | {
    name: _memory(f"test_{_KIT[name]}")
    for name in (
        "written without the nonce",
        "reset keeps the generation",
        "renewal shortens",
        "phantoms count as lost leases",
        "parked by a phantom with a stricter limit",
        "retracted beside staged blocks",
        "reclaimed to the end of the line",
        "retaken whatever the try",
        "retaken whatever was written since",
        "adopted by an earlier try",
        "somebody else's lease released",
        "action not audited",
        "retracted for readers to see on",
        "ending without a row",
        "lost lease without a row",
        "supplier with a row",
    )
}
_IN_MEMORY["ending without the operation before"] = Tested(
    f"{_SETTLING}::test_s6_a_save_applied_before_the_lease_was_lost_is_reported_as_applied"
)

_ON_SQLITE: Final = {
    name: Simulated("sqlite", operations=40_000)
    for name in (
        "healthy lease taken",
        "token not raised",
        "written without the fence",
        "written without the chain",
        "staged blocks stay after publication",
        "release without a token",
        "ending without head records",
    )
} | {
    name: _sqlite(f"test_{_KIT[name]}")
    for name in (
        "hint acquired whatever its token",
        "taken at the last lost lease",
        "limit not written with the lease",
        "lost leases outlive a success",
        "retaken whatever the try",
        "retaken whatever was written since",
        "taken over without an ending",
        "acquired as if a tenure ended",
        "written without the nonce",
        "renewal shortens",
        "time to reopen ignored",
        "retry delay ignored",
        "phantoms count as lost leases",
        "last lost lease does not park",
        "parked by a phantom with a stricter limit",
        "somebody else's lease released",
    )
}
_ON_SQLITE["healthy lease reclaimed"] = _looks(f"{_ENDS_NOTHING}[sqlite_url-_healthy]")
_ON_SQLITE["reopened before its time"] = _looks(f"{_ENDS_NOTHING}[sqlite_url-_closed]")

_ON_POSTGRESQL: Final = {
    name: _postgresql(f"test_{_KIT[name]}")
    for name in (
        "taken at the last lost lease",
        "hint acquired whatever its token",
        "retaken whatever was written since",
        "retaken from another task",
        "retaken whatever the try",
        "retaken at its last lost lease",
        "token not raised",
        "taken over without an ending",
        "written after the ending",
        "written without the nonce",
        "written without the chain",
        "adopted by an earlier try",
        "renewal shortens",
        "renewed tenures count as phantoms",
        "lost lease does not count",
        "parked by a phantom with a stricter limit",
        "tombstone acted on",
        "acted on whatever was written since",
        "somebody else's lease released",
        "released after its ending",
        "retracted beside staged blocks",
    )
} | {
    "key acquired whatever its state": _postgresql("test_what_is_held_is_not_given_to_a_second_owner"),
    "acquired without a second look": _looks(f"{_TAKES_NOTHING}[postgres_store_url-order-_healthy]"),
    "next one acquired without a second look": _looks(f"{_TAKES_NOTHING}[postgres_store_url-fused-_healthy]"),
    "healthy lease taken": _looks(f"{_TAKES_NOTHING}[postgres_store_url-fused-_healthy]"),
    "hint acquired whatever its state": _looks(f"{_TAKES_NOTHING}[postgres_store_url-hint-_closed]"),
    "healthy lease reclaimed": _looks(f"{_ENDS_NOTHING}[postgres_store_url-_healthy]"),
    "reclaimed whatever its status": _looks(f"{_ENDS_NOTHING}[postgres_store_url-_completed]"),
    "reopened before its time": _looks(f"{_ENDS_NOTHING}[postgres_store_url-_closed]"),
}

_ON_DYNAMODB: Final = {
    name: Simulated("dynamodb", operations=30_000)
    for name in (
        "written without the fence",
        "written without the chain",
        "hint acquired whatever its token",
        "healthy lease taken",
        "token not raised",
    )
} | {
    name: _dynamodb(f"test_{_KIT[name]}")
    for name in (
        "written without the nonce",
        "adopted by an earlier try",
        "lost leases outlive a success",
        "lost lease does not count",
        "phantoms count as lost leases",
        "taken over without an ending",
        "somebody else's lease released",
    )
}

_STORES: Final[tuple[tuple[str, Mapping[str, Simulated | Tested]], ...]] = (
    ("", _IN_MEMORY),
    ("SQL: ", _ON_SQLITE),
    ("PostgreSQL: ", _ON_POSTGRESQL),
    ("DynamoDB: ", _ON_DYNAMODB),
)


def _module_of(line: str) -> str:
    """Return where a line of the table stands; where it stands nowhere, the mutant itself says so."""
    return next((module for module in _TABLE if line in _text_of(module)), _TABLE[0])


@cache
def _text_of(module: str) -> str:
    return (_PACKAGE / f"{module.replace('.', '/')}.py").read_text()


MUTANTS = tuple(
    Mutant(f"{store}{name}", _module_of(LINES[name].old), *LINES[name], catcher)
    for store, catchers in _STORES
    for name, catcher in catchers.items()
)
