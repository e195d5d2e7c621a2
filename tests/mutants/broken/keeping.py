"""Mutants that no history shows: counts, orders, heartbeats, what is given back. A test of their own catches each."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_STEPS = "leases.steps"
_HEARTBEAT = "leases.heartbeat"


def _kit(test: str) -> Tested:
    return Tested(f"tests/conformance/test_in_memory.py::TestInMemory::{test}")


def _beat(test: str) -> Tested:
    return Tested(f"tests/unit/leases/test_heartbeat.py::{test}")


MUTANTS = (
    Mutant(
        "renewal shortens",
        _STEPS,
        "    return max(partition.ownership_timeout or now, now + timeout)\n",
        "    return now + timeout\n",
        "S2: a late copy of a renewal ends the lease before its owner believes",
        _kit("test_a_renewal_never_shortens"),
    ),
    Mutant(
        "taken at the last lost lease",
        _STEPS,
        "    return partition.status is not A or partition.lost_leases + 1 < lost_leases_limit(partition,"
        " max_lost_leases)\n",
        "    return True\n",
        "L5: a poison partition is never parked",
    ),
    Mutant(
        "phantoms count as lost leases",
        _STEPS,
        "    return partition.confirmed or partition.last_op != partition.nonce\n",
        "    return True\n",
        "L5: partitions are parked for acquisitions that nobody heard of",
        _kit("test_leases_that_saw_no_owner_write_count_nothing"),
    ),
    Mutant(
        "renewed tenures count as phantoms",
        _STEPS,
        "    return partition.confirmed or partition.last_op != partition.nonce\n",
        "    return partition.last_op != partition.nonce\n",
        "L5: work that kills its process before it saves is never parked",
    ),
    Mutant(
        "last lost lease does not park",
        _STEPS,
        "    if counts and lost >= lost_leases_limit(partition, max_lost_leases):\n",
        "    if counts and lost > lost_leases_limit(partition, max_lost_leases):\n",
        "L5: a poison partition is not parked at its maximum",
    ),
    Mutant(
        "judged by the judge's own limit",
        _STEPS,
        "    return own if partition.max_lost_leases is None else partition.max_lost_leases\n",
        "    return own\n",
        "E11: a sensor parks by its own setting what a task has acquired with another",
    ),
    Mutant(
        "parked by a phantom with a stricter limit",
        _STEPS,
        "    if counts and lost >= lost_leases_limit(partition, max_lost_leases):\n",
        "    if lost >= lost_leases_limit(partition, max_lost_leases):\n",
        "L5: an acquisition that nobody heard of parks what was lost under a larger limit",
        _kit("test_e11_a_tenure_without_an_owner_write_parks_nothing_by_a_stricter_limit"),
    ),
    Mutant(
        "limit not written with the lease",
        _STEPS,
        "        max_lost_leases=tenancy.max_lost_leases,\n",
        "",
        "E11: an operator's limit has no effect where others sweep",
    ),
    Mutant(
        "lost leases outlive a success",
        _STEPS,
        "        lost_leases=write.lost_leases,\n",
        "",
        "A14: a partition that reopens for ever is parked by lost leases that are not in a row",
    ),
    Mutant(
        "retracted beside staged blocks",
        _STEPS,
        "        return None if partition.staged else replace(partition, last_op=write.op, updated_at=now)\n",
        "        return replace(partition, last_op=write.op, updated_at=now)\n",
        "S12: what was retracted comes back with the block that follows it",
        _kit("test_e16_retract_is_refused_while_blocks_are_staged"),
    ),
    Mutant(
        "retracted for nobody",
        "leases.publication",
        "    return replace(head, blocks=(), rows=0, bytes=0, published_at=None)\n",
        "    return replace(head, published_at=None)\n",
        "S12: readers go on seeing what was taken back",
    ),
    Mutant(
        "reclaimed to the end of the line",
        _STEPS,
        "lost_leases=lost, rank=Rank.CRASHED, available_at=available)",
        "lost_leases=lost, rank=Rank.NEW, available_at=available)",
        "S9: who lost its owner waits behind all new ones",
        _kit("test_an_expired_lease_is_reclaimed_in_its_place"),
    ),
    Mutant(
        "retaken whatever the try",
        _STEPS,
        "    if held.task != tenancy.owner.task or held.try_number >= tenancy.owner.try_number + write.same_try:\n",
        "    if held.task != tenancy.owner.task:\n",
        "S2: an earlier try takes the partition from a later one",
        _kit("test_retaking_is_for_later_tries_of_the_same_task"),
    ),
    Mutant(
        "retaken whatever was written since",
        _STEPS,
        "    if (partition.token, partition.last_op) != (write.token, write.last_op):\n",
        "    if partition.token != write.token:\n",
        "S5: retaken from an owner that has written since it was seen",
        _kit("test_retaking_needs_the_last_write_as_seen"),
    ),
    Mutant(
        "adopted by an earlier try",
        _STEPS,
        "    if Owner(partition.owner).try_number > write.owner.try_number:\n        return None\n",
        "",
        "S2: an earlier try takes the watch from a later one",
        _kit("test_an_earlier_try_does_not_adopt"),
    ),
    Mutant(
        "people act on what they have not seen",
        _STEPS,
        "        return partition.status is A and (partition.token, partition.nonce) == (seen.token, seen.nonce)\n",
        "        return partition.status is A\n",
        "S5: a person takes the lease from an owner that was never seen",
        _kit("test_a_stale_view_is_refused"),
    ),
    Mutant(
        "own acquisition not recognised",
        "leases.acquisition",
        "if now is not None and (answer.applied or mine) else None",
        "if now is not None and answer.applied else None",
        "S6: an acquisition whose answer was lost stays behind until its lease ends",
        Tested("tests/unit/leases/test_settling.py::test_s6_a_hinted_acquisition_with_a_lost_answer_is_found"),
    ),
    Mutant(
        "phantom forgotten",
        "leases.acquisition",
        "        self._phantoms.append(_Phantom(nonce, until))\n",
        "        del until\n",
        "S6: what a lost answer has taken is not given back",
        _kit("test_s6_an_acquisition_leaves_no_phantom"),
    ),
    Mutant(
        "next lease not looked for",
        "leases.acquisition",
        "found = self._found if heard else self._acquisition.look_for(nonce)",
        "found = self._found",
        "S6: the second half of a fused step is lost with its answer",
        _kit("test_s6_a_fused_step_completes_once"),
    ),
    Mutant(
        "never starts at the new ones",
        "leases.acquisition",
        "new_first = key is None and self._randomness.chance(NEW_FIRST_PROBABILITY)",
        "new_first = False",
        "S9: new partitions starve behind crashed ones",
        Tested("tests/mutants/test_unseen.py::test_s9_now_and_then_an_acquisition_starts_at_the_new_ones"),
    ),
    Mutant(
        "supplier's lease not given back",
        "leases.creation",
        "            if lease.ending is None:\n",
        "            if lease.ending is not None:\n",
        "L4: after every run of the supplier its lease has to run out",
        Tested("tests/unit/leases/test_supply.py::test_a_suppliers_exception_propagates_and_its_lease_is_given_back"),
    ),
    Mutant(
        "supplier's lease not renewed",
        "leases.supply",
        "    with heartbeat(lease) as beating:\n",
        "    if beating := heartbeat(lease):\n",
        "L4: a supplier that takes longer than its lease never gets ahead",
        Tested("tests/unit/leases/test_keeping.py::test_a_supplier_that_yields_makes_progress"),
    ),
    Mutant(
        "heartbeat goes on after a loss",
        _HEARTBEAT,
        "        self._stop.set()\n        self._on_lost(error)\n",
        "        self._stop.set()\n",
        "L7: work whose lease is lost is not cancelled",
        _beat("test_l7_a_lost_lease_is_told_once_with_its_reason"),
    ),
    Mutant(
        "silence is no loss",
        _HEARTBEAT,
        "        if self._clock.monotonic() < self._lease.chain.deadline:\n",
        "        if self._clock.monotonic() >= 0:\n",
        "L7: work goes on past its lease's own deadline while the store is silent",
        _beat("test_l7_it_stops_by_its_own_deadline_when_the_store_is_silent"),
    ),
    Mutant(
        "nobody watches the deadline",
        _HEARTBEAT,
        "        if not self._stop.is_set():\n            self._lose(StoreUnavailableError",
        "        if self._stop.is_set():\n            self._lose(StoreUnavailableError",
        "L7: a renewal that hangs in the store keeps work alive past its lease",
        _beat("test_l7_the_deadline_holds_even_while_a_renewal_hangs"),
    ),
    Mutant(
        "hung work keeps its lease",
        _HEARTBEAT,
        "        if idle >= limit:\n",
        "        if idle >= limit * 1000:\n",
        "L8: work without progress is never cancelled",
        _beat("test_l8_work_without_progress_is_warned_and_then_cancelled"),
    ),
)
