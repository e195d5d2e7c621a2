"""Branches and the view, rule by rule: loosened, readers must lose rows; and all rules together, several at work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tests.model.branches.rules import Rules, Scenario


@dataclass(frozen=True, slots=True)
class Hole:
    """A rule and what it prevents.

    :param loose: the rule's switch, loosened.
    :param expect: part of the violation that it must show.
    :param scenario: the bounds, all rules on.
    """

    name: str
    title: str
    loose: dict[str, Any]
    expect: str
    scenario: Scenario

    @property
    def loosened(self) -> Scenario:
        """The same bounds without the rule."""
        return replace(self.scenario, rules=replace(Rules(), **self.loose), expect=self.expect)


@dataclass(frozen=True, slots=True)
class Full:
    """A scenario in two sizes."""

    name: str
    small: Scenario
    wide: Scenario


def hole(name: str, title: str, loose: dict[str, Any], expect: str, **bounds: Any) -> Hole:
    """Return a hole."""
    return Hole(name, title, loose, expect, Scenario(f"{name} {title}", **bounds))


def full(name: str, more: dict[str, Any], **bounds: Any) -> Full:
    """Return a scenario; ``more`` is what the wide one has beyond, or instead of, the small one."""
    return Full(name.split()[0], Scenario(name, **bounds), Scenario(name, **(bounds | more)))


_LOST, _OTHER, _HIDES = "S23: a reader finds nothing", "S22: a reader finds", "which readers see"
_TWICE = "rows 2 times"

_BOTH: dict[str, Any] = {"keys": 2, "branches": ((0, 1),)}
"""Two partitions in one branch."""
_TWO: dict[str, Any] = {"branches": ((0,), (0,))}
"""Two branches of one partition."""
_SLOW: dict[str, Any] = {"hides": True, "slow": True}
_INSTEAD: dict[str, Any] = {**_BOTH, "resets": True, "instead": True}

HOLES = (
    hole("N1", "the highest token shows, in whichever branch", {"token": False}, _OTHER, resets=True),
    hole("N2", "no plain reset while the branch has begun", {"locked": False}, _HIDES,
         tokens=3, resets=True, adds=True),
    hole("N2b", "judged by the view, read after the partition", {"partition_first": False}, _HIDES,
         tokens=3, resets=True, adds=True),
    hole("N3", "nobody adds where readers see another branch", {"same": False}, _HIDES, resets=True, adds=True),
    hole("N4", "each partition of a branch has completed in it", {"all": False}, "shows without", **_BOTH, tokens=1),
    hole("N4b", "and all that it replaces are in it", {"expected": False}, "shows without", **_BOTH, tokens=1),
    hole("N5", "one begun branch over a partition at a time", {"one": False}, _HIDES,
         **_TWO, tokens=3, resets=True, adds=True),
    hole("N6", "what a branch hides is emptied when it is final", {"final": False}, _LOST, empties=True),
    hole("N6b", "and was hidden for longer than anybody reads", {"aged": False}, "S22: the reader",
         empties=True, reader=True, resets=True, silent=True),
    hole("N7", "nothing is prepared in what was rolled back", {"rolled_back": False}, "nobody will ever see"),
    hole("N8", "tokens of a name never begin anew", {"tokens_rise": False}, _OTHER, vanishes=True),
    hole("N9", "no plain reset of what was retired", {"retired": False}, _TWICE, **_INSTEAD),
    hole("N9b", "of nothing beside it before the branch is final", {"retiring_is_final": False}, _TWICE, **_INSTEAD),
    hole("N9c", "of nothing that was new in what was rolled back", {"new_stays": False}, _TWICE, **_INSTEAD),
    hole("N10", "a reader reads the view again", {"view_twice": False}, "S22: the reader",
         **_BOTH, tokens=1, reader=True, retracts=True),
    hole("N11", "the collector follows every head record", {"follows_every_head": False}, "which is gone"),
    hole("Q1", "hiding is judged on what shows", {"hidden_as_shown": False}, _OTHER, hides=True, dated=False),
    hole("Q2", "marked as purging before it is emptied", {"marked_first": False}, _LOST, **_SLOW),
    hole("Q3", "what is marked is never restored", {"irrevocable": False}, _LOST, **_SLOW),
    hole("Q4", "a purger reads the view again, after partitions", {"looks_again": False}, _LOST,
         **_SLOW, by_mark=False, resets=True, tokens=1),
    hole("Q4b", "and goes on only with the very same entry", {"same_entry": False}, _LOST,
         **_SLOW, by_mark=False, resets=True, moves=True, tokens=1),
    hole("Q5", "its retract names the partition as it was read", {"purges_as_seen": False}, _LOST,
         **_SLOW, resets=True, tokens=1),
    hole("Q6", "and only what lies in the interval", {"narrowed": False}, _LOST, **_SLOW, dated=False),
    hole("Q7", "an entry stays until all that was to go is empty", {"purges_all": False}, _OTHER, hides=True),
    hole("Q8", "no other interval for what is being purged", {"interval_stays": "never"}, _LOST, **_SLOW, moves=True),
    hole("Q8b", "nor for what is hidden", {"interval_stays": "purging"}, _LOST, **_SLOW, moves=True),
    hole("Q9", "nothing is purged that was hidden just now", {"purges_late": False}, _LOST, **_SLOW, moves=True),
    hole("Q10", "nobody adds to what is being purged", {"purging_stays": False}, _OTHER,
         hides=True, adds=True, resets=True, tokens=1),
    hole("Q10b", "an ending that adds comes before the mark", {"marked_after_endings": False}, _OTHER,
         hides=True, adds=True, resets=True, tokens=1),
)  # fmt: skip

FULL = (
    full("Y1 one partition, two branches, additions", {"tokens": 3, "closes": True, "retracts": True},
         **_TWO, resets=True, adds=True, empties=True),
    full("Y2 two partitions, two branches", {"tokens": 2, "resets": True, "adds": True},
         keys=2, branches=((0, 1), (0,)), tokens=1, empties=True),
    full("Y3 two partitions of one branch, reset out of it", {"tokens": 2, "retracts": True, "silent": True},
         **_BOTH, tokens=1, resets=True, adds=True, empties=True),
    full("Y4 closes, and endings that publish nothing", {"tokens": 3, "retracts": True},
         **_TWO, tokens=2, resets=True, adds=True, closes=True, silent=True, empties=True),
    full("Y5 hidden, restored, purged, retracted, of another interval", {"tokens": 2},
         **_SLOW, tokens=1, resets=True, adds=True, undated=True, moves=True, retracts=True),
    full("Y5b the same, where no mark says what goes", {"tokens": 2},
         **_SLOW, by_mark=False, tokens=1, resets=True, undated=True, moves=True, retracts=True),
    full("Y6 hidden and purged, two branches", {"tokens": 3, "resets": True},
         **_TWO, **_SLOW, empties=True),
    full("Y7 two partitions hidden and purged, one branch", {"slow": True, "resets": True},
         **_BOTH, hides=True, tokens=1),
    full("Y8 retired, and there under another name", {"tokens": 3, "closes": True}, **_INSTEAD, empties=True),
    full("Y9 taken away by TTL, and created again", {"tokens": 3, "empties": True},
         vanishes=True, hides=True, resets=True),
    full("Y10 a slow reader, two partitions", {"tokens": 2, "empties": True, "resets": True},
         **_BOTH, tokens=1, reader=True, retracts=True),
    full("Y11 the same, the base before branches", {"tokens": 2, "empties": True, "resets": True},
         **_BOTH, tokens=1, reader=True, retracts=True, base_first=True),
    full("Y12 a slow reader, and everything", {"tokens": 2, "slow": True, "adds": True, "retracts": True},
         tokens=1, reader=True, hides=True, empties=True, resets=True, silent=True),
    full("Y13 the same, the base before branches", {"tokens": 2, **_TWO, "adds": True, "hides": True},
         tokens=1, reader=True, empties=True, resets=True, silent=True, base_first=True),
)  # fmt: skip
