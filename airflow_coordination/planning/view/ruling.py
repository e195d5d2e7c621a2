"""What rules hide: the view in which exactly that is hidden by them, in as few entries as they allow.

Every entry is itself an interval that the rules drop. A rule that drops takes what lies inside its reach, and one that
keeps takes all that it overlaps; so whatever lies in such an entry is dropped, too, also what is published there later.
That is why entries are made longer only as far as the rules drop the longer one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Final

from airflow_coordination.planning.intervals import Interval, umbrella
from airflow_coordination.planning.view.view import BY_RULES, Hidden, View

MOST_ENTRIES: Final = 40
"""Of one dataset by rules. A document takes some hundreds in all; beyond these the oldest neighbours become one."""
Dropped = Callable[[Interval], str | None]
"""Returns which rule drops an interval, in words; ``None`` when it is kept."""


def ruled(view: View, dataset: str, intervals: Iterable[Interval], dropped: Dropped, now: datetime) -> View:
    """Return the view in which rules hide what they drop of a dataset, and nothing else.

    What they have hidden before keeps its time. What they drop no more comes back; what a person has hidden stays, and
    so does what is being purged.

    :param intervals: of all head records that show, hidden or not.
    :param dropped: the verdict of the rules at ``now``.
    :param now: by the store's clock.
    """
    its = [each for each in view.hidden if each.dataset == dataset]
    mine = [each for each in its if each.by_rules and not each.purging]
    staying = [replace(each, why=why) for each in mine if (why := dropped(each.interval)) is not None]
    gone = [each for each in mine if dropped(each.interval) is None]
    # When what is being purged is gone, what rules drop there is still to be hidden.
    hidden = [*staying, *(each for each in its if each not in mine and not each.purging)]
    fresh: dict[datetime, list[Interval]] = {}
    for interval in {each for each in intervals if not _inside(each, hidden)}:
        if dropped(interval) is not None:
            since = min((each.since for each in gone if each.interval.contains(interval)), default=now)
            fresh.setdefault(since, []).append(interval)
    made = [
        Hidden(dataset=dataset, interval=each, since=since, by=BY_RULES, why=dropped(each) or "")
        for since, those in sorted(fresh.items())
        for each in _together(those, dropped)
    ]
    entries = _fewer([*staying, *made], dropped)
    return replace(view, hidden=(*(each for each in view.hidden if each not in mine), *entries))


def _inside(interval: Interval, entries: Iterable[Hidden]) -> bool:
    return any(each.interval.contains(interval) for each in entries)


def _together(intervals: Sequence[Interval], dropped: Dropped) -> list[Interval]:
    """Return the intervals, those that follow each other as one wherever the rules drop it as a whole."""
    found: list[Interval] = []
    for each in sorted(intervals):
        longer = umbrella((found[-1], each)) if found else each
        if found and dropped(longer) is not None:
            found[-1] = longer
        else:
            found.append(each)
    return found


def _fewer(entries: Sequence[Hidden], dropped: Dropped) -> list[Hidden]:
    """Return the entries, the oldest neighbours as one while there are too many: hidden since the later of the two.

    So nothing of it is purged before its margin; what was hidden first waits a little longer.
    """
    found = sorted(entries, key=lambda each: each.interval)
    while len(found) > MOST_ENTRIES:
        pairs = [(max(one.since, other.since), number) for number, (one, other) in enumerate(pairwise(found))]
        for since, number in sorted(pairs):
            one, other = found[number : number + 2]
            longer = umbrella((one.interval, other.interval))
            if (why := dropped(longer)) is not None:
                found[number : number + 2] = [replace(one, interval=longer, since=since, why=why)]
                break
        else:
            return found
    return found
