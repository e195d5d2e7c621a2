"""Mutants of the plain steps: what the rules leave to them, creation, and the words on plain values."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_STEPS = "protocol.steps"
_WORDS = "protocol.algebra"


def _kit(test: str) -> Tested:
    return Tested(f"tests/conformance/test_in_memory.py::TestInMemory::{test}")


MUTANTS = (
    Mutant(
        "acquired before it is due",
        _WORDS,
        "            return not partition.deleted and self.at_most(partition.available_at, now)\n",
        "            return not partition.deleted\n",
        "S8: a failed partition is acquired before availableAt",
    ),
    Mutant(
        "closed one acquired before its time",
        _WORDS,
        "        return partition.status is PartitionStatus.CLOSED and self.at_most(partition.reopen_at, now)\n",
        "        return partition.status is PartitionStatus.CLOSED\n",
        "S8: a closed partition is acquired before reOpenAt, a parked one without anybody's doing",
    ),
    Mutant(
        "tombstone acquired",
        _WORDS,
        "            return not partition.deleted and self.at_most(partition.available_at, now)\n",
        "            return self.at_most(partition.available_at or now, now)\n",
        "S1: what was deleted is acquired",
        _kit("test_delete_leaves_a_tombstone_that_nothing_finds"),
    ),
    Mutant(
        "judged by the judge's own limit",
        _WORDS,
        "(own if limit is None else limit)",
        "own",
        "E11: a sensor parks by its own setting what a task has acquired with another",
    ),
    Mutant(
        "ending in the slot beside",
        _WORDS,
        "slot = partition.token % RING_SIZE",
        "slot = (partition.token + 1) % RING_SIZE",
        "S6: the ending is not found where it is looked for",
    ),
    Mutant(
        "retaken by the same try",
        _WORDS,
        "bool(one < other)",
        "bool(one <= other)",
        "S2: two tasks of one try take a partition from each other",
        _kit("test_retaking_is_for_later_tries_of_the_same_task"),
    ),
    Mutant(
        "action on what it is not for",
        _STEPS,
        "    if isinstance(write, Act) and not possible(write):\n        return None\n",
        "",
        "S3: a person releases what is completed",
        _kit("test_the_state_table_decides_which_action_is_possible"),
    ),
    Mutant(
        "tombstone forgotten by a creation",
        _STEPS,
        "    return replace(fresh, token=existing.token, nonce=existing.nonce, ring=existing.ring)\n",
        "    return fresh\n",
        "S1: tokens start again after a deletion",
    ),
    Mutant(
        "completed partition created again",
        _STEPS,
        "    return existing is None or (existing.deleted and existing.create_op != op)\n",
        "    return existing is None or existing.deleted or existing.status is PartitionStatus.COMPLETED\n",
        "S3, S10: COMPLETED is not final",
    ),
    Mutant(
        "creation forgotten by a tombstone",
        _STEPS,
        "    return existing is None or (existing.deleted and existing.create_op != op)\n",
        "    return existing is None or existing.deleted\n",
        "S5: a message that created a partition creates it again after its deletion",
        _kit("test_a_tombstone_is_not_revived_by_a_repeated_old_creation"),
    ),
    Mutant(
        "fence compared by its token only",
        "protocol.partition",
        "and (self.token, self.nonce) == (fence.token, fence.nonce)",
        "and self.token == fence.token",
        "S2: who held an item that has gone is told that a lease in its next life is renewed",
        Tested(
            "tests/simulation/dynamodb/test_conformance.py::TestSimulatedEngine::test_s2_the_token_alone_does_not_own"
        ),
    ),
)
