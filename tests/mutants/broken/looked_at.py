"""Mutants of a look at a branch, of what it is compared with, and of its way into another store."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested


def _look(test: str) -> Tested:
    return Tested(f"tests/unit/duties/branches/test_look.py::test_{test}")


def _rows(test: str) -> Tested:
    return Tested(f"tests/integration/spark/test_branch_look.py::test_{test}")


def _types(test: str) -> Tested:
    return Tested(f"tests/unit/outputs/test_shown_only.py::test_{test}")


def _moved(test: str) -> Tested:
    return Tested(f"tests/integration/transfer/test_branches.py::test_{test}")


MUTANTS = (
    Mutant(
        "a look says that what was published since changes",
        "duties.branches.look",
        "        if newest(self._with, heads) is not own:\n",
        "        if False:\n",
        "S22: whoever looks expects rows that readers never see",
        _look("what_has_published_in_the_base_since_stays"),
    ),
    Mutant(
        "a look knows nothing of what is hidden",
        "duties.branches.look",
        "hidden = hiding(self._with, after) if after and after.blocks else None",
        "hidden = None",
        "S22: rows are promised that do not show",
        _look("each_partition_of_the_branch_is_one_of_seven_kinds"),
    ),
    Mutant(
        "a branch that shows is compared with itself",
        "duties.branches.look",
        "looked = _Look(without, with_it, number, partitions)",
        "looked = _Look(view, with_it, number, partitions)",
        "S22: nobody learns what a roll back would change",
        _look("it_says_what_publication_then_shows"),
    ),
    Mutant(
        "a look is taken under two views",
        "duties.branches.look",
        "    return steadily(store, source, read)",
        "    from airflow_coordination.outputs.heads.showing import read_view\n\n"
        "    return read(read_view(store, source))",
        "S22: half of it is as of before a change, half as of after it",
        _look("a_view_that_changes_meanwhile_is_read_again"),
    ),
    Mutant(
        "rows are counted and not compared",
        "spark.branch_look",
        "same=was == now",
        "same=was[0] == now[0]",
        "a wrong row is published by whoever has looked",
        _rows("one_wrong_row_in_one_partition_is_named"),
    ),
    Mutant(
        "rows that both sides lack are the same",
        "spark.branch_look",
        "        if read < rows:\n",
        "        if False:\n",
        "two partitions of which nothing was read are called equal",
        _rows("rows_that_are_read_for_no_partition_are_refused"),
    ),
    Mutant(
        "a branch is compared with the base alone",
        "outputs.schema_compatibility",
        "view = view if branch is None else as_if_published(view, branch)",
        "view = view",
        "E12: two types of one column come together when it shows",
        _types("e12_a_branch_may_change_the_type_of_all_it_has"),
    ),
    Mutant(
        "what runs in a branch is not compared with the base",
        "outputs.schema_compatibility",
        "return partition.branch is None or partition.branch in view.shown",
        "return True",
        "E12: it shows still, and is read together with what does not fit",
        _types("e12_beside_a_branch_the_base_is_compared_with_what_shows"),
    ),
    Mutant(
        "a partition that was created in a branch moves out of it",
        "leases.moving",
        "if one is None or self.heads or one.branch is not None:",
        "if one is None or self.heads:",
        "S22: it publishes at once, and for itself",
        _moved("a_partition_that_was_created_in_a_branch_stays_in_it"),
    ),
    Mutant(
        "a store that lets older code in takes branches",
        "transfer.documents",
        "if branches and not (has.enabling is not None and has.enabling.branches_enabled()):",
        "if False:",
        "S16, S22: older code shows what is hidden",
        _moved("a_store_that_lets_code_in_that_knows_no_branches_is_refused"),
    ),
    Mutant(
        "a view that changed meanwhile is exported as it was",
        "transfer.exporting",
        "if documents_of(coordinator) != documents:",
        "if False:",
        "S22: what was hidden during the export shows in the new store",
        _moved("a_view_that_changes_while_it_is_written_is_no_export"),
    ),
    Mutant(
        "another view is taken for the one in the file",
        "transfer.documents",
        "if document.name == VIEW and _stays(coordinator, document):",
        "if False:",
        "S22: partitions come into somebody else's branch of the same number",
        _moved("another_view_here_is_refused_and_other_rules_stay"),
    ),
)
