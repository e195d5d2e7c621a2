"""Mutants of what only SQLite is told, and of its steps of several statements; and of creations, on SQLite."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Simulated, Tested

_CREATE = "stores.sql.statements.create"
_STORE = "stores.sql.sqlite_store"
_SIMULATED = Simulated("sqlite", operations=40_000)


def _kit(test: str) -> Tested:
    return Tested(f"tests/conformance/test_sqlite.py::TestSqlite::{test}")


MUTANTS = (
    Mutant(
        "SQL: taken by the index's time alone",
        "stores.sql.statements.acquire",
        '        really = f"AND {age} <= {dialect.now}" + (""',
        '        really = "" + (""',
        "L3: a lease that was renewed holds up what is behind it, by the time in the index, which moves seldom",
        _kit("test_e17_a_renewed_lease_holds_up_nobody"),
    ),
    Mutant(
        "SQL: living partition created again",
        _CREATE,
        "updated_at = {now}\n        WHERE deleted = 1 AND create_op <> :op RETURNING 1",
        "updated_at = {now}\n        WHERE create_op <> :op RETURNING 1",
        "S3, S10: creating twice resets what is there",
        _SIMULATED,
    ),
    Mutant(
        "SQL: tombstone forgotten by a creation",
        _CREATE,
        "confirmed = 0, deleted = 0,",
        "confirmed = 0, deleted = 0, token = 0,",
        "S1: tokens start again after a deletion",
        _SIMULATED,
    ),
    Mutant(
        "SQL: next one acquired after a refusal",
        _STORE,
        "rows = self._acquire_in(run, end, following) if applied else ()",
        "rows = self._acquire_in(run, end, following)",
        "S1: a repeated fused step acquires a second partition under its nonce",
        _kit("test_a_repeated_step_acquires_nothing_more"),
    ),
    Mutant(
        "SQL: head records without the ending",
        _STORE,
        "        for record in step.records if rows else ():\n",
        "        for record in step.records:\n",
        "S12: readers see the output of an ending that was refused: published before the fence was looked at",
        _SIMULATED,
    ),
    Mutant(
        "SQL: audited though refused",
        _STORE,
        "        for record in step.records if rows else ():\n",
        "        for record in step.records:\n",
        "people's actions: the audit tells of one that was not carried out",
        _kit("test_a_stale_view_is_refused"),
    ),
    Mutant(
        "SQL: no records in one transaction",
        _STORE,
        "            return self._carry_out_in(run, step)\n",
        "            return self._carry_out_in(run, Step(step.build, step.shape, step.parameters, ()))\n",
        "S12: output that was accepted is never seen",
        _SIMULATED,
    ),
)
