"""Mutants of the output: directories, manifests, the collector."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_COLLECTOR = "outputs.collector"
_NAMES = "outputs.lists.group_names"


def _collected(test: str) -> Tested:
    return Tested(f"tests/unit/outputs/test_collector.py::{test}")


def _manifest(test: str) -> Tested:
    return Tested(f"tests/unit/outputs/test_manifests.py::{test}")


def _in(file: str, test: str) -> Tested:
    return Tested(f"tests/unit/outputs/{file}.py::{test}")


def _out(file: str, test: str) -> Tested:
    return Tested(f"tests/unit/outputs/leaving_out/test_{file}.py::{test}")


def _names(test: str) -> Tested:
    return Tested(f"tests/unit/systems/objects/test_names_file.py::{test}")


MUTANTS = (
    Mutant(
        "readers obey every format and option",
        "outputs.manifests",
        "    check_format(manifest.format, manifest.options)\n",
        "",
        "D9: a publisher's manifest opens JDBC, or other files, in the reader's Spark",
        _manifest("test_d9_a_manifest_asks_a_readers_spark_for_nothing_but_how_text_is_understood"),
    ),
    Mutant(
        "readers load classes of a schema",
        "outputs.schemas",
        'if (kind.get("pyClass"), kind.get("class")) not in _SPARKS_OWN or "serializedClass" in kind:',
        "if False:",
        "D9: a publisher's manifest runs a pickle in the reader's process",
        _manifest("test_d9_a_schema_brings_no_class_along"),
    ),
    Mutant(
        "readers look only whether files are there",
        "outputs.attempts",
        "        if sizes.get(file.path) != file.size:\n",
        "        if file.path not in sizes:\n",
        "E1: a file that was cut or replaced gives other rows without a word",
        _in("test_block_checks", "test_e1_files_that_are_gone_cut_or_replaced_are_named"),
    ),
    Mutant(
        "collector takes lists that open notes name",
        "outputs.lists.long_notes",
        " and named is not None and file.path not in named:",
        " and named is not None:",
        "F6: what follows an ending is never done, because its list is gone",
        _in("test_long_notes", "test_f6_a_file_that_an_open_note_names_stays"),
    ),
    Mutant(
        "collector takes names that a plan needs",
        _NAMES,
        "        needed = set(_named(supplier.progress_text if supplier else None))\n",
        "        needed = set[str]()\n",
        "decision 168: the next run creates a partition of the plan whose names are gone",
        _in("test_group_names", "test_the_plan_of_a_killed_supplier_keeps_it"),
    ),
    Mutant(
        "collector judges names while a supplier runs",
        _NAMES,
        "supplier is not None and supplier.status is PartitionStatus.ASSIGNED:",
        "False:",
        "decision 168: a file goes that its plan is about to name",
        _in("test_group_names", "test_while_a_supplier_runs_nothing_is_judged"),
    ),
    Mutant(
        "collector takes names though a run has begun",
        _NAMES,
        "            if _run_of(self._supplier()) != self._seen:\n",
        "            if False:\n",
        "decision 168: a run finds the same names, trusts the file that is there, and it goes",
        _in("test_group_names", "test_once_a_run_has_begun_the_rest_stays"),
    ),
    Mutant(
        "collector looks at one page of partitions for names",
        _NAMES,
        "            after = page[-1].key\n",
        "            break\n",
        "decision 168: the names of a partition that waits are gone",
        _in("test_group_names", "test_many_partitions_are_looked_at"),
    ),
    Mutant(
        "values of one kind are compared with those of another",
        "outputs.leaving_out.conditions",
        "        if extremes is None or extremes.kind != self.kind:\n",
        "        if extremes is None:\n",
        "decision 170: a reader fails, or leaves out what Spark would have converted",
        _out("conditions", "test_what_is_not_known_of_the_column_is_read"),
    ),
    Mutant(
        "the greatest value that is asked for is not among them",
        "outputs.leaving_out.conditions",
        "extremes.least > self.greatest",
        "extremes.least >= self.greatest",
        "decision 170: rows are missing",
        _out("conditions", "test_a_file_is_left_out_when_its_values_are_all_outside"),
    ),
    Mutant(
        "row groups that say nothing are passed over",
        "outputs.leaving_out.extremes",
        "    if len(known) < len(bounds):\n",
        "    if not known:\n",
        "decision 170: rows are missing that are in another row group",
        _out("extremes", "test_all_row_groups_count_and_one_that_says_nothing_spoils_it"),
    ),
    Mutant(
        "unsigned numbers are read with a sign",
        "outputs.leaving_out.extremes",
        '        return (WHOLE, 1) if facts[2] else ("", 1)\n',
        "        return WHOLE, 1\n",
        "decision 170: rows are missing whose numbers are large",
        _out("extremes", "test_columns_of_which_it_does_not"),
    ),
    Mutant(
        "old days count though calendars differ",
        "outputs.leaving_out.extremes",
        "    too_old = kind in _OLDEST and least < _OLDEST[kind]\n",
        "    too_old = False\n",
        "decision 170: rows are missing that Spark reads by another calendar",
        _out("extremes", "test_columns_of_which_it_does_not"),
    ),
    Mutant(
        "values are believed of a file that was changed",
        "outputs.index",
        "if not proven or _is_proven(name, content, suffix) else ()",
        "",
        "decision 170: rows are missing because a file was cut or changed",
        _out("kept", "test_a_file_that_was_changed_or_cut_off_is_not_read"),
    ),
    Mutant(
        "a column in a file counts though its directory has one of that name",
        "outputs.leaving_out.kept",
        " if name.lower() not in outside",
        "",
        "decision 170: rows are missing whose value is in a directory's name",
        _out("kept", "test_a_column_that_is_in_directories_does_not_count_in_files"),
    ),
    Mutant(
        "names are read from a file that somebody has changed",
        "systems.objects.names_file",
        "        if found != self.sha256:\n",
        "        if False:\n",
        "decision 168: other objects are read than were listed, or none",
        _names("test_a_file_that_differs_is_never_read"),
    ),
    Mutant(
        "a plan is saved and nobody looks for its files",
        "systems.objects.scan",
        "                files.keep()\n",
        "                pass\n",
        "decision 168: a partition is created whose names a collector has just deleted",
        _names("test_what_is_deleted_before_the_plan_is_saved_is_written_again"),
    ),
    Mutant(
        "older suppliers supply a source of names in files",
        "systems.objects.supplier",
        'f"{mode}, names in files" if filed else mode',
        "mode",
        "S16: they take all objects in such files for new ones",
        _names("test_a_source_of_groups_may_begin_with_it_and_keeps_it_from_then_on"),
    ),
    Mutant(
        "one directory for all processes of a tenure",
        "outputs.layout",
        '    return f"{ATTEMPT}={fence}-{process}"\n',
        '    return f"{ATTEMPT}={fence}-"\n',
        "S12: a zombie driver writes into the blocks of the driver that follows it",
        _manifest("test_s12_two_processes_under_one_fence_have_directories_of_their_own"),
    ),
    Mutant(
        "key as a path",
        "outputs.layout",
        '    return f"{PARTITION}={digest}-{slug(key)}"\n',
        '    return f"{PARTITION}={digest}-{key}"\n',
        "X5: a partition key decides where files go",
        _manifest("test_x5_keys_never_become_paths"),
    ),
    Mutant(
        "one directory for two partitions",
        "outputs.layout",
        'hashlib.sha256(f"{len(source)}|{source}|{key}".encode())',
        'hashlib.sha256(f"{source}|{key}".encode())',
        "S12: partitions of two sources share a directory",
        _manifest("test_different_partitions_never_share_a_directory"),
    ),
    Mutant(
        "collector takes what is followed",
        _COLLECTOR,
        "for address, contents in attempt.blocks.items() if place_of(address) not in followed",
        "for address, contents in attempt.blocks.items()",
        "S12: published files are deleted",
        _collected("test_s12_what_counts_survives_and_losers_go"),
    ),
    Mutant(
        "collector forgets staged blocks",
        "outputs.keeping",
        "follow([*staged, *starts_of(heads)], self._trusted)",
        "follow(starts_of(heads), self._trusted)",
        "S12: blocks that the next ending will publish are deleted",
        _collected("test_s12_what_counts_survives_and_losers_go"),
    ),
    Mutant(
        "collector reads heads before the partition",
        _COLLECTOR,
        "        partition = self._store.get(self._source, key)\n"
        "        read = every_head(self._store, self._source, key=key)\n",
        "        read = list(every_head(self._store, self._source, key=key))\n"
        "        partition = self._store.get(self._source, key)\n",
        "S12: a block that an ending publishes between the reads is deleted",
        _collected("test_a_publisher_that_ends_between_the_reads_loses_nothing"),
    ),
    Mutant(
        "collector judges another store's tenures",
        "outputs.layout",
        "        if remembered not in (None, self.fence.nonce) or self.store_id not in (None, store_id):\n",
        "        if remembered not in (None, self.fence.nonce):\n",
        "S12, S18: what another deployment published below the same root is deleted",
        _collected("test_e2_two_stores_with_one_output_root_leave_each_other_alone"),
    ),
    Mutant(
        "collector takes from a tenure that goes on",
        _COLLECTOR,
        "over = partition is not None and fence.token <= partition.token and not partition.held_under(fence)",
        "over = partition is not None and fence.token <= partition.token",
        "S12: blocks are deleted while they are written",
        _collected("test_a_tenure_that_goes_on_keeps_everything"),
    ),
    Mutant(
        "collector takes young attempts",
        _COLLECTOR,
        "return newest <= datetime.now(UTC) - limit and all(",
        "return all(",
        "S12: files of which nobody knows yet are deleted",
        _collected("test_young_attempts_are_left_alone"),
    ),
    Mutant(
        "collector takes what readers are at",
        _COLLECTOR,
        "and all(at <= self._store.now() - limit for at in published)",
        "and bool(published or True)",
        "S12: files are deleted under a reader",
        _collected("test_a_replaced_publication_goes_once_no_reader_can_be_at_it"),
    ),
    Mutant(
        "collector takes from the future",
        _COLLECTOR,
        "partition is not None and fence.token <= partition.token and not",
        "partition is not None and not",
        "S12: after a restored backup the output of later tenures is deleted",
        _collected("test_a_fence_from_the_future_is_kept"),
    ),
)
