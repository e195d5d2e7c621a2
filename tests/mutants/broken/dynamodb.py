"""Mutants of the DynamoDB store: conditions, the service's clock, and what its errors mean."""

from __future__ import annotations

from tests.mutants.mutant import Mutant, Simulated, Tested

_CHANGES = "stores.dynamodb.changes"
_REQUESTS = "stores.dynamodb.requests"
_CLOCK = "stores.dynamodb.service_clock"
_SIMULATED = Simulated("dynamodb", operations=30_000)


def _kit(test: str) -> Tested:
    return Tested(f"tests/simulation/dynamodb/test_conformance.py::TestSimulatedEngine::{test}")


MUTANTS = (
    Mutant(
        "DynamoDB: judged by the judge's own limit",
        _CHANGES,
        "    return Attr(it.LOST).lt(Attr(it.MAY_LOSE)) | by_own\n",
        "    return Attr(it.LOST).lt(own - 1)\n",
        "E11: an acquirer takes over what a worker's limit leaves to the sweep",
        _kit("test_e11_the_leases_limit_is_in_force_not_the_judges"),
    ),
    Mutant(
        "DynamoDB: lost leases outlive a success",
        _CHANGES,
        "        it.LOST: write.lost_leases,\n",
        "",
        "A14: a partition that reopens for ever is parked by lost leases that are not in a row",
        _kit("test_a14_a_close_forgets_lost_leases"),
    ),
    Mutant(
        "DynamoDB: written without the fence",
        _CHANGES,
        "return Attr(it.STATUS).eq(str(A)) & Attr(it.TOKEN).eq(fence.token) & Attr(it.NONCE).eq(fence.nonce)",
        "return Attr(it.STATUS).eq(str(A))",
        "S2: who has lost the lease renews that of its successor",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: written without the chain",
        _CHANGES,
        "return held_under(write.fence) & Attr(it.LAST_OP).eq(write.prev)",
        "return held_under(write.fence)",
        "S2, S6: two drivers begin under one fence, a late save undoes a newer one",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: acquired before it is due",
        _CHANGES,
        "    due = Attr(it.AVAILABLE).not_exists() | Attr(it.AVAILABLE).lte(to_micros(at.past))\n",
        "    due = Attr(it.AVAILABLE).not_exists() | Attr(it.AVAILABLE).exists()\n",
        "S8: a failed partition is acquired before availableAt",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: closed one acquired before its time",
        _CHANGES,
        "closed = Attr(it.STATUS).eq(str(C)) & Attr(it.REOPEN).lte(instant(at.past))",
        "closed = Attr(it.STATUS).eq(str(C))",
        "S8: a closed partition is acquired before reOpenAt, a parked one without anybody's doing",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: acquired whatever its token",
        _CHANGES,
        "Attr(it.TOKEN).eq(token) & (waits | closed)",
        "(waits | closed)",
        "S1: by an old list a token is given twice",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: healthy lease taken by an old list",
        _CHANGES,
        "return as_seen(seen) & Attr(it.NONCE).eq(seen.nonce) & Attr(it.TIMEOUT).lte(instant(at.past))",
        "return as_seen(seen) & Attr(it.NONCE).eq(seen.nonce)",
        "S8: a lease that was renewed since the index knew is taken",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: token not raised",
        _CHANGES,
        "        it.TOKEN: token + 1,\n",
        "        it.TOKEN: token,\n",
        "S1: tokens do not order the tenures",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: renewal shortens",
        _CHANGES,
        "held_under(write.fence) & Attr(it.TIMEOUT).lt(until))",
        "held_under(write.fence))",
        "S2: a late copy of a renewal ends the lease before its owner believes",
        _kit("test_a_renewal_never_shortens"),
    ),
    Mutant(
        "DynamoDB: lost lease does not count",
        _CHANGES,
        "return Sum(it.LOST, 1) if seen.last_op != seen.nonce else Sum(it.LOST, Path(it.CONFIRMED))",
        "return Sum(it.LOST, 0)",
        "L5: a poison partition is never parked",
        _kit("test_l5_the_last_lost_lease_parks_and_says_why"),
    ),
    Mutant(
        "DynamoDB: created over what exists",
        "stores.dynamodb.creating",
        "        condition = Attr(it.SOURCE).not_exists()\n        if existing",
        "        condition = Attr(it.SOURCE).not_exists() | Attr(it.SOURCE).exists()\n        if existing",
        "S3, S10: an unconditional put resets what is there",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: whatever stands in a tombstone's place overwritten",
        "stores.dynamodb.creating",
        "            condition = Attr(it.DELETED).exists() & same\n",
        "            condition = Attr(it.SOURCE).exists()\n",
        "S3, S10: a creation that comes late resets a partition that lives again",
        Tested(
            "tests/mutants/test_unseen.py::test_s3_a_creation_in_a_tombstones_place_does_not_reset_what_lives_again"
        ),
    ),
    Mutant(
        "DynamoDB: conflict taken for a refusal",
        _REQUESTS,
        '        if reason.get("Code") == "ConditionalCheckFailed":\n',
        '        if reason.get("Code") in ("ConditionalCheckFailed", "TransactionConflict"):\n',
        "S6: a transaction that only has to be repeated is taken for refused",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: error of the service taken for not applied",
        _REQUESTS,
        '        if status >= 500 or code == "TransactionInProgressException":\n            return call.lost(where)\n',
        '        if status >= 500 or code == "TransactionInProgressException":\n'
        "            return call.unavailable(where)\n",
        "S6: after an internal error a write may have been applied all the same",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: silence taken for not applied",
        _REQUESTS,
        "return call.unavailable(where) if isinstance(error, _NOT_SENT) else call.lost(where)",
        "return call.unavailable(where)",
        "S6: a write whose answer was lost is taken for one that was not applied",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: the worker's clock",
        _CLOCK,
        '        if self._heard is None:\n            raise StoreUnavailableError("learn the service\'s time",'
        ' "no answer has said it yet")\n        date, at = self._heard\n'
        "        return date + timedelta(seconds=self._local.monotonic() - at)\n",
        "        return self._local.now()\n",
        "S8: leases end when the clock of any worker says so",
        _SIMULATED,
    ),
    Mutant(
        "DynamoDB: no margin",
        _CLOCK,
        "return self.now() if self.injected is not None else self.now() - MARGIN",
        "return self.now()",
        "S8: a lease is taken although another front end of the service says that it lasts",
        Tested("tests/unit/stores/test_service_clock.py::test_it_goes_on_between_answers"),
    ),
)
