"""The holes, each a pair: one rule loosened must break a promise, the same bounds with the rule must break none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tests.model.families import CHAIN, CHILD, MERGED
from tests.model.rules import Rules, Scenario

Loose = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Hole:
    """A rule and what it prevents.

    :param loose: the rule's switch, loosened; with other rules that would hide the violation.
    :param expect: part of the violation that it must show.
    :param scenario: the bounds, all rules on.
    """

    name: str
    title: str
    loose: Loose
    expect: str
    scenario: Scenario

    @property
    def loosened(self) -> Scenario:
        """The same bounds without the rule."""
        return replace(self.scenario, rules=replace(self.scenario.rules, **self.loose), expect=self.expect)


def hole(name: str, title: str, loose: Loose, expect: str, *, sends: dict[str, int], **bounds: Any) -> Hole:
    """Return a hole; ``rules`` in ``bounds`` holds for both of the pair."""
    rules = Rules(**bounds.pop("rules", {}))
    if "parents" in bounds:
        bounds |= {"partitions": len(bounds["parents"]), "rows": 1}
    return Hole(name, title, loose, expect, Scenario(f"{name} {title}", sends, rules, **bounds))


_ONE = {"acquire_hint": 2, "complete": 2, "create": 1}
_AS_SEEN = {"release": "as seen"}

HOLES = (
    hole("H1", "renew needs ASSIGNED, not only the fence", {"fence_needs_assigned": False}, "S2",
         sends={"acquire_hint": 1, "renew": 1, "reclaim": 1}, workers=1),
    hole("H2", "a refused renewal is judged by the timeout", {"renewal_judged_by_timeout": False}, "S6",
         sends={"acquire_hint": 1, "renew": 1}, workers=1),
    hole("H3", "the ring keeps the last chain write", {"ring_keeps_last": False}, "S6",
         sends={"acquire_hint": 2, "save": 2, "reclaim": 1}),
    hole("H4", "overtaken stops work and renewals", {"overtaken_stops": False, "begin": False}, "LIVE",
         sends={"acquire_hint": 1, "save": 2, "complete": 1, "begin": 2}, second_driver=True),
    hole("H4b", "a second driver does not join the chain", {"begin": False, "second_driver_joins": True}, "S6",
         sends={"acquire_hint": 1, "save": 3, "complete": 1, "begin": 2}, second_driver=True),
    hole("H5", "a hint names the version seen", {"hint": "claimable"}, "applied twice",
         sends={"acquire_hint": 1, "give_up": 1}),
    hole("H5b", "a hint and tombstones, across lives", {"hint": "claimable", "tombstones": False}, "S1",
         sends={"acquire_hint": 1, "delete": 1, "create": 2}, workers=1, create_once=True),
    hole("H5c", "a hint by token needs tombstones", {"hint": "token", "tombstones": False}, "S1",
         sends={"acquire_hint": 1, "delete": 1, "create": 2}, workers=1, create_once=True),
    hole("H5d", "TTLs stay above the age of messages", {"ttl_outlives_messages": False}, "create applied twice",
         sends={"acquire_hint": 1, "complete": 1}, workers=1, ttl=True),
    hole("H5e", "deleting leaves a tombstone", {"tombstones": False}, "create applied twice",
         sends={"acquire_hint": 1, "delete": 1}, workers=1),
    hole("H6", "reclaim names the fence whose ending it writes", {"reclaim": "message"}, "refused",
         sends={"acquire_hint": 2, "close": 1, "reclaim": 1, "reopen": 1}),
    hole("H7", "people's version is more than the token", {"people_see_version": False}, "applied twice",
         sends={"acquire_hint": 1, "complete": 1, "reset": 1, "park": 1}, workers=1),
    hole("H7b", "people act on what they saw", {"people_see_version": False}, "having seen",
         sends={"acquire_hint": 1, "complete": 1, "close": 1, "release": 1, "park": 1}, workers=1),
    hole("H8", "reset clears the staged blocks", {"reset_clears_staged": False}, "S12",
         sends={"acquire_hint": 2, "save": 2, "complete": 1, "reset": 1}, workers=1),
    hole("H8b", "nobody retracts what somebody holds", {"retract_needs_free": False}, "S12",
         sends={"acquire_hint": 2, "save": 1, "close_state": 1, "complete": 1, "retract": 1}, workers=1),
    hole("H8c", "nobody retracts beside staged blocks", {"retract_needs_nothing_staged": False}, "S12",
         sends={"acquire_hint": 2, "save": 1, "give_up": 1, "complete": 1, "retract": 1}, workers=1),
    hole("H9", "reset clears the TTL", {"reset_clears_ttl": False}, "TTL",
         sends={"acquire_hint": 1, "complete": 1, "reset": 1}, workers=1, ttl=True),
    hole("H10", "absent is not refused", {"absent_is_unknown": False}, "S6",
         sends={"acquire_hint": 1, "complete": 1}, workers=1, ttl=True),
    hole("H11", "head records follow the commits, not the tokens", {"head": "by token"}, "S12",
         sends={"acquire_hint": 3, "complete": 2, "give_up": 1, "create": 2}, workers=1, ttl=True),
    hole("H12", "a carried over generation adds", {"same_generation_adds": False}, "S12",
         sends={"acquire_hint": 2, "save": 1, "close_state": 1, "complete": 1}, workers=1),
    hole("H13", "a save never sets the timeout back", {"save_keeps_later_timeout": False}, "S8",
         sends={"acquire_hint": 1, "save": 1, "renew": 1}, workers=1),
    hole("H14", "no next without the completion", {"fused_needs_completion": False}, "fused",
         sends={"acquire_hint": 1, "fused": 1, "give_up": 1}, partitions=2, workers=1),
    hole("H15", "owner writes form a chain", {"chain": False}, "progress",
         sends={"acquire_hint": 1, "save": 2}, workers=1),
    hole("H16", "at the last lost lease only a sweep goes on", {"last_lease_needs_sweep": False}, "L5",
         sends={"acquire_hint": 2, "renew": 1, "reclaim": 1}, max_lost=1),
    hole("H16b", "phantoms count nothing", {"phantoms_count_nothing": False}, "L5",
         sends={"acquire_query": 1, "reclaim": 1}, workers=1, max_lost=1),
    hole("H16c", "lost leases count in a row", {"counts_in_a_row": False}, "L5",
         sends={"acquire_hint": 2, "renew": 1, "close": 1, "reclaim": 1}, workers=1, max_lost=2),
    hole("H16d", "the limit of lost leases travels with the lease", {"limit_travels": False}, "L5",
         sends={"acquire_hint": 2, "renew": 1, "reclaim": 1}, max_lost=1, limits=(2, 1)),
    hole("H17", "adopting is a write", {"adopt_writes": False}, "adopt",
         sends={"acquire_hint": 1, "retake": 1, "adopt": 1}, workers=3, own_try=True),
    hole("H18", "retake names the version seen", {"retake_sees_version": False, "tombstones": False}, "S1",
         sends={"acquire_hint": 2, "retake": 1, "delete": 1, "create": 2}, own_try=True, create_once=True),
    hole("H19", "head records are not keyed by token", {"head": "once per token"}, "LIVE",
         sends={"acquire_hint": 1, "complete": 1, "create": 2}, workers=1, ttl=True),
    hole("H20", "what is unsettled is settled before the next write", {"settle_before_next": False}, "S6",
         sends={"acquire_hint": 1, "save": 2}, workers=1, unknown=True),
    hole("H21", "the same call after an unknown outcome is the same write", {"same_wish_is_same_write": False}, "S6",
         sends={"acquire_hint": 1, "complete": 2}, workers=1, unknown=True),
    hole("H22", "the global state is saved after the partitions it covers", {"state_after_pages": False}, "S11",
         sends={"acquire_query": 1, "create": 2, "save_state": 1}, workers=0, suppliers=1, partitions=2,
         pages=((0,), (1,))),
    hole("H23", "the global state is saved in the supplier's chain", {"state_under_fence": False}, "S10",
         sends={"acquire_query": 2, "create": 3, "save_state": 3}, workers=0, suppliers=2, partitions=2,
         pages=((0,), (1,))),
    hole("H25", "only what nobody has touched is placed", {"place_needs_untouched": False}, "S1",
         sends={"acquire_hint": 2, "complete": 1, "place": 1}, workers=2, max_token=4),
    hole("H26", "totals are of one generation", {"counts_of_one_generation": False}, "S26",
         sends={"acquire_hint": 2, "save": 1, "reset": 1, "complete": 1}, workers=1, max_token=4),
    hole("H26b", "a pass that starts over counts anew", {"passes_count_anew": False}, "S26",
         sends={"acquire_hint": 2, "close": 1, "complete": 1}, workers=1),
    hole("H26c", "a failure carries no totals", {"failures_count_nothing": False}, "S26",
         sends={"acquire_hint": 2, "fail": 1, "complete": 1}, workers=1),
    hole("H27", "the ending's own commit notes what follows it", {"noted_by_commit": False}, "S27",
         sends={"acquire_hint": 1, "complete": 1, "clear": 1}, workers=1, follow_ups=True),
    hole("H27b", "what follows waits for the commit", {"done_after_commit": False}, "S27",
         sends={"acquire_hint": 1, "complete": 1, "reclaim": 1}, workers=1, follow_ups=True),
    hole("H27c", "a note goes when all is done", {"done_before_cleared": False}, "S27",
         sends={"acquire_hint": 1, "complete": 1, "clear": 1}, workers=1, follow_ups=True),
    hole("H27d", "a note goes by the ending it belongs to", {"cleared_by_op": False}, "S27",
         sends={"acquire_hint": 2, "close": 1, "complete": 1, "clear": 1}, workers=1, follow_ups=True),
    hole("H27e", "what follows a parking is said in the chain", {"said_in_chain": False}, "applied twice",
         sends={"acquire_hint": 1, "say": 2}, workers=1),
    hole("H27f", "what follows a parking is of one generation", {"said_of_one_generation": False}, "S27",
         sends={"acquire_hint": 1, "say": 1, "reset": 1, "park": 1}, workers=1),
    hole("H27g", "what follows a parking goes by the parking it belongs to", {"followed_names_parking": False}, "S27",
         sends={"acquire_hint": 1, "say": 1, "park": 2, "reopen_parked": 1, "followed": 1}, workers=1),
    hole("H28", "a creation judges its parents in its own step", {"create_sees_parents": False}, "S20",
         sends=_ONE, workers=1, parents=CHILD),
    hole("H28b", "what waits for a parent is nobody's", {"blocked_waits": False}, "S19",
         sends=_ONE, workers=1, parents=CHILD),
    hole("H28c", "a parent that is not there refuses the creation", {"absent_parents_refuse": False}, "S19",
         sends={"acquire_hint": 1, "create": 2, "delete": 1}, workers=1, parents=CHILD),
    hole("H28d", "nobody deletes what somebody waits for", {"delete_sees_children": False}, "S20",
         sends={"create": 2, "delete": 1}, workers=1, parents=CHILD),
    hole("H29", "completing names the stamp", {"stamp_in_condition": False}, "S20",
         sends=_ONE, workers=1, parents=CHILD, rules=_AS_SEEN),
    hole("H29b", "the stamp is read before the children", {"stamp_before_children": False}, "S20",
         sends=_ONE, workers=1, parents=CHILD, rules=_AS_SEEN),
    hole("H29c", "completing names each child as it was read", {"children_as_seen": False}, "S20",
         sends=_ONE, parents=MERGED, rules=_AS_SEEN),
    hole("H29d", "a child that is created again meanwhile is seen",
         {"children_as_seen": False, "stamp_in_condition": False}, "S20",
         sends={"acquire_hint": 1, "complete": 1, "create": 3, "delete": 1}, workers=1, parents=CHILD, rules=_AS_SEEN),
    hole("H30", "sweeps heal what older code has completed", {"heals": False}, "S20",
         sends={**_ONE, "heal": 1}, workers=1, parents=CHILD, rules={"release": "never", "heals": True}),
    hole("H30b", "a sweep looks at the parent", {"heal_sees_parent": False}, "S19",
         sends={**_ONE, "heal": 1}, workers=1, parents=CHILD, rules={"heals": True}),
    hole("H30c", "a sweep reads the child first", {"heal_sees_child_first": False}, "S19",
         sends={"acquire_hint": 2, "complete": 1, "create": 1, "heal": 1, "reset": 1}, workers=1, parents=CHILD,
         rules={"heals": True}),
    hole("H30d", "a sweep names the child's creation", {"heal_names_creation": False}, "S19",
         sends={"acquire_hint": 1, "finish": 1, "create": 3, "heal": 1, "delete": 1, "reset": 1}, workers=1,
         parents=CHILD, max_token=2, rules={"heals": True}),
    hole("H36", "nobody cleans up what somebody still waits for", {"clean_sees_waiting": False}, "S20",
         sends={**_ONE, "acquire_hint": 1, "finish": 1, "clean_up": 1}, workers=1, parents=CHILD,
         rules={"release": "never", "heals": True}),
    hole("H36b", "a clean-up names what was seen", {"people_see_version": False}, "clean_up: applied",
         sends={**_ONE, "reset": 1, "clean_up": 1}, workers=1, parents=CHILD),
    hole("H36c", "what has no children stays", {"clean_needs_children": False}, "planned again",
         sends={**_ONE, "create": 2, "clean_up": 1}, workers=1, parents=CHILD, planned=True),
    hole("H36d", "a parent stays until its children have begun", {"clean_needs_begun": False}, "planned again",
         sends={**_ONE, "create": 3, "delete": 1, "clean_up": 1}, workers=1, parents=CHILD, planned=True),
    hole("H36e", "parents go before their children", {"clean_needs_no_parent": False}, "stays for ever",
         sends={"acquire_hint": 3, "complete": 2, "create": 3, "clean_up": 1}, workers=1, parents=CHAIN, planned=True),
    hole("H36f", "a day is longer than any message lives", {"clean_after_outlives_messages": False}, "planned again",
         sends={**_ONE, "create": 2, "clean_up": 1}, workers=1, parents=CHILD, planned=True),
    hole("H37", "a mark names the tenure that was asked for", {"mark_names_tenure": False}, "S28",
         sends={"acquire_hint": 2, "ask": 1, "steal": 1, "give_up": 1}, workers=3),
    hole("H37b", "stealing names the fence", {"steal_names_fence": False}, "applied twice",
         sends={"acquire_hint": 2, "ask": 2, "steal": 1}, rows=1, max_token=4),
    hole("H37c", "only who has asked steals", {"steal_needs_mark": False}, "S28",
         sends={"acquire_hint": 1, "ask": 1, "steal": 1}),
    hole("H37d", "a stolen lease is no lost one", {"stolen_counts_nothing": False}, "L5",
         sends={"acquire_hint": 1, "renew": 2, "ask": 1, "steal": 1, "reclaim": 1}, max_lost=2),
    hole("H38", "only what was reset and not begun gets another payload", {"refresh_sees_reset": False}, "S29",
         sends={"acquire_hint": 2, "complete": 1, "reset": 1, "refresh": 1, "give_up": 1}, workers=1),
    hole("H38b", "a refresh names the payload that it replaces", {"refresh_sees_payload": False}, "applied twice",
         sends={"acquire_hint": 1, "complete": 1, "reset": 1, "refresh": 2}, workers=1),
    hole("H24", "a pause holds back hints, too", {"pause": "but hints"}, "X12",
         sends={"acquire_hint": 2, "acquire_query": 1, "pause": 1, "give_up": 1}, workers=1),
    hole("H24b", "a pause holds back no owner", {"pause": "endings, too"}, "X12",
         sends={"acquire_hint": 1, "fused": 1, "pause": 1}, workers=1, partitions=2),
    hole("H24c", "pausing and resuming name the operation before", {"pause_sees_version": False}, "applied twice",
         sends={"acquire_hint": 1, "pause": 1, "resume": 1}, workers=1),
)  # fmt: skip
