"""The states of the model, as small frozen values with the names of the protocol.

What a store holds (:class:`Item`, :class:`Head`), what was ever sent to it (:class:`Message`) and what its senders
know (:class:`Worker`) is the protocol's. What really happened (:class:`Truth`) is the model's own, for its checks.
An operation's id is its sender's name and a number, so that the order in which two senders act leaves no trace.
"""

from __future__ import annotations

from typing import NamedTuple

ABSENT, UNASSIGNED, ASSIGNED, CLOSED, PARKED, COMPLETED, TOMBSTONE = (
    "absent", "UNASSIGNED", "ASSIGNED", "CLOSED", "PARKED", "COMPLETED", "tombstone",
)  # fmt: skip
IDLE, WAITS, OWNS = "idle", "waits", "owns"
OK, REFUSED, UNKNOWN, LEFT, REPEAT = "ok", "refused", "unknown", "left", "repeat"

ACQUISITIONS = frozenset(("acquire_hint", "acquire_query", "retake", "steal"))
ENDINGS = frozenset(("complete", "fused", "close", "close_state", "fail", "give_up"))
CHAIN = ENDINGS | {"begin", "save", "say"}
OWNED = CHAIN | {"renew", "adopt"}
ASK = "ask"
"""Says that another worker wants a lease: no write of its owner's."""
PUBLISHING = frozenset(("complete", "fused", "close", "close_state"))
STEERING = ("pause", "resume")
"""What people do to the whole source."""
CLEAR = "clear"
"""Takes the note of a follow-up away."""
FOLLOWED = "followed"
"""Takes what was to follow out of a parked partition."""
HEAL = "heal"
"""A sweep's release of a child whose parent has finished."""
PEOPLE = ("reset", "retract", "delete", "release", "park", "reopen_parked", "place", "finish", "clean_up")

ANY = -1
SWEEP, TASK, PERSON, LISTING = -1, -2, -3, -4
"""Senders that are no workers; LISTING creates partitions where there are no supplier's pages."""

Block = tuple[int, str]
"""A row and the operation that finished it."""


class Ending(NamedTuple):
    """An entry of the ring."""

    token: int
    nonce: str
    outcome: str
    op: str
    last: str


class Counts(NamedTuple):
    """The totals of a partition: of how many rows, in which generation they are valid, and whether it started over."""

    rows: int = 0
    generation: str = ""
    over: bool = False


class Item(NamedTuple):
    """One partition as the store holds it."""

    status: str = ABSENT
    token: int = 0
    nonce: str = ""
    last_op: str = ""
    task: int = 0
    tries: int = 0
    timeout: int = 0
    confirmed: bool = False
    progress: int = 0
    staged: tuple[Block, ...] = ()
    closed: int = 0
    lost: int = 0
    limit: int = 0
    ttl: bool = False
    generation: str = ""
    create_op: str = ""
    ring: tuple[Ending | None, ...] = ()
    counts: Counts = Counts()
    waits: tuple[int, ...] = ()
    awaited: str = ""
    wanted: tuple[int, ...] = ()
    """The mark: who has asked for it last, and the token of the tenure that was asked for; endings leave it there."""
    finished: bool = False
    """Of a tombstone: whether it was cleaned up, and not deleted."""
    said: tuple[str, ...] = ()
    """What is to follow when it is parked: the generation in which it was said, and the operation that said it."""
    payload: str = ""
    """The refresh that has given it its payload; empty for its creation."""


class Head(NamedTuple):
    """What readers of one partition follow; ``used`` are the tokens that ever published."""

    op: str = ""
    token: int = 0
    generation: str = ""
    blocks: tuple[Block, ...] = ()
    used: tuple[int, ...] = ()


class Pause(NamedTuple):
    """What the store holds of a source: the last operation that paused or resumed it, and which of the two it was."""

    op: str = ""
    on: bool = False


class FollowUp(NamedTuple):
    """What is to be done at the source after an accepted ending: whether the store knows of it, and whether it is done.

    The protocol does not know ``done``.
    """

    op: str
    part: int
    stored: bool = True
    done: bool = False


class Message(NamedTuple):
    """A write that was sent. It stays in the bag for ever; ``applied``, ``told`` and ``granted`` are its fate.

    ``token``, ``nonce``, ``prev`` and ``status`` are what its condition names: the sender's fence and last operation,
    or what the sender saw. ``part``: ``ANY`` for an acquisition of whatever is first. ``dead``: too old to be applied.
    ``under``: the pause of the source that was in force when it was sent.
    ``saw``, ``half`` and ``lists``: what its sender has read of other partitions, whole or the first half of it.
    ``halved``: a fused step whose first half is settled by itself, by repeating that half alone.
    """

    op: str
    kind: str
    by: int
    part: int
    token: int = 0
    nonce: str = ""
    prev: str = ""
    status: str = ""
    life: int = 0
    since: int = 0
    progress: int = 0
    blocks: tuple[Block, ...] | None = None
    generation: str = ""
    closed: int = 0
    timeout: int = 0
    same_try: bool = False
    applied: bool = False
    told: str = ""
    granted: tuple[int, ...] = ()
    dead: bool = False
    halved: bool = False
    under: str = ""
    counted: int | None = None
    saw: tuple[str, ...] = ()
    half: tuple | None = None
    lists: tuple = ()


class Worker(NamedTuple):
    """What one process knows. ``unsettled`` and ``phantoms`` are what it keeps from one call to the next.

    :param call: the operation it waits for.
    :param wish: what it was asked for, to be sent once ``call``, the write before, is settled.
    :param asked: kind of the last ending asked for: the intent.
    :param counts: the totals from before its tenure.
    :param began: the progress from which on it counts.
    """

    phase: str = IDLE
    call: str = ""
    wish: str = ""
    part: int = 0
    token: int = 0
    nonce: str = ""
    last_op: str = ""
    progress: int = 0
    staged: tuple[Block, ...] = ()
    closed: int = 0
    generation: str = ""
    timeout: int = 0
    begun: bool = False
    unsettled: str = ""
    asked: str = ""
    phantoms: tuple[str, ...] = ()
    pages: int = 0
    life: int = 0
    counts: Counts = Counts()
    began: int = 0


class Truth(NamedTuple):
    """What really happened to one partition: nobody in the model reads it but the checks."""

    life: int = 0
    tenure: tuple[int, str] | None = None
    path: tuple[Block, ...] = ()
    closed: int = 0
    completions: int = 0
    promised: int = 0
    lost: int = 0
    limit: int = 0
    adopted: int = 0
    retracted: bool = False
    """Whether a person took rows back that the progress stands for."""
    begun: bool = False
    """Whether somebody has acquired it since it was created or reset."""
    owed: tuple[int, ...] = ()
    """Parents that were unfinished when it was created, and have not finished since."""


class State(NamedTuple):
    """Everything at one moment."""

    items: tuple[Item, ...]
    heads: tuple[Head, ...]
    truths: tuple[Truth, ...]
    workers: tuple[Worker, ...]
    messages: tuple[Message, ...]
    pauses: tuple[Pause, ...] = (Pause(),)
    follow_ups: tuple[FollowUp, ...] = ()
    handed: Worker | None = None


def put(values: tuple, index: int, value: object) -> tuple:
    """Return ``values`` with another one at ``index``."""
    return (*values[:index], value, *values[index + 1 :])


def message(state: State, op: str) -> Message | None:
    """Return what was sent under ``op``."""
    for sent in state.messages:
        if sent.op == op:
            return sent
    return None


def with_message(state: State, new: Message) -> State:
    """Return the state with ``new`` in the bag, in the place of what was sent under its id."""
    others = [sent for sent in state.messages if sent.op != new.op]
    return state._replace(messages=tuple(sorted([*others, new])))


def with_worker(state: State, index: int, worker: Worker) -> State:
    """Return the state with what one worker knows replaced."""
    return state._replace(workers=put(state.workers, index, worker))
