"""Overlays, rule by rule: loosened, it must lose or double rows; and all rules together, several at work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tests.model.overlays.rules import Rules, Scenario


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


_ADDS, _REPLACES, _STAYS = ("add",), ("replace",), ()
_GONE, _TWICE = "which is gone", "S21: a reader finds"

HOLES = (
    hole("O1", "an overlay counts under its tenure's fence only", {"fence": False}, _GONE,
         plans=(_STAYS,), drivers=2),
    hole("O2", "a new overlay covers what readers meet of the present one", {"covers": "nothing"}, _GONE,
         plans=(_STAYS,)),
    hole("O2b", "not only what heads name: what they meet on the walk", {"covers": "what heads name"}, _GONE,
         plans=(_ADDS,)),
    hole("O3", "a group relies on later epochs only", {"relies_on": "any other"}, _GONE,
         epochs=(0, 1), tokens=(2, 2), drivers=2),
    hole("O3b", "not on a group of its own epoch either", {"relies_on": "later or same"}, _GONE,
         epochs=(0, 0), tokens=(2, 2), drivers=2),
    hole("O3c", "and on what they have published", {"relies_on_published": False}, _GONE,
         epochs=(0, 1), tokens=(2, 1), drivers=2),
    hole("O4", "what that goes by is read under the lease", {"under_lease": "nothing"}, _GONE,
         plans=(_ADDS,), drivers=2),
    hole("O4b", "the heads, too", {"under_lease": "overlays"}, _GONE,
         plans=(_REPLACES,), drivers=2),
    hole("O5", "digests are those of the read whose rows were merged", {"named_as_read": False}, _TWICE,
         plans=(_ADDS,)),
    hole("O6", "readers take the rows of origins that they have met", {"origins_met": False}, _TWICE,
         plans=(_REPLACES, _STAYS), tokens=(1,)),
    hole("O7", "a walk stops at a covered block", {"walk_stops": False}, _TWICE,
         plans=(_ADDS,)),
    hole("O8", "the collector goes by published overlays", {"collected_by_published": False}, _GONE,
         plans=(_STAYS,)),
    hole("O8b", "and by old ones", {"collected_by_aged": False}, "S21: the reader follows",
         plans=(_STAYS,), tokens=(1,), reader=True),
    hole("O9", "readers read overlays before heads", {"overlays_first": False}, "S21: the reader follows",
         plans=(_REPLACES,), reader=True),
    hole("O10", "and earlier epochs before later ones", {"epochs_ascending": False}, "S21: the reader follows",
         epochs=(0, 1), tokens=(2, 1), reader=True),
    hole("O11", "the collector sees a tenure over, then reads heads", {"partition_before_heads": False}, _GONE,
         plans=(_REPLACES,), tokens=(1,)),
    hole("O12", "originals stay as long as somebody knows no overlays", {"originals_kept": False}, "who knows no",
         plans=(_ADDS,), old_readers=True),
    hole("O13", "nobody takes an overlay back by hand", {"groups_left_alone": False}, _GONE,
         plans=(_STAYS,), hands=True),
    hole("O14", "who adds looks through overlays", {"adds_through_overlays": False}, "S24",
         plans=(_ADDS,), tokens=(1,)),
)  # fmt: skip

FULL = (
    full("V1 a partition adds twice, one of two drivers is a zombie", {"tokens": (3,)},
         plans=(("add", "add"),), drivers=2),
    full("V2 two partitions, one adds and one is replaced, two drivers", {"plans": (("add", "add"), _REPLACES)},
         plans=(_ADDS, _REPLACES), drivers=2),
    full("V3 two epochs, two partitions", {"drivers": 2},
         plans=(_ADDS, _STAYS), epochs=(0, 1), tokens=(2, 1)),
    full("V4 two epochs, two drivers, the older group is given up", {"tokens": (2, 2)},
         plans=(_ADDS,), epochs=(0, 1), tokens=(2, 1), drivers=2),
    full("V5 three epochs", {"plans": (_ADDS,)},
         plans=(_STAYS,), epochs=(0, 1, 2), tokens=(2, 2, 1)),
    full("V6 two groups of one epoch", {"drivers": 2},
         plans=(_ADDS,), epochs=(0, 0), tokens=(2, 2)),
    full("V7 replaced, retracted, published again", {"drivers": 2},
         plans=(("replace", "retract", "add"),)),
    full("V8 blocks that follow nothing", {"plans": (("beside", "add", "replace"),), "drivers": 2},
         plans=(("beside", "add"),)),
    full("V9 a slow reader, two partitions", {"tokens": (2,)},
         plans=(_ADDS, _REPLACES), tokens=(1,), reader=True),
    full("V10 a slow reader, two epochs", {"plans": (_ADDS,), "drivers": 2},
         epochs=(0, 1), tokens=(2, 1), reader=True),
    full("V11 readers of before, and people who take overlays back", {"plans": (("add", "replace"), _ADDS)},
         plans=(("add", "replace"),), old_readers=True, hands=True, reader=True),
    full("V12 two of everything: partitions, epochs, drivers", {"reader": True},
         plans=(_ADDS, _STAYS), epochs=(0, 1), tokens=(1, 1), drivers=2),
)  # fmt: skip
