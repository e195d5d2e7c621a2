"""Mutants that no history shows: counts, orders, heartbeats, what is given back. A test of their own catches each."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_HEARTBEAT = "leases.heartbeat"


def _kit(test: str) -> Tested:
    return Tested(f"tests/conformance/test_in_memory.py::TestInMemory::{test}")


def _beat(test: str) -> Tested:
    return Tested(f"tests/unit/leases/test_heartbeat.py::{test}")


MUTANTS = (
    Mutant(
        "one thread renews all leases of a driver",
        _HEARTBEAT,
        "        self._beats.start()\n",
        "        self._beats.start() if self._first is None else self._run()\n",
        "L6: a renewal that hangs keeps every other lease of its driver from being renewed",
        _beat("test_l6_a_renewal_that_hangs_keeps_no_other_lease_of_its_driver_waiting"),
    ),
    Mutant(
        "who waits for a late lease overlooks an early one",
        _HEARTBEAT,
        "                self._wakes = due\n                self._changed.notify()\n",
        "                pass\n",
        "L6: a lease runs out while the renewal of a longer one is waited for",
        _beat("test_l6_a_lease_that_is_due_before_the_others_is_renewed_before_them"),
    ),
    Mutant(
        "a thread that could not be started is forgotten",
        _HEARTBEAT,
        "            self._due[heartbeat] = time.monotonic() + _NO_THREAD\n",
        "            del self._due[heartbeat]\n",
        "L6: a lease is never renewed, and nobody watches its deadline",
        _beat("test_l6_a_thread_that_cannot_be_started_is_tried_again"),
    ),
    Mutant(
        "supplier with a row",
        "protocol.side_writes",
        "    if holds_partitions(w.source):\n        yield TenureEnded()\n",
        "    if True:\n        yield TenureEnded()\n",
        "X11: a history that nobody reads and no sweep thins",
        _kit("test_x11_suppliers_are_in_none"),
    ),
    Mutant(
        "retracted for nobody",
        "protocol.side_writes",
        "    return replace(head, blocks=(), rows=0, bytes=0, published_at=None, accounting_text=None)\n",
        "    return replace(head, published_at=None, accounting_text=None)\n",
        "S12: readers go on seeing what was taken back",
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
        "what is saved puts no renewal off",
        _HEARTBEAT,
        "        return max(saved - since, 0.0)\n",
        "        return 0.0\n",
        "a lease that was saved is renewed all the same",
        _beat("test_what_is_saved_puts_the_next_renewal_off"),
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
        _beat("test_l7_the_deadline_holds_even_while_something_hangs"),
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
