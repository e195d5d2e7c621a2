"""Mutants of what gives shards of Kinesis their partitions, and of their end."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_SYNC, _ENDING, _READER = "systems.kinesis.sync", "systems.kinesis.shard_end", "systems.kinesis.landing"
_RANDOM = Tested(
    "tests/properties/test_kinesis_supplier.py::test_s11_s19_streams_are_resharded_while_suppliers_are_killed"
)


def _supplying(test: str) -> Tested:
    return Tested(f"tests/unit/systems/kinesis/test_supplying.py::{test}")


MUTANTS = (
    Mutant(
        "a first plan at LATEST is not kept",
        _SYNC,
        "            self._remember(self._known.planned(position, tuple(new.shard for new in planned)))\n",
        "            self._remember(replace(self._known, since=position.since))\n",
        "S11: a shard that is split before a killed supplier is followed is passed over",
        _supplying("test_s11_killed_at_every_store_call_and_resharded_meanwhile[LATEST-after]"),
    ),
    Mutant(
        "a driver creates what others wait for",
        _ENDING,
        "if any(source.looking.has_children(shard.stream.key(child.id)) for child in children):",
        "if False:",
        "a shard that lies before a leased one is read again",
        _RANDOM,
    ),
    Mutant(
        "children begin where somebody wants to today",
        _SYNC,
        "        planned = [self._goes_on(new) for new in planned]\n",
        "",
        "with another initial_position, records of children are skipped",
        _supplying("test_children_go_on_where_their_parents_have_begun"),
    ),
    Mutant(
        "LATEST begins again with what is open now",
        _SYNC,
        "begun = self._known.since if self.position is None else None",
        "begun = None",
        "after all leases were deleted, what a shard got before its split is skipped",
        _supplying("test_latest_begins_again_with_what_was_open_at_its_instant"),
    ),
    Mutant(
        "an end with records is the end",
        _READER,
        "self.exhausted = self.ended and not found",
        "self.exhausted = self.ended",
        "the last record of a shard is lost where Kinesis tells of the end with it",
        Tested(
            "tests/unit/systems/kinesis/test_shard_reader.py::test_an_end_that_comes_with_records_leaves_them_to_be_landed"
        ),
    ),
)
