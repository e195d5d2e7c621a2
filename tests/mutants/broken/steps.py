"""Mutants of the state table: what each write does to one partition. The in-memory store executes it."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_STEPS = "leases.steps"

MUTANTS = (
    Mutant(
        "acquired before it is due",
        _STEPS,
        "    if due is None or due > now:\n        return False\n",
        "    if due is None:\n        return False\n",
        "S8: acquired before availableAt, reOpenAt, or the end of somebody's lease",
    ),
    Mutant(
        "token not raised",
        _STEPS,
        "        token=partition.token + 1,\n        nonce=tenancy.op,",
        "        token=partition.token,\n        nonce=tenancy.op,",
        "S1: tokens do not order the tenures",
    ),
    Mutant(
        "nonce kept",
        _STEPS,
        "        nonce=tenancy.op,\n        last_op=tenancy.op,",
        "        nonce=partition.nonce or tenancy.op,\n        last_op=tenancy.op,",
        "S1: the fence is not the acquisition's own",
    ),
    Mutant(
        "progress wiped by an acquisition",
        _STEPS,
        "        available_at=None,\n        confirmed=False,",
        "        available_at=None,\n        progress_text=None,\n        confirmed=False,",
        "S14: the next owner starts from nothing",
    ),
    Mutant(
        "staged blocks wiped by an acquisition",
        _STEPS,
        "        available_at=None,\n        confirmed=False,",
        "        available_at=None,\n        staged=(),\n        confirmed=False,",
        "S12: what a lost tenure had saved is never published",
    ),
    Mutant(
        "renewed without the fence",
        _STEPS,
        "    if not partition.held_under(write.fence):\n        return None\n"
        "    return replace(partition, ownership_timeout=_later",
        "    if partition.status is not A:\n        return None\n"
        "    return replace(partition, ownership_timeout=_later",
        "S2: who has lost the lease is told that it is held",
    ),
    Mutant(
        "begun without the chain",
        _STEPS,
        "or partition.last_op != write.prev:\n        return None\n    timeout =",
        "or False:\n        return None\n    timeout =",
        "S2: two drivers begin under one fence",
    ),
    Mutant(
        "saved without the chain",
        _STEPS,
        "or partition.last_op != write.prev:\n        return None\n    return replace(\n        partition,\n"
        "        progress_text",
        "or False:\n        return None\n    return replace(\n        partition,\n        progress_text",
        "S2, S6: a late save undoes a newer one",
    ),
    Mutant(
        "ended without the chain",
        _STEPS,
        "or partition.last_op != write.prev:\n        return None\n    due =",
        "or False:\n        return None\n    due =",
        "S2: who was overtaken ends the tenure of who overtook it",
    ),
    Mutant(
        "fence compared by its token only",
        "leases.partition",
        "and (self.token, self.nonce) == (fence.token, fence.nonce)",
        "and self.token == fence.token",
        "S2: the tenure of an item that has gone writes into the next life of its partition",
        Tested("tests/conformance/test_in_memory.py::TestInMemory::test_s2_the_token_alone_does_not_own"),
    ),
    Mutant(
        "ending not remembered",
        _STEPS,
        "    ring = (*partition.ring[:slot], entry, *partition.ring[slot + 1 :])\n",
        "    ring = partition.ring\n",
        "S6: an ending whose answer was lost cannot be settled",
    ),
    Mutant(
        "ending in the slot beside",
        _STEPS,
        "slot = partition.token % RING_SIZE",
        "slot = (partition.token + 1) % RING_SIZE",
        "S6: the ending is not found where it is looked for",
    ),
    Mutant(
        "ending without the operation before",
        _STEPS,
        "outcome, op, partition.last_op, status,",
        'outcome, op, "", status,',
        "S6: a save that was applied just before the tenure ended is reported as refused",
        Tested(
            "tests/unit/leases/test_settling.py::"
            "test_s6_a_save_applied_before_the_lease_was_lost_is_reported_as_applied"
        ),
    ),
    Mutant(
        "staged blocks stay after publication",
        _STEPS,
        "staged=() if write.clear_staged else partition.staged,",
        "staged=partition.staged,",
        "S12: blocks are published again by the next ending",
    ),
    Mutant(
        "staged blocks cleared by every ending",
        _STEPS,
        "staged=() if write.clear_staged else partition.staged,",
        "staged=(),",
        "S12: what a failed tenure had saved is lost",
    ),
    Mutant(
        "close not counted",
        _STEPS,
        "        closed_count=write.closed_count,",
        "        closed_count=partition.closed_count,",
        "S7: closedCount is not the number of closes",
    ),
    Mutant(
        "generation kept by a close without state",
        _STEPS,
        "        generation=write.generation,",
        "        generation=partition.generation,",
        "S12: a fresh pass adds to the output that it should replace",
    ),
    Mutant(
        "retry delay ignored",
        _STEPS,
        "available_at=due if write.status is U else None,",
        "available_at=now if write.status is U else None,",
        "S8: a failed partition is acquired before availableAt",
    ),
    Mutant(
        "time to reopen ignored",
        _STEPS,
        "reopen_at=due if write.status is C else None,",
        "reopen_at=now if write.status is C else None,",
        "S8: a closed partition is acquired before reOpenAt, a parked one without anybody's doing",
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
        "    if existing is not None and not (existing.deleted and existing.create_op != op):\n",
        "    if existing is not None and not existing.deleted and existing.status is not D:\n",
        "S3, S10: COMPLETED is not final",
    ),
    Mutant(
        "creation forgotten by a tombstone",
        _STEPS,
        "    if existing is not None and not (existing.deleted and existing.create_op != op):\n",
        "    if existing is not None and not existing.deleted:\n",
        "S5: a message that created a partition creates it again after its deletion",
        Tested(
            "tests/conformance/test_in_memory.py::TestInMemory"
            "::test_a_tombstone_is_not_revived_by_a_repeated_old_creation"
        ),
    ),
    Mutant(
        "release without a token",
        _STEPS,
        "_end(partition, Outcome.RELEASED, write.op, now, after), token=partition.token + 1, nonce=write.op",
        "_end(partition, Outcome.RELEASED, write.op, now, after), nonce=write.op",
        "S1: taking a lease away uses up no token",
    ),
    Mutant(
        "reset keeps the generation",
        _STEPS,
        '            "generation": write.op,\n',
        "",
        "S12: after a reset the output is added to instead of replaced",
        Tested("tests/conformance/test_in_memory.py::TestInMemory::test_reset_starts_afresh_in_a_new_generation"),
    ),
    Mutant(
        "reset keeps staged blocks",
        _STEPS,
        '            "progress_text": None,\n            "staged": (),\n            "generation"',
        '            "progress_text": None,\n            "generation"',
        "S12: blocks from before a reset are published after it",
    ),
    Mutant(
        "reset keeps progress",
        _STEPS,
        '            "progress_text": None,\n            "staged": (),\n            "generation"',
        '            "staged": (),\n            "generation"',
        "S12: rows from before a reset are taken for done after it",
    ),
    Mutant(
        "reset keeps closedCount",
        _STEPS,
        '            "closed_count": 0,\n',
        "",
        "S7: a new life starts with old closes",
    ),
    Mutant(
        "reopen keeps failures",
        _STEPS,
        'Action.REOPEN: {"rank": Rank.REOPENED, "failures": 0,',
        'Action.REOPEN: {"rank": Rank.REOPENED,',
        "L5: a reopened partition is parked again by its first failure",
    ),
    Mutant(
        "parked partition reopens",
        _STEPS,
        "        status=after,\n        reopen_at=None,",
        "        status=after,\n        reopen_at=now if parks else None,",
        "L5: what a person has parked comes back by itself",
    ),
)
