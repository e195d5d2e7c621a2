"""The rules of the protocol as switches, and the bounds within which they are tried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rules:
    """As the protocol has them. Each other value loosens one rule, and some scenario shows what it prevents."""

    fence_needs_assigned: bool = True
    chain: bool = True
    ring_keeps_last: bool = True
    hint: str = "token and last op"
    """``token``: also safe. ``claimable``: loose."""
    reclaim: str = "fence"
    """``row``: ASSIGNED and expired, ring entry from the row (SQL). ``version``: last op, too. ``message``: loose."""
    retake_sees_version: bool = True
    people_see_version: bool = True
    reset_clears_staged: bool = True
    reset_clears_ttl: bool = True
    retract_needs_free: bool = True
    """Whether nobody retracts what somebody holds; otherwise the owner's chain is left alone."""
    retract_needs_nothing_staged: bool = True
    overtaken_stops: bool = True
    begin: bool = True
    second_driver_joins: bool = False
    absent_is_unknown: bool = True
    head: str = "by commit"
    """``by token`` and ``once per token``: loose."""
    same_generation_adds: bool = True
    save_keeps_later_timeout: bool = True
    renewal_judged_by_timeout: bool = True
    fused_needs_completion: bool = True
    last_lease_needs_sweep: bool = True
    phantoms_count_nothing: bool = True
    counts_in_a_row: bool = True
    """Whether a complete or a close sets the count of lost leases to 0."""
    limit_travels: bool = True
    """Whether a lease is judged by its acquirer's limit; otherwise by that of who finds it expired."""
    adopt_writes: bool = True
    reopen_sees_version: bool = True
    tombstones: bool = True
    recreation: bool = True
    """Whether another create replaces a tombstone; never is safe, too."""
    ttl_outlives_messages: bool = True
    query_once: bool = True
    """Whether an acquisition by query is applied at most once per nonce: no SQL client repeats a statement."""
    settle_before_next: bool = True
    same_wish_is_same_write: bool = True
    state_after_pages: bool = True
    state_under_fence: bool = True
    place_needs_untouched: bool = True
    """Whether only what was just created gets the life of another store."""
    refresh_sees_reset: bool = True
    """Whether a payload is replaced only where nothing has happened since the reset that was seen."""
    refresh_sees_payload: bool = True
    """Whether that names the payload that was seen."""
    counts_of_one_generation: bool = True
    """Whether an owner adds only to totals of the generation that it works in."""
    passes_count_anew: bool = True
    """Whether the totals of a pass that has started over are not added to."""
    failures_count_nothing: bool = True
    """Whether only what publishes or saves carries totals."""
    noted_by_commit: bool = True
    """Whether the commit of an ending notes what follows it; otherwise a write of its own would."""
    done_after_commit: bool = True
    """Whether what follows an ending waits until it is accepted."""
    done_before_cleared: bool = True
    """Whether the note is taken away only when all is done."""
    cleared_by_op: bool = True
    """Whether taking a note away names the ending it belongs to; otherwise only the partition."""
    said_in_chain: bool = True
    """Whether what follows a parking is said in the chain; otherwise under the fence alone, as a renewal is sent."""
    said_of_one_generation: bool = True
    """Whether it follows only in the generation in which it was said."""
    followed_names_parking: bool = True
    """Whether taking it out names the operation that has parked the partition; otherwise only that it is parked."""
    blocked_waits: bool = True
    """Whether nobody acquires what waits for a parent."""
    create_sees_parents: bool = True
    """Whether a creation judges its parents, and stamps them, in its own step; otherwise by what its sender saw."""
    absent_parents_refuse: bool = True
    """Whether a parent that is not there refuses the creation; otherwise it counts as finished."""
    release: str = "in the step"
    """Whom the step that completes a parent releases. ``as seen``: those that its sender has read, safe, too.

    ``never``: code that knows no children; safe where sweeps heal.
    """
    stamp_in_condition: bool = True
    """Whether such a step names the stamp on the parent; otherwise only the parent's own tenure."""
    stamp_before_children: bool = True
    """Whether its sender has read the stamp before it looked who waits."""
    children_as_seen: bool = True
    """Whether such a step names each child as it was read."""
    heals: bool = False
    """Whether sweeps release whoever waits for what has finished."""
    heal_sees_parent: bool = True
    """Whether a sweep looks at the parent at all."""
    heal_sees_child_first: bool = True
    """Whether a sweep has read the child before the parent."""
    heal_names_creation: bool = True
    """Whether a sweep's release names the creation of the child that it has read."""
    delete_sees_children: bool = True
    """Whether nobody deletes what somebody waits for."""
    clean_sees_waiting: bool = True
    """Whether whoever cleans up has seen that nobody waits for it."""
    clean_needs_children: bool = True
    """Whether what has no children, or of which one is not there, is not cleaned up."""
    clean_needs_begun: bool = True
    """Whether it is not cleaned up while a child of it has not begun."""
    clean_needs_no_parent: bool = True
    """Whether it is not cleaned up before its own parents."""
    clean_after_outlives_messages: bool = True
    """Whether it stays for so long after its end that no creation of before is under way any more."""
    mark_names_tenure: bool = True
    """Whether a mark counts only for the tenure that was asked for; otherwise for whoever holds the lease then."""
    steal_names_fence: bool = True
    """Whether stealing names the fence as it was seen; otherwise only the sender's mark."""
    steal_needs_mark: bool = True
    """Whether only who has asked, and was asked for last, steals."""
    stolen_counts_nothing: bool = True
    """Whether a stolen lease is no lost one."""
    pause: str = "when applied"
    """When a source's pause holds acquisitions back. ``when sent``: safe, too.

    ``but hints`` and ``endings, too``: loose.
    """
    pause_sees_version: bool = True
    """Whether pausing and resuming name the operation before; otherwise only whether it is paused."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Rules, and what may happen under them.

    :param sends: how many different writes of a kind may be sent.
    :param own_try: all workers are tries of one Airflow task, in their order.
    :param second_driver: worker 1 is a second driver process of what worker 0 acquired.
    :param watched: a task fails worker 0, which it believes dead.
    :param ttl: TTL deletes what has its attribute.
    :param unknown: calls of owners may end with their outcome unknown, and the next call goes on.
    :param max_lost: so many lost leases park, 0 = never: the sweep's limit, and that of each worker.
    :param limits: the workers' own, where they differ from it.
    :param pages: the supplier's listing, as partitions by page; the workers from ``workers`` on are suppliers.
    :param create_once: a create message is applied once at most (to see what comes after it).
    :param follow_ups: something follows each ending that publishes.
    :param parents: of each partition, where there are families; those with parents are created by a listing.
    :param planned: planners create them, who go by what is there; the creation of a late one counts among them.
    :param expect: part of the violation that a loosened rule must show.
    """

    name: str
    sends: Mapping[str, int] = field(default_factory=dict)
    rules: Rules = Rules()
    workers: int = 2
    suppliers: int = 0
    partitions: int = 1
    rows: int = 2
    max_token: int = 3
    max_closed: int = 2
    max_lost: int = 0
    limits: tuple[int, ...] = ()
    ring: int = 8
    own_try: bool = False
    second_driver: bool = False
    watched: bool = False
    ttl: bool = False
    unknown: bool = False
    pages: tuple[tuple[int, ...], ...] = ()
    create_once: bool = False
    follow_ups: bool = False
    parents: tuple[tuple[int, ...], ...] = ()
    planned: bool = False
    expect: str = ""

    def task(self, worker: int) -> tuple[int, int]:
        """Return a worker's task identity and try."""
        return (1, worker + 1) if self.own_try else (worker + 1, 1)

    def limit(self, sender: int) -> int:
        """Return a sender's own limit of lost leases."""
        return self.limits[sender] if self.limits and sender >= 0 else self.max_lost

    @property
    def global_state(self) -> int:
        """Which item holds the supplier's global state."""
        return self.partitions
