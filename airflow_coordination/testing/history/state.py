"""The state of one partition as its callers can know it, and its changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from airflow_coordination.planning.intervals import Interval, umbrella
from airflow_coordination.testing.history.operations import NEVER, Kind, Output
from airflow_coordination.values.names import branch_dataset, split_dataset

Digests = tuple[str, ...]


class Published(NamedTuple):
    """What a partition has published to a dataset, in the base or in a branch.

    :param dataset: the name that its head record is stored under.
    :param generation: that published it.
    :param digests: of its blocks.
    :param interval: of which time its rows are.
    """

    dataset: str
    generation: int
    digests: Digests
    interval: Interval | None = None


Counts = tuple[tuple[str, int], ...]
Creator = tuple[str, int] | None
SLACK: Final = 1e-3
"""Seconds by which two readings of one clock may differ when they are written as numbers."""

ABSENT, UNASSIGNED, ASSIGNED, CLOSED, COMPLETED = "absent", "UNASSIGNED", "ASSIGNED", "CLOSED", "COMPLETED"
UNHEARD: Final = "?"
"""The nonce of who does not know that it holds the lease."""
FREED = "freed"
"""Its lease was reclaimed: UNASSIGNED, or parked if that was one too many."""


def merged(known: tuple[Output, ...], new: tuple[Output, ...]) -> tuple[Output, ...]:
    """Return ``known`` and ``new``, each once, a follower in the place of what it follows.

    A chain as a whole follows what its first link follows. What only its end is known of, is not added once more.
    """
    blocks = list(known)
    behind = {(block.dataset, block.digest): block.follows for block in new}
    included: set[tuple[str, str | None]] = set()
    for block in known:
        name: tuple[str, str | None] = (block.dataset, block.digest)
        while name not in included:
            included.add(name)
            name = (block.dataset, behind.get((block.dataset, name[1] or "")))
    for block in new:
        if (block.dataset, block.digest) in included:
            continue
        included.add((block.dataset, block.digest))
        names = [(one.dataset, one.digest) for one in blocks]
        if (block.dataset, block.follows) in names:
            place = names.index((block.dataset, block.follows or ""))
            blocks[place] = block._replace(follows=blocks[place].follows)
        else:
            blocks.append(block)
    return tuple(blocks)


def _umbrella(interval: Interval | None, added_to: Published | None) -> Interval | None:
    """Return of which time rows are that are added: of both, and unknown where one is."""
    if interval is None or added_to is None:
        return interval
    return None if added_to.interval is None else umbrella([interval, added_to.interval])


class State(NamedTuple):
    """One partition.

    :param token: the highest token that is surely given.
    :param nonce: of the tenure that goes on, or that went on last.
    :param writer: the process that made the tenure's last chain write, empty before the first.
    :param chain: that write's number.
    :param staged: blocks saved since the last publication.
    :param published: in the order in which that was accepted.
    :param branch: that it runs in.
    :param generation: grows with create, reset, and close without state.
    :param creator: process and number of the call that created it, remembered when it is deleted.
    :param free_at: it is surely not claimable before, in seconds since 1970; never for parked ones.
    :param wrote: whether the tenure's owner has surely written, a renewal too: only then its loss counts.
    :param lost: the fewest and the most leases that may have been lost in a row.
    :param limit: so many of them park it: the tenure's own limit, ``None`` where nobody has heard it.
    :param counts: the totals of its accounting, as they are stored.
    :param over: whether they are those of the pass before.
    :param before: the totals that the tenure going on adds to.
    :param found: the token of a tenure that a task's next try has found. The one before, which took it without hearing
        of it, may find it too and give it back, until the owner's first write.
    :param asked: which processes have asked for the tenure going on, and when the time that each gave is over at the
        earliest.
    """

    status: str = ABSENT
    token: int = 0
    nonce: str = ""
    writer: str = ""
    chain: int = -1
    progress: str | None = None
    staged: tuple[Output, ...] = ()
    published: tuple[Published, ...] = ()
    branch: int | None = None
    generation: int = 0
    closed: int = 0
    failures: int = 0
    free_at: float = 0.0
    creator: Creator = None
    wrote: bool = False
    lost: tuple[int, int] = (0, 0)
    limit: int | None = None
    found: int = 0
    counts: Counts = ()
    over: bool = False
    before: Counts = ()
    asked: tuple[tuple[str, float], ...] = ()

    def held_under(self, fence: tuple[int, str] | None) -> bool:
        """Return condition *F*."""
        return self.status == ASSIGNED and (self.token, self.nonce) == fence

    @property
    def returnable(self) -> bool:
        """Whether a giving back may be on its way."""
        return self.status == ASSIGNED and self.token == self.found and not self.writer

    def due(self, moment: float) -> bool:
        """Return whether its time may have come by ``moment``."""
        return self.free_at <= moment + SLACK

    def publishing(
        self, new: tuple[Output, ...], empty: Iterable[str] = (), interval: Interval | None = None
    ) -> tuple[Published, ...]:
        """Return what is published after an ending with ``new`` blocks: it replaces, or adds in its own generation.

        All of it goes where the partition runs: into the base, or into its branch.

        :param empty: datasets of which it has nothing from now on.
        :param interval: of which time the rows of the new and the saved blocks are.
        """
        known = {each.dataset: each for each in self.published}
        blocks = merged(self.staged, new)
        for dataset in dict.fromkeys([*empty, *(block.dataset for block in blocks)]):
            mine = tuple(block for block in blocks if block.dataset == dataset)
            stored = branch_dataset(self.branch, dataset)
            known.pop(stored, None)  # what is accepted last, stands last
            kept = self.adds_to(dataset, mine) if mine else None
            outputs = tuple(Output(dataset, digest) for digest in kept.digests) if kept else ()
            digests = tuple(block.digest for block in merged(outputs, mine))
            known[stored] = Published(stored, self.generation, digests, _umbrella(interval, kept))
        return tuple(known.values())

    def adds_to(self, dataset: str, new: tuple[Output, ...]) -> Published | None:
        """Return what an ending with ``new`` blocks of a dataset adds to, ``None`` when it replaces."""
        stored = branch_dataset(self.branch, dataset)
        before = next((each for each in self.published if each.dataset == stored), None)
        adds = before and (before.generation == self.generation or any(block.mode == "append" for block in new))
        return before if adds else None

    def newest(self, dataset: str, shown: Collection[int]) -> Published | None:
        """Return the last that was accepted of a dataset, and counts.

        :param dataset: as users name it.
        :param shown: the branches that do.
        """
        for each in reversed(self.published):
            branch, name = split_dataset(each.dataset)
            if name == dataset and (branch is None or branch in shown):
                return each
        return None

    def taken(self, token: int, free_at: float) -> State:
        """Return the state held by somebody who does not know it yet, and gives it back when it is found."""
        return self._replace(
            status=ASSIGNED,
            token=token,
            nonce=UNHEARD,
            writer="",
            chain=-1,
            free_at=free_at,
            wrote=False,
            lost=self.lost_with(token - self.token - 1),
            limit=None,
            before=() if self.over else self.counts,
            asked=(),
        )

    def may_be_held_under(self, fence: tuple[int, str] | None) -> bool:
        """Return condition *F*, as far as it is known who holds it."""
        unheard = self.status == ASSIGNED and self.nonce == UNHEARD and fence is not None and fence[0] == self.token
        return unheard or self.held_under(fence)

    def asked_by(self, process: str, over: float) -> State:
        """Return the state when a process has asked for the tenure; what it asked for before may be what counts."""
        known = dict(self.asked)
        known[process] = min(over, known.get(process, over))
        return self._replace(asked=tuple(sorted(known.items())))

    def counting(self, new: Mapping[str, int] | None, *, over: bool = False) -> State:
        """Return the state after a step that carries what its tenure has counted, if anything.

        :param over: the step ends a pass.
        """
        if new is None:
            return self._replace(over=self.over or over)
        known = dict(self.before)
        totals = {name: known.get(name, 0) + new.get(name, 0) for name in {*known, *new}}
        return self._replace(counts=tuple(sorted(totals.items())), over=over)

    def lost_with(self, unheard: int = 0) -> tuple[int, int]:
        """Return the leases lost in a row when the state's own is, if it has one, and ``unheard`` tenures after it."""
        least, most = self.lost
        held = self.status == ASSIGNED
        return least + (held and self.wrote), most + held + unheard

    @property
    def is_at_its_last(self) -> bool:
        """Whether the lease surely parks the partition when it is lost, so that nobody takes it over."""
        return self.status == ASSIGNED and self.wrote and self.limit is not None and self.lost_with()[0] >= self.limit

    def reclaimed(self) -> State:
        """Return the state when its lease was lost: parked by the lease's own limit, free, or nobody can tell which."""
        after = self._replace(status=FREED, free_at=0.0, lost=self.lost_with())
        if self.is_at_its_last:
            return after._replace(status=CLOSED, free_at=NEVER)
        surely_free = self.limit is not None and after.lost[1] < self.limit
        return after._replace(status=UNASSIGNED) if surely_free else after

    def fresh(self, creator: Creator, branch: int | None = None) -> State:
        """Return a new life of the partition: tokens go on, and what is published stays.

        :param branch: that it runs in.
        """
        new = State(UNASSIGNED, self.token, published=self.published, generation=self.generation + 1, creator=creator)
        return new._replace(branch=branch)

    def acted_on(self, kind: Kind, branch: int | None = None, datasets: Collection[str] | None = None) -> State:
        """Return the state after a person's action; taking a lease away, and deleting, raise the token.

        :param branch: of a reset: that it runs in from now on.
        :param datasets: of a retract: by the names that head records are stored under; ``None`` = all.
        """
        state = self._replace(token=self.token + (self.status == ASSIGNED or kind is Kind.DELETE))
        if kind is Kind.RETRACT:
            gone = (each if datasets is not None and each.dataset not in datasets else None for each in state.published)
            both = zip(state.published, gone, strict=True)
            return state._replace(published=tuple(kept or each._replace(digests=()) for each, kept in both))
        if kind is Kind.PARK:
            return state._replace(status=CLOSED, free_at=NEVER)
        if kind is Kind.DELETE:
            return State(
                token=state.token, published=state.published, generation=state.generation, creator=state.creator
            )
        if kind is Kind.RESET:
            return state.fresh(state.creator, branch)
        if kind is Kind.FINISH:
            return state._replace(status=COMPLETED, staged=(), failures=0, lost=(0, 0), free_at=NEVER)
        free = state._replace(status=UNASSIGNED, free_at=0.0)
        return free._replace(failures=0, lost=(0, 0)) if kind is Kind.REOPEN else free
