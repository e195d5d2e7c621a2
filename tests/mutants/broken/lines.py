"""Lines of the operation table, and how each can be broken: said once for all stores (``rules.py`` tries them).

Left out, because nothing can tell them from the code as it is:

* that an owner's write looks at the token: its nonce is 96 random bits, so no other tenure has it;
* that a retake looks at the status: only ASSIGNED has the owner it looks at, too;
* that a person's action on a free partition looks at the status: what changes it changes the last operation, too.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class _Line(NamedTuple):
    """A line of the table, and what stands there instead."""

    old: str
    new: str
    breaks: str


_ACQUIRABLE = "    return claimable(x, p, now, w.tenancy.max_lost_leases)\n"
_ANYTHING = "    return x.at_most(0, p.token)\n"
_HINT = "    return x.both(x.same(p.token, w.token), _acquirable(x, p, w, now))\n"
_OPEN_LEASE = "x.both(expired(x, p, now), may_be_lost)"
_HELD = "x.both(x.same(p.status, ASSIGNED), x.same(p.token, w.fence.token), x.same(p.nonce, w.fence.nonce))"
_PHANTOM = "x.both(x.without(p.confirmed), x.same(p.last_op, p.nonce))"
_STARTED = '            "available_at": None,\n            "confirmed": False,\n'
_STARTS_OVER = '    "progress_text": None,\n    "staged": (),\n}\n'
_SEEN = "x.both(x.without(p.deleted), x.same(p.status, seen.status), x.same(p.token, seen.token), last)"

_ACQUIRING: Final = {
    "acquired without a second look": _Line(
        _ACQUIRABLE, _ANYTHING, "S8: a search that errs takes what is held, closed or completed"
    ),
    "key acquired whatever its state": _Line(_ACQUIRABLE, _ANYTHING, "S8: a bare key takes a healthy lease"),
    "next one acquired without a second look": _Line(
        _ACQUIRABLE, _ANYTHING, "S8: in a fused step, a search that errs takes a healthy lease"
    ),
    "healthy lease taken": _Line(
        _OPEN_LEASE,
        "x.both(x.same(p.status, ASSIGNED), may_be_lost)",
        "S8: acquired before somebody's lease has ended",
    ),
    "taken at the last lost lease": _Line(_OPEN_LEASE, "expired(x, p, now)", "L5: a poison partition is never parked"),
    "hint acquired whatever its token": _Line(
        _HINT,
        "    return _acquirable(x, p, w, now)\n",
        "S1: a late copy of an acquisition starts a second tenure under its nonce",
    ),
    "hint acquired whatever its state": _Line(
        _HINT, "    return x.same(p.token, w.token)\n", "S8: a hint takes what is held, closed or completed"
    ),
    "retaken whatever was written since": _Line(
        "        x.same(p.last_op, w.last_op),\n", "", "S5: retaken from an owner that has written since it was seen"
    ),
    "retaken from another task": _Line(
        "        x.same(p.owner_task, w.tenancy.owner.task),\n", "", "S2: one task takes the partition of another"
    ),
    "retaken whatever the try": _Line(
        "        x.less(p.owner_try, w.below_try),\n",
        "",
        "S2: an earlier try takes the partition from a later one",
    ),
    "retaken at its last lost lease": _Line(
        "        x.within(p.lost_leases, p.max_lost_leases, w.tenancy.max_lost_leases),\n",
        "",
        "L5: a poison partition is never parked",
    ),
    "token not raised": _Line('            "token": x.plus(p.token, 1),\n', "", "S1: tokens do not order the tenures"),
    "nonce kept": _Line(
        '            "nonce": tenancy.op,\n',
        '            "nonce": p.nonce or tenancy.op,\n',
        "S1: the fence is not the acquisition's own",
    ),
    "limit not written with the lease": _Line(
        '            "max_lost_leases": tenancy.max_lost_leases,\n',
        "",
        "E11: an operator's limit has no effect where others sweep",
    ),
    "progress wiped by an acquisition": _Line(
        _STARTED, f'{_STARTED}            "progress_text": None,\n', "S14: the next owner starts from nothing"
    ),
    "staged blocks wiped by an acquisition": _Line(
        _STARTED, f'{_STARTED}            "staged": (),\n', "S12: what a lost tenure had saved is never published"
    ),
    "taken over without an ending": _Line(
        '            "ring": entered(x, p, (outcome, tenancy.op, ASSIGNED, p.closed_count), now, when=runs),\n',
        "",
        "S6: the end of a lease that somebody took over is not found",
    ),
    "acquired as if a tenure ended": _Line(
        "ASSIGNED, p.closed_count), now, when=runs)",
        "ASSIGNED, p.closed_count), now)",
        "S6: an acquisition of what is free overwrites the ending of the tenure before",
    ),
}

_OWNERS: Final = {
    "written without the fence": _Line(
        _HELD, "x.same(p.status, ASSIGNED)", "S2: who has lost the lease writes into the tenure of its successor"
    ),
    "renewed without the fence": _Line(
        "Rule(held, _renewed)",
        "Rule(lambda x, p, w, _: x.same(p.status, ASSIGNED), _renewed)",
        "S2: who has lost the lease is told that it is held",
    ),
    "written after the ending": _Line(
        _HELD,
        "x.both(x.same(p.token, w.fence.token), x.same(p.nonce, w.fence.nonce))",
        "S2: a renewal brings back the timeout of a tenure that has ended",
    ),
    "written without the nonce": _Line(
        _HELD,
        "x.both(x.same(p.status, ASSIGNED), x.same(p.token, w.fence.token))",
        "S2: the tenure of a row that has gone writes into the next life of its partition",
    ),
    "written without the chain": _Line(
        "    return x.both(held(x, p, w, now), x.same(p.last_op, w.prev))\n",
        "    return held(x, p, w, now)\n",
        "S2, S6: two drivers begin under one fence, a late save undoes a newer one",
    ),
    "begun without the chain": _Line(
        "Rule(chained, _begun)", "Rule(held, _begun)", "S2: two drivers begin under one fence"
    ),
    "saved without the chain": _Line(
        "Rule(chained, _saved)", "Rule(held, _saved)", "S2, S6: a late save undoes a newer one"
    ),
    "ended without the chain": _Line(
        "Rule(chained, _finished, of_ending)",
        "Rule(held, _finished, of_ending)",
        "S2: who was overtaken ends the tenure of who overtook it",
    ),
    "adopted by an earlier try": _Line(
        "    return x.both(held(x, p, w, now), x.at_most(p.owner_try, w.owner.try_number))\n",
        "    return held(x, p, w, now)\n",
        "S2: an earlier try takes the watch from a later one",
    ),
    "renewal shortens": _Line(
        "x.later(p.ownership_timeout, x.plus(now, w.timeout))",
        "x.plus(now, w.timeout)",
        "S2: a late copy of a renewal ends the lease before its owner believes",
    ),
    "ending not remembered": _Line(
        '        "ring": entered(x, p, ending, now),\n        "status"',
        '        "status"',
        "S6: an ending whose answer was lost cannot be settled",
    ),
    "ending without the operation before": _Line(
        "(p.token, p.nonce, outcome, op, p.last_op, status",
        "(p.token, p.nonce, outcome, op, op, status",
        "S6: a save that was applied just before the tenure ended is reported as refused",
    ),
    "staged blocks stay after publication": _Line(
        "    if w.clear_staged:\n", "    if False:\n", "S12: blocks are published again by the next ending"
    ),
    "staged blocks cleared by every ending": _Line(
        "    if w.clear_staged:\n", "    if True:\n", "S12: what a failed tenure had saved is lost"
    ),
    "close not counted": _Line(
        '        "closed_count": closed_count,\n', "", "S7: closedCount is not the number of closes"
    ),
    "generation kept by a close without state": _Line(
        '        "generation": w.generation,\n', "", "S12: a fresh pass adds to the output that it should replace"
    ),
    "retry delay ignored": _Line(
        "x.plus(now, w.available_delay)",
        "now if w.available_delay is not None else None",
        "S8: a failed partition is acquired before availableAt, or people see it wait until then",
    ),
    "time to reopen ignored": _Line(
        "x.plus(now, w.reopen_delay)",
        "now if w.reopen_delay is not None else None",
        "S8: a closed partition is acquired before reOpenAt, or people see it closed until then",
    ),
    "lost leases outlive a success": _Line(
        '        "lost_leases": w.lost_leases,\n',
        "",
        "A14: a partition that reopens for ever is parked by lost leases that are not in a row",
    ),
}

_SWEEPS: Final = {
    "phantoms count as lost leases": _Line(
        _PHANTOM, "x.same(p.token, -1)", "L5: partitions are parked for acquisitions that nobody heard of"
    ),
    "renewed tenures count as phantoms": _Line(
        _PHANTOM,
        "x.same(p.last_op, p.nonce)",
        "L5: work that kills its process before it saves is never parked",
    ),
    "lost lease does not count": _Line(
        "    return x.plus(p.lost_leases, x.when(when, x.when(phantom(x, p), 0, 1), 0))\n",
        "    return p.lost_leases\n",
        "L5: a poison partition is never parked",
    ),
    "last lost lease does not park": _Line(
        "x.within(p.lost_leases, p.max_lost_leases, w.max_lost_leases)",
        "x.within(x.plus(p.lost_leases, -1), p.max_lost_leases, w.max_lost_leases)",
        "L5: a poison partition is not parked at its maximum",
    ),
    "parked by a phantom with a stricter limit": _Line(
        "    stays = x.either(may_be_lost, phantom(x, p))\n",
        "    stays = may_be_lost\n",
        "L5: an acquisition that nobody heard of parks what was lost under a larger limit",
    ),
    "reclaimed to the end of the line": _Line(
        '"rank": x.when(stays, Rank.CRASHED, p.rank)',
        '"rank": x.when(stays, Rank.NEW, p.rank)',
        "S9: who lost its owner waits behind all new ones",
    ),
    "healthy lease reclaimed": _Line(
        "    return expired(x, p, now)\n",
        "    return x.same(p.status, ASSIGNED)\n",
        "S2: a search that errs ends a healthy lease",
    ),
    "reclaimed whatever its status": _Line(
        "    return x.both(x.same(p.status, ASSIGNED), x.at_most(p.ownership_timeout, now))\n",
        "    return x.at_most(0, p.token)\n",
        "S3: a search that errs brings back what is completed",
    ),
    "reopened before its time": _Line(
        "    return x.both(x.same(p.status, CLOSED), x.at_most(p.reopen_at, now))\n",
        "    return x.same(p.status, CLOSED)\n",
        "S8, L5: a search that errs frees what is closed before its time, and what is parked",
    ),
}

_PEOPLES: Final = {
    "tombstone acted on": _Line(
        _SEEN,
        "x.both(x.same(p.status, seen.status), x.same(p.token, seen.token), last)",
        "S1: a person's action brings a tombstone to life",
    ),
    "acted on whatever was written since": _Line(
        "else x.same(p.last_op, seen.last_op)\n",
        "else x.same(p.status, seen.status)\n",
        "S5: a person undoes what was never seen",
    ),
    "somebody else's lease released": _Line(
        _SEEN,
        "x.both(x.without(p.deleted), x.same(p.status, seen.status),"
        " *(() if seen.status is ASSIGNED else (x.same(p.token, seen.token), last)))",
        "S5: a person takes the lease from an owner that was never seen",
    ),
    "released after its ending": _Line(
        _SEEN,
        "x.both(x.without(p.deleted), x.same(p.token, seen.token), last)",
        "S3: a person's release undoes a completion",
    ),
    "retracted beside staged blocks": _Line(
        "        return x.both(as_seen, x.without(p.staged))\n",
        "        return as_seen\n",
        "S12: what was retracted comes back with the block that follows it",
    ),
    "release without a token": _Line(
        '    fence = {"token": x.plus(p.token, 1), "nonce": w.op} if',
        '    fence = {"nonce": w.op} if',
        "S1: taking a lease away uses up no token",
    ),
    "reset keeps the generation": _Line(
        '        **({"generation": w.op} if w.action is Action.RESET else {}),\n',
        "",
        "S12: after a reset the output is added to instead of replaced",
    ),
    "reset keeps staged blocks": _Line(
        _STARTS_OVER, '    "progress_text": None,\n}\n', "S12: blocks from before a reset are published after it"
    ),
    "reset keeps progress": _Line(
        _STARTS_OVER, '    "staged": (),\n}\n', "S12: rows from before a reset are taken for done after it"
    ),
    "reset keeps closedCount": _Line('    "closed_count": 0,\n', "", "S7: a new life starts with old closes"),
    "reopen keeps failures": _Line(
        '{"rank": Rank.REOPENED, "failures": 0,',
        '{"rank": Rank.REOPENED,',
        "L5: a reopened partition is parked again by its first failure",
    ),
    "parked partition reopens": _Line(
        '        "status": after,\n        "reopen_at": None,\n',
        '        "status": after,\n        "reopen_at": now if w.action is Action.PARK else None,\n',
        "L5: what a person has parked comes back by itself",
    ),
}

RECORDS: Final = {
    "action not audited": _Line(
        "    yield Audit(w.source, w.key, w.op, w.action.value, w.by, w.why)\n",
        "",
        "people's actions: nobody can tell who has done it",
    ),
    "retracted for readers to see on": _Line(
        "        yield EmptyHeads(w.source, w.key)\n",
        "        yield from ()\n",
        "S12: readers go on seeing what was taken back",
    ),
    "ending without head records": _Line(
        "    if w.heads:\n", "    if False:\n", "S12: output that was accepted is never seen"
    ),
    "ending without a row": _Line(
        "        yield TenureEnded(error, min(w.rows, MAX_COUNT), min(w.bytes, MAX_COUNT))\n",
        "        yield from ()\n",
        "X11: nobody can tell how long it was held, and what came of it",
    ),
    "lost lease without a row": _Line(
        "        yield TenureEnded()\n", "        yield from ()\n", "X11: nobody can tell who has lost it"
    ),
    "supplier with a row": _Line(
        "    if holds_partitions(w.source):\n        yield TenureEnded()\n",
        "    if True:\n        yield TenureEnded()\n",
        "X11: a history that nobody reads and no sweep thins",
    ),
}
"""Lines of what the steps write beside their partition."""

LINES: Final = _ACQUIRING | _OWNERS | _SWEEPS | _PEOPLES | RECORDS
