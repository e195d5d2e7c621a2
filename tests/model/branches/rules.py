"""The rules of branches and of the view as switches, and the bounds within which they are tried."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """As the design has them. Each other value loosens one rule, and some scenario shows what it prevents."""

    token: bool = True
    """Whether of a partition's head records that count the highest token shows; otherwise a branch before the base."""
    locked: bool = True
    """Whether a plain reset is refused while the partition's branch has begun."""
    same: bool = True
    """Whether adding is refused where readers see another branch than the one that is added to."""
    all: bool = True
    """Whether a branch is published only when each partition in it has completed in it."""
    expected: bool = True
    """Whether it is published only when all that it shall replace are in it; otherwise those count that are by now."""
    one: bool = True
    """Whether nothing is reset into a branch that is in another one that has begun."""
    final: bool = True
    """Whether what a branch hides is emptied only when it cannot be rolled back any more."""
    aged: bool = True
    """Whether that was hidden for longer than readers read."""
    partition_first: bool = True
    """Whether who resets reads the partition, and then the view; otherwise the other way round."""
    rolled_back: bool = True
    """Whether endings in a branch that was rolled back are refused when they are prepared."""
    tokens_rise: bool = True
    """Whether what comes again under its name goes on with its tokens; otherwise they begin anew."""
    retired: bool = True
    """Whether a plain reset of what was retired in a branch that shows is refused."""
    retiring_is_final: bool = True
    """Whether nothing is reset out of a branch that has retired partitions between its publication and its end."""
    new_stays: bool = True
    """Whether a plain reset is refused of what was created in a branch that was rolled back."""
    hidden_as_shown: bool = True
    """Whether hiding is judged on the head record that shows; otherwise on each, before one is chosen."""
    marked_first: bool = True
    """Whether what is hidden is marked as *purging* before it is emptied."""
    irrevocable: bool = True
    """Whether nobody restores what is marked so."""
    looks_again: bool = True
    """Whether a purger reads the view again, after it has read a partition."""
    same_entry: bool = True
    """Whether it goes on only if the entry is the one that it began with; otherwise any that says the same."""
    purges_as_seen: bool = True
    """Whether its retract names the partition as it was read."""
    narrowed: bool = True
    """Whether its retract empties only the head records that lie in the interval."""
    purges_all: bool = True
    """Whether an entry goes when all that was to go is empty; otherwise when nothing of that shows."""
    interval_stays: str = "hidden"
    """From when on nobody gives a head record in an interval another one. ``purging`` and ``never``: loose."""
    purges_late: bool = True
    """Whether nothing is marked before it was hidden for longer than messages are under way."""
    purging_stays: bool = True
    """Whether nobody adds to what is being purged."""
    marked_after_endings: bool = True
    """Whether an ending that adds, and was prepared before the mark, is applied before it."""
    view_twice: bool = True
    """Whether a reader reads the view again, and begins anew when it has changed."""
    follows_every_head: bool = True
    """Whether the collector follows every head record; otherwise those that show."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Rules, and what may happen under them.

    :param keys: so many partitions, each of an interval of its own.
    :param branches: for each branch the partitions that it replaces.
    :param tokens: how many tenures each partition may have.
    :param adds: endings may add.
    :param closes: an ending may leave its partition open, to be acquired again without a reset.
    :param silent: an ending may publish nothing; the head records stay.
    :param dated: whether what was published first lies in the partition's interval; what is published later does.
    :param undated: whether what is published later may be of no interval, too.
    :param hides: people hide and restore, and purge.
    :param by_mark: what goes is what was there, and counted, when it was marked; otherwise all that lies in the
        interval while it is being purged.
    :param slow: a purger that may sleep at any point.
    :param retracts: people retract.
    :param empties: what a branch hides for good is emptied, and what was rolled back.
    :param resets: people reset partitions out of branches, and where they are in none.
    :param moves: people say of another interval what was published.
    :param vanishes: TTL takes completed partitions away, and they are created again.
    :param instead: partition 1, which is new, has in the branch the rows of partition 0, which is retired in it.
    :param reader: a reader that reads the view and head records one by one.
    :param base_first: it reads the base before branches; otherwise after them.
    :param expect: part of the violation that a loosened rule must show.
    """

    name: str
    keys: int = 1
    branches: tuple[tuple[int, ...], ...] = ((0,),)
    tokens: int = 2
    adds: bool = False
    closes: bool = False
    silent: bool = False
    dated: bool = True
    undated: bool = False
    hides: bool = False
    by_mark: bool = True
    slow: bool = False
    retracts: bool = False
    empties: bool = False
    resets: bool = False
    moves: bool = False
    vanishes: bool = False
    instead: bool = False
    reader: bool = False
    base_first: bool = False
    rules: Rules = Rules()
    expect: str = ""
