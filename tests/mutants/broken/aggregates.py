"""Mutants of what takes aggregates apart, and of places in a shard."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_AGGREGATION, _CHECKPOINT = "systems.kinesis.aggregation", "systems.kinesis.checkpoint"


def _unit(module: str, test: str) -> Tested:
    return Tested(f"tests/unit/systems/kinesis/test_{module}.py::{test}")


MUTANTS = (
    Mutant(
        "a damaged aggregate is read",
        _AGGREGATION,
        "if hashlib.md5(message, usedforsecurity=False).digest() != data[-_DIGEST:]:",
        "if False:",
        "data that only begins like an aggregate is taken apart",
        _unit("aggregation", "test_what_is_damaged_is_one_plain_record[another digest]"),
    ),
    Mutant(
        "an aggregate without a message is read",
        _AGGREGATION,
        "if not (data.startswith(MAGIC) and message):",
        "if not data.startswith(MAGIC):",
        "a record that holds magic and digest alone is lost; the KCL passes it on",
        _unit("aggregation", "test_what_is_damaged_is_one_plain_record[no message]"),
    ),
    Mutant(
        "a record without data is empty",
        _AGGREGATION,
        "if data is None or 1 not in numbers:",
        "if 1 not in numbers:",
        "a damaged record becomes an empty one",
        _unit("aggregation", "test_what_is_damaged_is_one_plain_record[no data]"),
    ),
    Mutant(
        "places are compared as text",
        _CHECKPOINT,
        "return int(self.sequence), self.sub",
        "return self.sequence, self.sub",
        "sequence number 10 comes before 9: records are skipped or read twice",
        _unit("checkpoint", "test_places_are_in_the_order_of_their_numbers"),
    ),
    Mutant(
        "text for max is not padded",
        _CHECKPOINT,
        "{self.sub:0{SUB_DIGITS}}",
        "{self.sub}",
        "sub-sequence number 10 comes before 2: the end of an aggregate is read twice",
        _unit("checkpoint", "test_places_are_in_the_order_of_their_numbers"),
    ),
)
