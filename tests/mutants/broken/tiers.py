"""Mutants of copies in tiers: what is copied, what readers of a tier meet, and what the duties drop."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_CHUNKS, _MAKING, _READING, _LOCATIONS = (
    f"outputs.copies.{each}" for each in ("chunks", "making", "reading", "locations")
)
_DECIDING, _STEPS, _GROUP = "planning.copies.deciding", "duties.copies.steps", "duties.copies.group"


def _copied(test: str) -> Tested:
    return Tested(f"tests/unit/outputs/copies/test_copies.py::{test}")


def _placed(test: str) -> Tested:
    return Tested(f"tests/unit/outputs/copies/test_locations.py::{test}")


def _run(test: str) -> Tested:
    return Tested(f"tests/unit/duties/copies/test_duties.py::{test}")


def _planned(test: str) -> Tested:
    return Tested(f"tests/properties/test_copies.py::{test}")


MUTANTS = (
    Mutant(
        "a copy is published whatever was written",
        _MAKING,
        "    if again != digest:\n",
        "    if not again:\n",
        "a copy is believed that is not what was published",
        _copied("test_a_file_that_arrives_otherwise_is_refused"),
    ),
    Mutant(
        "a copy is made of files of any size",
        _MAKING,
        "    if count != size:\n",
        "    if count < 0:\n",
        "a file that was changed is copied, and readers of the tier get other rows",
        _copied("test_a_file_that_was_changed_is_not_copied"),
    ),
    Mutant(
        "what is hidden is copied",
        _CHUNKS,
        "if head.blocks and hiding(view, head) is None]",
        "if head.blocks]",
        "files of hidden rows lie on in tiers",
        _copied("test_what_is_hidden_is_not_copied"),
    ),
    Mutant(
        "readers of a tier read files where they were published",
        "outputs.published",
        "there = manifest if shelf is None else replace(manifest, directory=shelf.directory(end.reference))",
        "there = manifest",
        "a tier is no tier: its readers need the published place",
        _copied("test_a_copy_gives_exactly_the_rows_that_are_published"),
    ),
    Mutant(
        "overlays among copies are not met",
        _READING,
        "    return Shelved(pieces, Overlays(tuple(row)))\n",
        "    return Shelved(pieces)\n",
        "what was merged is missing in a tier that has it",
        _copied("test_what_is_merged_is_copied_and_met_as_it_is_at_the_published_place"),
    ),
    Mutant(
        "a location that cannot be read is read all the same",
        _READING,
        "if site.tier in tiers and site.name not in unread}",
        "if site.tier in tiers}",
        "readers read what another store, or another location, may delete",
        _copied("test_what_lies_below_the_marker_of_another_location_is_not_read"),
    ),
    Mutant(
        "the collector takes what a copy has",
        "outputs.keeping",
        "for manifest in found for directory in manifest.directories}",
        "for manifest in found for directory in [manifest.directory]}",
        "files of published copies are deleted",
        _copied("test_the_collector_leaves_what_readers_of_a_copy_need_and_takes_the_rest"),
    ),
    Mutant(
        "an empty directory is marked again",
        _LOCATIONS,
        "    for site in new:\n",
        "    for site in wanted:\n",
        "an empty directory in the place of a disk is taken for the disk",
        _placed("test_a_location_without_its_marker_is_missing_and_nobody_marks_it_again"),
    ),
    Mutant(
        "a marker of another store is believed",
        _LOCATIONS,
        '        return "" if there == own else',
        '        return "" if there else',
        "two stores drop each other's copies",
        _placed("test_another_stores_location_is_missing_here_and_refused"),
    ),
    Mutant(
        "what is stale is relied on",
        _DECIDING,
        "    fresh = {copy for copy in look.copies if copy.fresh and copy.location in readable}\n",
        "    fresh = {copy for copy in look.copies if copy.published and copy.location in readable}\n",
        "the only copy with all that shows is dropped",
        _planned("test_no_run_makes_it_worse_and_runs_come_to_an_end"),
    ),
    Mutant(
        "what is going is relied on",
        _DECIDING,
        "    return [*found, *_needless(look, staying, readable, going)]\n",
        "    return [*found, *_needless(look, fresh, readable, going)]\n",
        "copies are dropped for others that are dropped in the same run",
        _planned("test_what_is_wanted_comes_to_be_there_where_there_is_room"),
    ),
    Mutant(
        "what is needless goes before what replaces it is there",
        _DECIDING,
        "        if any(each is None for each in held):\n            continue\n",
        "",
        "days go before their month is copied, and a tier lacks them",
        _run("test_what_was_merged_is_copied_as_a_whole_and_the_days_go_when_that_is_there"),
    ),
    Mutant(
        "one chunk of all times is made of another",
        _CHUNKS,
        "        return chunks_of(heads, overlays).get(ETERNITY, [])\n",
        "        return [head for head in heads if interval_of(head, None) is None]\n",
        "the worker makes an empty copy of a dataset that is one chunk, and the good ones go for it",
        _run("test_where_intervals_are_open_to_both_sides_the_dataset_is_copied_whole_before_its_days_go"),
    ),
    Mutant(
        "what is for all times takes the place of nothing",
        _DECIDING,
        "            if chunk.timed:\n",
        "            if chunk.timed and chunk.interval.is_bounded:\n",
        "days go before the whole dataset is copied, and a tier lacks them",
        _run("test_where_intervals_are_open_to_both_sides_the_dataset_is_copied_whole_before_its_days_go"),
    ),
    Mutant(
        "moves begin beside moves",
        _DECIDING,
        "threshold=threshold, most=most, pending=pending[tier])",
        "threshold=threshold, most=most)",
        "copies go to and fro",
        _run("test_balancing_makes_the_new_copy_before_the_old_goes"),
    ),
    Mutant(
        "a drop is done at first sight",
        _GROUP,
        'if _token(drop) in before["seen"].get(drop.name[0], ())]',
        "]",
        "what one run has seen wrongly is dropped at once",
        _run("test_a_copy_goes_when_two_runs_have_seen_that_it_is_too_much"),
    ),
    Mutant(
        "what a drop relies on is not touched",
        _STEPS,
        "                if (source, seen.key) not in self._touched:\n",
        "                if not source:\n",
        "S25: two leaders drop what the other keeps",
        _run("test_a_leader_that_wakes_up_late_drops_nothing_that_a_newer_one_relies_on"),
    ),
    Mutant(
        "a location is believed unseen when it is back",
        "duties.copies.lost",
        "            why = _odd(site, row)\n",
        "            why = None\n",
        "a disk that came back empty counts as having all copies",
        _run("test_a_location_that_comes_back_with_other_files_stays_lost"),
    ),
)
