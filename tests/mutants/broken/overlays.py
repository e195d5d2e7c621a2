"""Mutants of overlays: the walk, what a new overlay must cover, and what the collector leaves because of them."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_KEEPING, _MERGING, _OVERLAYS, _PUBLISHED = (
    f"outputs.{each}" for each in ("keeping", "merging", "overlays", "published")
)


def _kept(test: str) -> Tested:
    return Tested(f"tests/unit/outputs/test_keeping.py::{test}")


def _read(test: str) -> Tested:
    return Tested(f"tests/unit/outputs/test_overlays.py::{test}")


_BESIDE_INGEST = "test_s21_beside_ingest_exactly_what_is_published_is_read"

MUTANTS = (
    Mutant(
        "walk goes on behind a covered block",
        _PUBLISHED,
        "    return place is not None\n",
        "    return False\n",
        "S21: rows are read twice, or what is gone is read",
        _read("test_s21_rows_are_the_same_from_an_overlay"),
    ),
    Mutant(
        "walk forgets where a covered block is",
        _PUBLISHED,
        "        found[end.number].place = place\n",
        "        pass\n",
        "S21: covered rows are read by nobody",
        _read("test_s21_rows_are_the_same_from_an_overlay"),
    ),
    Mutant(
        "readers read overlays after head records",
        _PUBLISHED,
        "        overlays = overlays_of(store, identifier, dataset, by_index=True)\n"
        "        return overlays, [start for page in shown_pages(store, identifier, dataset, view) "
        "for start in starts_of(page)]\n",
        "        pages = list(shown_pages(store, identifier, dataset, view))\n"
        "        overlays = overlays_of(store, identifier, dataset, by_index=True)\n"
        "        return overlays, [start for page in pages for start in starts_of(page)]\n",
        "S21: beside a compaction a reader is told that a file is missing",
        _kept("test_s21_a_reader_reads_overlays_before_head_records"),
    ),
    Mutant(
        "an overlay covers by digest alone",
        _OVERLAYS,
        "return found if found and found.origin.key == key else None",
        "return found",
        "S21: a block is taken from what another partition has there",
        _read("test_a_digest_of_another_partition_covers_nothing"),
    ),
    Mutant(
        "the earliest epoch has a block",
        _OVERLAYS,
        "        for overlay in self.row:\n            number",
        "        for overlay in reversed(self.row):\n            number",
        "S21: rows are read from what an old epoch is about to give up",
        _kept("test_where_two_overlays_cover_a_block_the_later_epoch_has_it"),
    ),
    Mutant(
        "all rows of an overlay count",
        _OVERLAYS,
        "met=None if whole else numbers",
        "met=None",
        "S21: rows that were replaced or retracted are read",
        _read(_BESIDE_INGEST),
    ),
    Mutant(
        "one origin of an overlay is met",
        _OVERLAYS,
        "        numbers.setdefault(address, set()).add(place.number)\n",
        "        numbers[address] = {place.number}\n",
        "S21: rows are read by nobody",
        _read(_BESIDE_INGEST),
    ),
    Mutant(
        "a group lets go of what readers meet",
        _MERGING,
        "    for start in _met_of(present, (*relied_on, Overlay(group, new)), heads):\n",
        "    for start in ():\n",
        "S21: rows are lost that only the present overlay has",
        _read("test_s21_an_overlay_that_lets_go_of_what_readers_meet_is_refused"),
    ),
    Mutant(
        "the present overlay is not looked at",
        _MERGING,
        "Overlays((present, *instead))",
        "Overlays((*instead,))",
        "S21: a group lets go as long as originals are there, which may go at any time",
        _read("test_s21_an_overlay_that_lets_go_of_what_readers_meet_is_refused"),
    ),
    Mutant(
        "a group relies on others of its epoch",
        _MERGING,
        "if epoch_of(each.key) > epoch_of(group)))",
        "if epoch_of(each.key) >= epoch_of(group) and each.key != group))",
        "S21: two groups let go at once, each relying on the other",
        _read("test_s21_another_group_of_its_epoch_is_not_relied_on_and_one_of_a_later_epoch_is"),
    ),
    Mutant(
        "a group relies on nobody",
        _MERGING,
        "if epoch_of(each.key) > epoch_of(group)))",
        "if False))",
        "a group of an old epoch keeps its rows for ever, and is never given up",
        _read("test_s21_a_group_of_an_old_epoch_is_given_up_when_later_ones_have_everything"),
    ),
    Mutant(
        "a group is given up when later epochs have something",
        _MERGING,
        "    return not any(_met_of(present, of_later_epochs(overlays, group).row, heads))\n",
        "    needing = list(_met_of(present, of_later_epochs(overlays, group).row, heads))\n"
        "    return len(needing) < len(starts_of(heads))\n",
        "S21: rows are lost that only the present overlay has",
        _read("test_s21_a_group_of_an_old_epoch_is_given_up_when_later_ones_have_everything"),
    ),
    Mutant(
        "originals go unless it is told",
        "outputs.collector",
        "    if keep_originals is False or (keep_originals is None and originals_may_go(store)):\n",
        "    if True:\n",
        "S16: code that knows no overlays finds nothing where it reads",
        _kept("test_originals_stay_unless_it_is_told"),
    ),
    Mutant(
        "originals go by overlays of this moment",
        _KEEPING,
        "published_before=before)",
        "published_before=None)",
        "S21: files are deleted under who began to read before the overlay was there",
        _kept("test_s21_originals_stay_as_long_as_one_may_read_who_began_before_the_overlay"),
    ),
    Mutant(
        "originals go by overlays of one page",
        "outputs.heads.pages",
        "(page[-1].key, page[-1].dataset if dataset is None else None)",
        "(page[-1].key, None)",
        "S24: what overlays of the next page have is followed where it is gone, and its partition never tidied",
        _kept("test_s21_overlays_of_all_datasets_count"),
    ),
    Mutant(
        "replaced overlays go at once",
        _KEEPING,
        "        return set(self._told(written, lost))\n",
        "        return set()\n",
        "S21: rows that a worker has let go of by mistake are gone for good",
        _kept("test_s21_a_replaced_overlay_stays_while_nothing_else_has_what_readers_need"),
    ),
    Mutant(
        "replaced overlays go while others cannot be read",
        _KEEPING,
        "            return set(written)\n",
        "            return set()\n",
        "S21: what readers need is deleted because nobody could look",
        _kept("test_nothing_goes_by_overlays_that_cannot_be_read"),
    ),
    Mutant(
        "the marker goes before an overlay that stays",
        "outputs.collector",
        "if attempt.address not in attempts]",
        "]",
        "an overlay that stays is never tidied afterwards: nobody knows whose it is",
        _kept("test_s21_a_replaced_overlay_stays_while_nothing_else_has_what_readers_need"),
    ),
    Mutant(
        "a trail is walked behind what is gone",
        "outputs.manifests",
        "        if content and isinstance(content[0], FileNotFoundError):\n            break\n",
        "",
        "S24: who adds to a collected block is warned of nothing, again and again",
        _kept("test_s24_who_adds_to_what_is_gone_writes_its_trail_without_a_word"),
    ),
    Mutant(
        "a migration lets older code in again",
        "stores.sql.schema",
        "readable_by = max(READABLE_BY, facts.readable_by)",
        "readable_by = READABLE_BY",
        "S16: code that knows no overlays opens a store whose originals are gone",
        Tested("tests/unit/cli/test_outputs.py::test_s16_a_migration_leaves_outputs_enabled"),
    ),
    Mutant(
        "originals go before a person has said so",
        "protocol.beside.parts",
        "    return enabling is not None and enabling.outputs_enabled()\n",
        "    return enabling is not None\n",
        "S16: code that knows no overlays finds nothing where it reads",
        _kept("test_originals_stay_unless_it_is_told"),
    ),
    Mutant(
        "names of users are in nobody's way",
        "outputs.enabling",
        "            check_upkeep(source)\n",
        "            pass\n",
        "a user's source is taken for what was merged of another one",
        Tested("tests/unit/cli/test_outputs.py::test_names_of_users_that_begin_as_ours_are_in_the_way"),
    ),
)
