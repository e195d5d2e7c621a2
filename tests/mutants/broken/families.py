"""Mutants of parents and children (S19, S20)."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_EARLY = "S19: a child starts before its parent has finished"
_STUCK = "S20: a child waits for ever"


def _kit(store: str, test: str) -> Tested:
    name = {"in_memory": "InMemory", "sqlite": "Sqlite"}[store]
    return Tested(f"tests/conformance/test_{store}.py::Test{name}::test_{test}")


def _crossing(test: str) -> Tested:
    return Tested(f"tests/integration/families/test_crossing.py::test_{test}")


MUTANTS = (
    Mutant(
        "what waits has a time",
        "protocol.steps",
        "        available_at=None if waits_for else now,\n",
        "        available_at=now,\n",
        _EARLY,
        _kit("in_memory", "s19_a_child_waits_for_its_parent"),
    ),
    Mutant(
        "SQL: a completion asks not whether somebody waits",
        "stores.sql.statements.writes",
        'found = f"{ONE} AND {NOT_AWAITED}" if completes and not releases else ONE',
        "found = ONE",
        _STUCK,
        _kit("sqlite", "s20_the_step_that_completes_the_last_parent_releases_it"),
    ),
    Mutant(
        "SQL: sweeps release nobody",
        "stores.sql.store",
        "        released = self._release_stragglers(write)\n",
        "        released = 0\n",
        _STUCK,
        Tested(
            "tests/integration/upgrade/test_families.py::test_s19_s20_older_code_starts_no_child_and_what_it_completes_is_swept"
        ),
    ),
    Mutant(
        "DynamoDB: the stamp is not in the condition",
        "stores.dynamodb.children",
        "change.condition & Attr(it.AWAITED).eq(seen.awaited_op)",
        "change.condition",
        _STUCK,
        _crossing("s20_a_child_that_is_created_meanwhile_is_seen"),
    ),
    Mutant(
        "DynamoDB: children are not as seen",
        "stores.dynamodb.children",
        "    same = Attr(it.WAITS_FOR).eq(dump_keys(child.waits_for)) & Attr(it.CREATE_OP).eq(child.create_op)\n",
        "    same = Attr(it.CREATE_OP).eq(child.create_op)\n",
        _STUCK,
        _crossing("s20_two_parents_that_finish_at_once_both_arrive"),
    ),
    Mutant(
        "DynamoDB: a child of another creation is released",
        "stores.dynamodb.children",
        "    same = Attr(it.WAITS_FOR).eq(dump_keys(child.waits_for)) & Attr(it.CREATE_OP).eq(child.create_op)\n",
        "    same = Attr(it.SOURCE).exists()\n",
        _EARLY,
        _crossing("s19_a_child_that_is_made_anew_meanwhile_waits_for_its_new_parent"),
    ),
    Mutant(
        "DynamoDB: children are released one by one by an older look at their parent",
        "stores.dynamodb.children",
        "if status_in(self._partitions.some(call, source, [parent.key]), parent.key) is not PartitionStatus.COMPLETED:",
        "if False:",
        _EARLY,
        _crossing("s19_nor_by_a_sweep_that_goes_on_with_them"),
    ),
    Mutant(
        "what somebody still waits for is cleaned up",
        "leases.cleaning",
        "if any(one.key in child.waits_for for child in children):",
        "if False:",
        _STUCK,
        Tested("tests/integration/upgrade/test_families.py::test_s20_what_older_code_has_completed_is_not_cleaned_up"),
    ),
    Mutant(
        "what was cleaned up was never there",
        "protocol.rules",
        "    Action.CLEAN_UP: COMPLETED,",
        "",
        "a child that is discovered after its parent was cleaned up is refused",
        _kit("sqlite", "s20_a_child_that_names_it_later_need_not_wait"),
    ),
    Mutant(
        "SQLite: a cleaned-up parent does not exist",
        "stores.sql.statements.create",
        "(deleted = 0 OR source_partition_status = 'COMPLETED')",
        "deleted = 0",
        "a child that is discovered after its parent was cleaned up is refused",
        _kit("sqlite", "s20_a_child_that_names_it_later_need_not_wait"),
    ),
    Mutant(
        "a token says that a child has begun",
        "protocol.hierarchy",
        "return child.token > 0 and child.last_op != child.create_op",
        "return child.token > 0",
        "a parent goes while its child, which was deleted and made anew, has not begun",
        _kit("in_memory", "a_child_that_was_made_anew_and_not_acquired_since_has_not_begun"),
    ),
    Mutant(
        "children are cleaned up before their parents",
        "leases.cleaning",
        "[] if is_gone else [parent for parent in one.parents if self._is_left(parent)]",
        "[]",
        "a parent whose child has gone before it stays for ever",
        _kit("in_memory", "parents_go_before_their_children"),
    ),
    Mutant(
        "DynamoDB: what is cleaned up stays",
        "stores.dynamodb.changes",
        "if after.deleted or after.status is not PartitionStatus.COMPLETED:",
        "if after.status is not PartitionStatus.COMPLETED:",
        "the tombstones of what was cleaned up are never forgotten",
        Tested("tests/integration/dynamodb/test_families.py::test_what_was_cleaned_up_is_forgotten_in_a_week"),
    ),
)
