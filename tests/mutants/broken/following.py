"""Mutants of what follows endings at their source (S27)."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested


def _doing(test: str) -> Tested:
    return Tested(f"tests/unit/duties/test_doing.py::test_{test}")


def _objects(test: str) -> Tested:
    return Tested(f"tests/unit/systems/objects/test_objects.py::test_{test}")


def _kit(store: str, test: str) -> Tested:
    name = {"in_memory": "InMemory", "sqlite": "Sqlite"}[store]
    return Tested(f"tests/conformance/test_{store}.py::Test{name}::test_s27_{test}")


MUTANTS = (
    Mutant(
        "a close loses what follows it",
        "leases.coordinator",
        "wait=after, counted=counted, then=note, interval=interval)",
        "wait=after, counted=counted, interval=interval)",
        "S27: what follows a pass is done by its driver or never",
        _kit("in_memory", "a_close_may_have_one_and_a_note_that_is_too_long_ends_nothing"),
    ),
    Mutant(
        "PostgreSQL: noted though refused",
        "stores.sql.statements.writes",
        ':follow_up, {dialect.now} {"FROM done" if inside else ""}',
        ":follow_up, {dialect.now}",
        "S27: something follows an ending that was refused",
        Tested("tests/conformance/test_postgresql.py::TestPostgresql::test_s27_a_refused_ending_notes_nothing"),
    ),
    Mutant(
        "clearing a note clears all of its partition",
        "stores.sql.statements.writes",
        "        AND token = :token AND op = :op RETURNING 1",
        "        RETURNING 1",
        "S27: the note of a later pass goes with that of the one before",
        _kit("sqlite", "each_pass_has_its_own_note_and_only_the_named_one_goes"),
    ),
    Mutant(
        "a page of notes begins with the last one",
        "stores.sql.statements.writes",
        "(source_partition_key, token, {op}) > (",
        "(source_partition_key, token, {op}) >= (",
        "what is left is read for ever",
        _kit("sqlite", "notes_are_listed_by_key_and_tenure_in_pages"),
    ),
    Mutant(
        "a note goes before it is done",
        "duties.follow_ups",
        "    try:\n        carried = sum((_",
        "    coordinator.follow_ups.clear_follow_up(note)\n    try:\n        carried = sum((_",
        "S27: what a process does not live to do is never done",
        _doing("what_cannot_be_done_stays_and_keeps_nothing_else"),
    ),
    Mutant(
        "whatever is there is deleted",
        "systems.objects.file_marks",
        "        return found.is_of(meant) and _deleted(address, found)\n",
        "        return _deleted(address, found)\n",
        "S27: an object that nobody has read is deleted",
        _objects("what_was_written_again_is_left_alone_and_named"),
    ),
    Mutant(
        "a size says which version it is",
        "systems.objects.file_marks",
        "        return (self.size, self.modified) == (other.size, other.modified)\n",
        "        return self.size == other.size\n",
        "S27: an object that was written again with as many bytes is deleted",
        _objects("what_was_written_again_is_left_alone_and_named"),
    ),
    Mutant(
        "what another machine has is gone",
        "systems.objects.file_marks",
        "            if is_local(address) and not filesystem.isdir(parent(path)):\n",
        "            if False:\n",
        "S27: a note is taken away by a machine that does not see the files",
        _objects("a_directory_of_another_machine_is_not_gone"),
    ),
    Mutant(
        "the version of a listing is not asked for",
        "systems.objects.deletion",
        '    if isinstance(path, str) and path and "size" in payload:\n',
        "    if path is payload:\n",
        "S27: what was written after it was listed, and perhaps not read, is deleted",
        _objects("a_listing_says_which_version_is_meant"),
    ),
    Mutant(
        "a list that was changed is followed",
        "duties.follow_ups",
        "    if _digest(content) != digest:\n",
        "    if not digest:\n",
        "S27: others decide what is deleted",
        _doing("a_list_that_is_not_as_it_was_written_is_not_followed"),
    ),
    Mutant(
        "ten failures in a row are never forgotten",
        "duties.follow_ups",
        "            failures.forget(places)\n",
        "",
        "S27: a place that answers is given up for failures of long ago",
        _doing("small_x9_failures_in_a_row_are_counted_anew_after_a_success"),
    ),
    Mutant(
        "a note is its own right",
        "duties.follow_ups",
        "            if not rights.allow(place):\n",
        "            if rights is None:\n",
        "F4: who may write into the store says what the supplier deletes and calls",
        Tested("tests/unit/systems/test_rights.py::test_f4_what_nobody_has_allowed_stays_and_says_how_it_is_allowed"),
    ),
    Mutant(
        "one odd note stops the others",
        "duties.follow_ups",
        "    except Exception as error:  # a library",
        "    except OSError as error:  # a library",
        "F1: a missing library stops every run of a supplier",
        Tested("tests/unit/duties/test_odd_notes.py::test_f1_a_library_that_is_missing_keeps_nothing_else"),
    ),
    Mutant(
        "a group is not compared with what was listed",
        "systems.objects.deletion",
        "            if any(self._digest(root, found) == self.digest for root in self._roots()):\n",
        "            if found:\n",
        "F2: an object of a group that was written again after it was read is deleted",
        _objects("f2_a_group_of_which_one_was_written_again_after_it_was_listed_is_left_and_said"),
    ),
    Mutant(
        "a message that is not deleted is passed over once another is",
        "systems.sqs.deletion",
        '                if each["Code"] not in GONE:\n',
        '                if each["Code"] not in _GONE and not left:\n',
        "S27: a note is taken away although a message of it is still there",
        Tested("tests/unit/systems/sqs/test_messages.py::test_small_x9_a_refusal_counts_beside_a_message_that_is_gone"),
    ),
    Mutant(
        "a group's offset goes back",
        "systems.kafka.offsets",
        "if each.offset > known.offset]",
        "if each.offset != known.offset]",
        "S27: a pass that is followed up late takes the group back behind the next one",
        Tested("tests/integration/kafka/test_offsets.py::test_s27_a_group_never_goes_back"),
    ),
    Mutant(
        "what is to follow a parking follows without it",
        "protocol.follow_up",
        "    if not partition.parked or partition.on_parked is None:\n",
        "    if partition.on_parked is None:\n",
        "S27: a message is given again while its partition is worked on",
        _kit("in_memory", "what_is_not_parked_is_not_followed"),
    ),
    Mutant(
        "what follows a parking outlives a reset by older code",
        "stores.sql.statements.writes",
        " AND on_parked IS NOT NULL AND {_OF_THIS_LIFE}",
        " AND on_parked IS NOT NULL",
        "S27: what was said of another life is done",
        _kit("sqlite", "it_lies_beside_what_another_generation_has_left"),
    ),
)
