"""Mutants of the supplier's runs and of creating."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Tested

_SUPPLY = "leases.supply"
_CREATION = "leases.creation"


def _acknowledged(test: str) -> Tested:
    return Tested(f"tests/integration/sqs/test_acknowledged.py::test_{test}")


MUTANTS = (
    Mutant(
        "state saved before its partitions",
        _SUPPLY,
        "            self._flush()\n            self._save(state)\n",
        "            self._save(state)\n            self._flush()\n",
        "S11: a supplier killed in between leaves partitions out for ever",
    ),
    Mutant(
        "checkpoint without its partitions",
        _SUPPLY,
        "            self._flush()\n            self._save(state)\n",
        "            self._save(state)\n",
        "S11: a supplier killed after a checkpoint leaves partitions out for ever",
    ),
    Mutant(
        "final state saved before its partitions",
        _SUPPLY,
        "        self._flush()\n        final = encode_progress(check_state(state))\n",
        "        final = encode_progress(check_state(state))\n"
        "        if final not in (before, saved):\n            self._save(decode_object(final))\n"
        "            saved = final\n        self._flush()\n",
        "S11: a supplier killed in between leaves partitions out for ever",
    ),
    Mutant(
        "last page not created",
        _SUPPLY,
        "        self._flush()\n        final =",
        "        final =",
        "S11: what the supplier gave last is never created",
    ),
    Mutant(
        "supplier unfenced",
        _CREATION,
        "                self._core.tenures.save(lease, state, ())\n",
        "                now = self._core.settler.read(self._core.global_id, GLOBAL_STATE_KEY)\n"
        "                self._core.tenures.save(self._core.tenures.start(now, 0.0), state, ())\n",
        "S10: a stale supplier moves the global state back",
        Tested("tests/unit/leases/test_supply.py::test_s10_a_save_under_a_stale_supplier_fence_is_refused"),
    ),
    Mutant(
        "supplier without a lease",
        _CREATION,
        "            if rival is None:\n                return SupplierRun(ran=False)\n"
        "            return SupplierRun(ran=False, rival=rival.owner, rival_until=rival.ownership_timeout)\n",
        "            lease = self._core.tenures.start(rival, 0.0)\n",
        "S10: two suppliers run under one fence",
    ),
    Mutant(
        "global state is parked",
        "leases.participant",
        "            self.settings if source_id == self.source_id else internal,\n",
        "            self.settings,\n",
        "L4: a source whose suppliers die often gets no more partitions",
    ),
    Mutant(
        "lost creation taken for done",
        _CREATION,
        '        created = self._core.settler.repeat("create partitions", lambda: self._core.store.create(write))\n',
        "        with suppress(CoordinationError):\n            self._core.store.create(write)\n"
        "        created = Created()\n",
        "S11: a page whose answer was lost is taken for created",
    ),
    Mutant(
        "a message goes before its partitions are stored",
        "systems.sqs.supplier",
        "            yield Checkpoint(dict(state))  # when this goes on, what was yielded before it is in the store\n",
        "",
        "S11: what a supplier has deleted from its queue and does not live to store is lost",
        Tested("tests/integration/sqs/test_sqs.py::test_s11_a_supplier_killed_at_any_call_loses_no_message"),
    ),
    Mutant(
        "a message goes when one of its objects is done",
        "systems.sqs.acknowledged",
        "    return one.understood and all(known.get(each.key)",
        "    return one.understood and any(known.get(each.key)",
        "S13: the queue forgets objects whose partitions have not completed",
        _acknowledged("s13_a_message_about_several_objects_waits_for_all_of_them"),
    ),
    Mutant(
        "each object's ending deletes its message",
        "systems.sqs.acknowledged",
        "        if len(one.partitions) > 1 or not one.understood:\n",
        "        if False:\n",
        "S13: the first of several objects that is done deletes the message of the others",
        _acknowledged("s13_a_message_about_several_objects_waits_for_all_of_them"),
    ),
    Mutant(
        "any partition that exists has completed",
        "systems.sqs.acknowledged",
        "known.get(each.key) is PartitionStatus.COMPLETED for",
        "each.key in known for",
        "S13: the queue forgets objects whose partitions have not completed",
        _acknowledged("s13_no_other_ending_deletes_it"),
    ),
)
