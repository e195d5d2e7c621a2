"""All rules on, several at work together: within these bounds nothing may break, and every state is seen.

``small`` bounds are for every change, ``wide`` ones for a machine that has the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.model.families import CHAIN, CHILD, MERGED, SPLIT
from tests.model.rules import Rules, Scenario

Sends = dict[str, int]


@dataclass(frozen=True, slots=True)
class Full:
    """A scenario in two sizes."""

    name: str
    small: Scenario
    wide: Scenario


def full(name: str, small: Sends, more: Sends, rules: dict[str, Any] | None = None, **bounds: Any) -> Full:
    """Return a scenario; ``more`` is what the wide one sends beyond, or instead of, the small one."""
    kept = Rules(**rules or {})
    return Full(name.split()[0], Scenario(name, small, kept, **bounds), Scenario(name, small | more, kept, **bounds))


def families(name: str, parents: tuple[tuple[int, ...], ...], small: Sends, more: Sends, **bounds: Any) -> list[Full]:
    """Return a scenario with parents in two kinds: released in the step, and by name as they were read (``s``)."""
    bounds |= {"parents": parents, "partitions": len(parents), "rows": 1}
    number, _, said = name.partition(" ")
    return [
        full(name, small, more, **bounds),
        full(f"{number}s {said}, as read", small, more, {"release": "as seen"}, **bounds),
    ]


_ONE: Sends = {"acquire_hint": 2, "complete": 2, "create": 1}

FULL = (
    full("A1 two workers, saves, complete, give up, sweep",
         {"acquire_hint": 2, "save": 1, "complete": 2, "give_up": 1, "reclaim": 1},
         {"acquire_hint": 3, "save": 2}, max_token=4),
    full("A2 three workers", {"acquire_hint": 3, "complete": 1, "reclaim": 1}, {"complete": 2, "save": 1}, workers=3,
         max_token=4),
    full("A3 close, reopen, closes reach the maximum",
         {"acquire_hint": 2, "close": 2, "reopen": 1, "complete": 1, "reclaim": 1},
         {"acquire_hint": 3, "close_state": 1, "save": 1}, max_token=4),
    full("A4 close with state: passes that add",
         {"acquire_hint": 2, "save": 1, "close_state": 1, "complete": 1, "reopen": 1},
         {"acquire_hint": 3, "save": 2, "close_state": 2}, max_token=4, max_closed=3),
    full("A5 renewals beside the chain",
         {"acquire_hint": 1, "save": 1, "renew": 2, "complete": 1, "reclaim": 1}, {"acquire_hint": 2}),
    full("A6 fail, last lost lease",
         {"acquire_hint": 2, "fail": 1, "reclaim": 1, "complete": 1, "renew": 1}, {"reclaim": 2},
         max_token=4, max_lost=2),
    full("B1 people: reset, release, park, reopen",
         {"acquire_hint": 1, "save": 1, "complete": 1, "reset": 1, "park": 1, "release": 1},
         {"acquire_hint": 2, "reopen_parked": 1},
         max_token=5),
    full("B2 reset, delete, create again, TTL",
         {"acquire_hint": 1, "complete": 1, "reset": 1, "delete": 1, "create": 3}, {"acquire_hint": 2, "save": 1},
         ttl=True, max_token=5),
    full("B3 no creation over a tombstone",
         {"acquire_hint": 2, "complete": 1, "delete": 1, "create": 3}, {"save": 1, "complete": 2},
         rules={"recreation": False}, ttl=True, max_token=5),
    full("B4 TTL and three lives",
         {"acquire_hint": 3, "save": 1, "complete": 3, "create": 4}, {}, workers=1, ttl=True),
    full("B5 close, reset, delete",
         {"acquire_hint": 2, "close": 1, "reset": 1, "delete": 1, "reopen": 1}, {"save": 1, "close_state": 1},
         max_token=5),
    full("B6 retract, and what is published after it",
         {"acquire_hint": 2, "save": 1, "close_state": 1, "complete": 1, "retract": 1, "reset": 1},
         {"save": 2, "delete": 1, "create": 2}, max_token=5),
    full("B7 reset, another payload, acquired beside it",
         {"acquire_hint": 2, "complete": 1, "reset": 1, "refresh": 2}, {"give_up": 1, "reset": 2, "delete": 1},
         workers=1, max_token=4),
    full("C1 tries: retake, adopt, sweep",
         {"acquire_hint": 1, "retake": 2, "adopt": 1, "save": 1, "complete": 1}, {"reclaim": 1, "save": 2},
         workers=3, own_try=True, max_token=4),
    full("C2 a task fails its 'dead' driver, which lives",
         {"acquire_hint": 1, "save": 2, "complete": 1, "fail": 2}, {"acquire_hint": 2, "reclaim": 1},
         watched=True, max_token=4),
    full("C3 the same with close",
         {"acquire_hint": 2, "close": 1, "fail": 2, "complete": 1, "reopen": 1}, {"save": 1},
         watched=True, max_token=4),
    full("C4 a second driver process begins, or retakes",
         {"acquire_hint": 1, "begin": 2, "retake": 1, "save": 2, "complete": 2, "reclaim": 1},
         {"save": 3, "acquire_hint": 2},
         second_driver=True, max_token=4),
    full("C5 a second driver process without begin: overtaken is refused",
         {"acquire_hint": 1, "save": 3, "complete": 2, "reclaim": 1}, {"acquire_hint": 2},
         rules={"begin": False}, second_driver=True, max_token=4),
    full("C6 a second driver process, the task's fail, a sweep",
         {"acquire_hint": 1, "begin": 2, "save": 2, "complete": 1, "fail": 1}, {"save": 3, "reclaim": 1},
         second_driver=True, watched=True, max_token=4),
    full("D1 acquire by query, phantoms given back",
         {"acquire_query": 2, "complete": 1, "give_up": 1, "reclaim": 1}, {"acquire_query": 3, "save": 1},
         max_token=4),
    full("D2 acquire by query repeated by a transport",
         {"acquire_query": 2, "save": 1, "complete": 1}, {"save": 2, "reclaim": 1},
         rules={"query_once": False}, max_token=4),
    full("D3 phantoms, and a ring of 2 that is overwritten",
         {"acquire_query": 2, "close": 1}, {"give_up": 1, "save": 1},
         rules={"query_once": False}, ring=2, max_token=5),
    full("D4 query phantoms and tries",
         {"acquire_query": 2, "retake": 1, "complete": 1}, {"save": 1, "reclaim": 1}, workers=3, own_try=True,
         max_token=4),
    full("E1 reopen: CLOSED and due only",
         {"acquire_hint": 2, "close": 1, "complete": 1, "reopen": 2}, {"close": 2, "save": 1, "acquire_hint": 3},
         rules={"reopen_sees_version": False}, max_token=4),
    full("E2 reclaim: ASSIGNED and expired only, ring entry from the row",
         {"acquire_hint": 2, "save": 1, "close": 1, "reclaim": 1, "reopen": 1}, {"complete": 1, "acquire_hint": 3},
         rules={"reclaim": "row"}, max_token=4),
    full("E3 a hint names the token only; retake, sweep",
         {"acquire_hint": 2, "retake": 1, "complete": 1}, {"reclaim": 1, "save": 1, "give_up": 1},
         rules={"hint": "token"}, workers=3, own_try=True, max_token=4),
    full("E4 reclaim with the last op seen",
         {"acquire_hint": 2, "save": 2, "complete": 1, "reclaim": 1}, {"give_up": 1},
         rules={"reclaim": "version"}, max_token=4),
    full("F1 two partitions",
         {"acquire_hint": 2, "complete": 2, "reclaim": 1}, {"save": 1, "give_up": 1},
         partitions=2),
    full("F2 complete and acquire next", {"acquire_hint": 2, "fused": 2, "save": 1, "reclaim": 1},
         {"complete": 1, "give_up": 1}, partitions=2),
    full("F3 the same by query, outcomes left unknown", {"acquire_query": 2, "fused": 1, "complete": 1, "give_up": 1},
         {"save": 1, "reclaim": 1}, partitions=2, unknown=True),
    full("G1 outcomes left unknown: saves, then an ending",
         {"acquire_hint": 2, "save": 2, "complete": 1}, {"reclaim": 1, "fail": 1}, unknown=True),
    full("G2 outcomes left unknown: close, fail, give up",
         {"acquire_hint": 2, "close": 1, "fail": 1, "give_up": 1}, {"save": 1, "reopen": 1, "reclaim": 1},
         unknown=True),
    full("G3 outcomes left unknown, and a person's reset",
         {"acquire_hint": 2, "save": 1, "complete": 2, "reset": 1}, {"save": 2}, unknown=True),
    full("T1 what follows an ending: closes, a completion, a reset, a deletion",
         {"acquire_hint": 2, "close": 1, "complete": 1, "reset": 1, "clear": 2},
         {"acquire_hint": 3, "delete": 1, "create": 2, "reclaim": 1}, follow_ups=True, max_token=5),
    full("T2 the same with outcomes left unknown, and fused",
         {"acquire_hint": 2, "fused": 1, "clear": 2}, {"complete": 1, "reclaim": 1},
         follow_ups=True, unknown=True, partitions=2),
    full("T3 what follows a parking: lost leases, a person's, reopened, reset",
         {"acquire_hint": 1, "say": 1, "reclaim": 1, "park": 1, "reopen_parked": 1, "followed": 1},
         {"acquire_hint": 2, "say": 2, "park": 2, "reset": 1, "fail": 1}, max_lost=1, workers=1),
    full("P0 placed, with the life of another store",
         {"acquire_hint": 3, "place": 2, "complete": 1, "give_up": 1}, {"delete": 1, "create": 2, "save": 1},
         max_token=4),
    full("P1 paused and resumed, while two work",
         {"acquire_hint": 2, "fused": 1, "pause": 1, "resume": 1}, {"acquire_query": 1, "pause": 2, "reclaim": 1},
         partitions=2),
    full("P2 paused: tries go on, sweeps go on",
         {"acquire_hint": 1, "retake": 1, "complete": 1, "reclaim": 1, "pause": 1, "resume": 1}, {"save": 1},
         workers=3, own_try=True),
    full("P3 a pause that is known as it was when the acquisition was sent",
         {"acquire_hint": 1, "acquire_query": 1, "fused": 1, "pause": 1, "resume": 1}, {"pause": 2},
         rules={"pause": "when sent"}, partitions=2),
    *families("K1 a parent and its child, lost and taken back", CHILD, _ONE,
              {"acquire_hint": 3, "reclaim": 1, "save": 1}, workers=1, max_token=4),
    *families("K2 two parents of one child", MERGED, {"acquire_hint": 2, "complete": 2, "create": 1},
              {"acquire_hint": 3, "complete": 3, "create": 2}),
    *families("K3 two children of one parent", SPLIT, {"acquire_hint": 2, "complete": 2, "create": 2},
              {"create": 3}, workers=1),
    *families("K4 a chain of three", CHAIN, {"acquire_hint": 2, "complete": 2, "create": 2},
              {"acquire_hint": 3, "complete": 3}, workers=1),
    *families("K5 the parent is reset", CHILD, {**_ONE, "reset": 1}, {"acquire_hint": 3, "complete": 3},
              workers=1, max_token=4),
    *families("K6 deleted and created again", CHILD, {"acquire_hint": 2, "complete": 2, "create": 2, "delete": 1},
              {"create": 3, "delete": 2}, workers=1, max_token=4),
    *families("K7 parked, reopened, finished", CHILD, {"acquire_hint": 1, "complete": 1, "create": 1, "park": 1,
              "finish": 1}, {"acquire_hint": 2, "reopen_parked": 1, "fail": 1}, workers=1, max_token=4),
    *families("K8 TTL of the parent", CHILD, {"acquire_hint": 2, "complete": 2, "create": 3}, {}, workers=1, ttl=True),
    *families("K9 complete and acquire next, the child among them", CHILD, {"acquire_hint": 2, "fused": 2, "create": 1},
              {"acquire_hint": 3}, workers=1),
    *families("K10 closes reach the maximum", CHILD, {"acquire_hint": 2, "close": 2, "create": 1, "reopen": 1},
              {"acquire_hint": 3}, workers=1),
    *families("K11 outcomes left unknown", CHILD, _ONE, {"save": 1, "create": 2}, workers=1, unknown=True),
    full("K12 older code completes, sweeps heal", {**_ONE, "heal": 1}, {"heal": 2, "delete": 1, "create": 3},
         rules={"release": "never", "heals": True}, workers=1, partitions=2, rows=1, parents=CHILD),
    full("K13 healing beside releases", {"acquire_hint": 1, "complete": 1, "create": 2, "heal": 1, "reset": 1},
         {"acquire_hint": 2, "delete": 1, "create": 3}, rules={"heals": True}, workers=1, partitions=2, rows=1,
         parents=CHILD, max_token=4),
    *families("K16 finished parents are cleaned up", CHILD,
              {"acquire_hint": 2, "complete": 2, "create": 2, "clean_up": 1, "reset": 1},
              {"acquire_hint": 3, "clean_up": 2, "create": 3}, workers=1, max_token=4),
    *families("K17 beside a planner, a chain", CHAIN, {"acquire_hint": 3, "complete": 2, "create": 3, "clean_up": 1},
              {"complete": 3, "create": 4, "clean_up": 2, "delete": 1}, workers=1, planned=True),
    *families("K18 cleaned up, then TTL", CHILD, {"acquire_hint": 2, "complete": 1, "create": 2, "clean_up": 1}, {},
              workers=1, ttl=True),
    full("W1 asked for, handed over, stolen",
         {"acquire_hint": 2, "ask": 1, "steal": 1, "save": 1, "complete": 1, "give_up": 1},
         {"save": 2, "reclaim": 1, "ask": 2}, max_token=4),
    full("W2 two want what a third one has", {"acquire_hint": 1, "ask": 2, "steal": 2, "complete": 1, "give_up": 1},
         {"acquire_hint": 2}, workers=3, rows=1, max_token=4),
    full("W3 asked for across passes", {"acquire_hint": 2, "ask": 1, "steal": 1, "close_state": 1, "reopen": 1,
         "complete": 1}, {"save": 2}, max_token=4, max_closed=3),
    full("W4 stolen, with outcomes left unknown and renewals", {"acquire_hint": 1, "ask": 1, "steal": 1, "save": 1,
         "renew": 1, "complete": 1}, {"acquire_hint": 2, "reclaim": 1}, unknown=True, max_token=4),
    full("S1 a supplier is killed, a second one goes on",
         {"acquire_query": 2, "create": 4, "save_state": 3, "give_up": 1}, {"create": 5, "save_state": 4, "reclaim": 1},
         workers=0, suppliers=2, partitions=2, pages=((0,), (1,))),
    full("S2 a page of two, while a worker works",
         {"acquire_query": 2, "create": 3, "save_state": 1, "acquire_hint": 1}, {"create": 4, "complete": 1},
         workers=1, suppliers=2, partitions=2, pages=((0, 1),)),
    full("S3 saves of the global state left unknown",
         {"acquire_query": 2, "create": 3, "save_state": 2, "give_up": 2}, {"save_state": 3},
         workers=0, suppliers=2, partitions=2, pages=((0,), (1,)), unknown=True),
)  # fmt: skip
