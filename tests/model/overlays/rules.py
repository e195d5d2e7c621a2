"""The rules of overlays as switches, and the bounds within which they are tried."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rules:
    """As the design has them. Each other value loosens one rule, and some scenario shows what it prevents."""

    fence: bool = True
    """Whether an overlay counts only by an ending under its tenure's fence, as every output."""
    covers: str = "what readers meet"
    """What a new overlay must cover of what its group's present one covers, or something above it on the same walk.

    ``what heads name`` and ``nothing``: loose.
    """
    relies_on: str = "later epochs"
    """Whose published overlays free a group from that. ``later or same`` and ``any other``: loose."""
    relies_on_published: bool = True
    """Whether only published overlays do; otherwise the newest that was written, too."""
    under_lease: str = "all"
    """What of that is read under the group's lease. ``overlays`` (heads before it) and ``nothing``: loose."""
    named_as_read: bool = True
    """Whether the digests are those of the very read whose rows were merged; otherwise those of the heads by then."""
    origins_met: bool = True
    """Whether a reader takes the rows of those origins only that it has met on a walk."""
    walk_stops: bool = True
    """Whether a walk ends at a covered block: its overlay holds what the block follows, too."""
    overlays_first: bool = True
    """Whether a reader reads overlays before heads."""
    epochs_ascending: bool = True
    """Whether it reads those of earlier epochs before those of later ones."""
    collected_by_published: bool = True
    """Whether the collector goes by published overlays; otherwise by the newest that was written."""
    collected_by_aged: bool = True
    """Whether it goes by those only that were published longer ago than readers read."""
    partition_before_heads: bool = True
    """Whether the collector has seen a tenure over before it reads the heads."""
    originals_kept: bool = True
    """Whether originals stay as long as somebody reads who knows no overlays."""
    groups_left_alone: bool = True
    """Whether nobody takes a group's overlay back by hand where originals may be gone."""
    adds_through_overlays: bool = True
    """Whether who adds to a partition looks at what it follows through overlays, as readers do."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Rules, and what may happen under them.

    :param plans: what each partition will publish after its first block: ``add``, ``replace``, ``beside`` (adds, but
        follows nothing: it lies on another kind of storage) or ``retract``.
    :param epochs: the epoch of each group of merged partitions; groups of one dataset all see all of its partitions.
    :param tokens: how many tenures each group may have; each may be one of a driver that was believed dead.
    :param drivers: so many drivers at once, of any groups: one may sleep past its lease.
    :param reader: a reader that reads overlays and heads one by one, as slowly as the collector's margin allows.
    :param collector: a collector without any margin, which decides about one file after another.
    :param old_readers: somebody reads who knows no overlays.
    :param hands: a person may take overlays back.
    :param expect: part of the violation that a loosened rule must show.
    """

    name: str
    plans: tuple[tuple[str, ...], ...] = ((),)
    epochs: tuple[int, ...] = (0,)
    tokens: tuple[int, ...] = (2,)
    drivers: int = 1
    reader: bool = False
    collector: bool = True
    old_readers: bool = False
    hands: bool = False
    rules: Rules = Rules()
    expect: str = ""

    @property
    def overlays_may_go(self) -> bool:
        """Whether a person takes overlays back: where originals are kept, or nobody keeps the person from it."""
        return self.hands and (self.old_readers or not self.rules.groups_left_alone)
