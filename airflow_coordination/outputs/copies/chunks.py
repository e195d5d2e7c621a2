"""The chunks of a dataset: what of it is copied together, and by which name.

Who plans copies and who makes them ask here, so that both always mean the same partitions by a chunk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from airflow_coordination.outputs.heads.showing import newest_pages
from airflow_coordination.outputs.membership import interval_of, keys_of
from airflow_coordination.outputs.overlays import Overlays
from airflow_coordination.planning.intervals import ETERNITY, Interval, umbrella
from airflow_coordination.planning.view.showing import hiding
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.protocol.results import HeadRecord


def heads_that_show(
    store: PartitionStore, identifier: str, dataset: str, view: View, within: Interval | None = None
) -> list[HeadRecord]:
    """Return the head records of which readers see blocks, as chunks are made of them.

    :param dataset: as users name it.
    :param view: from :func:`~.showing.steadily`.
    :param within: those that lie elsewhere may be left out; that of all times leaves out none.
    """
    pages = newest_pages(store, identifier, dataset, view, None if within == ETERNITY else within)
    return [head for page in pages for head in page if head.blocks and hiding(view, head) is None]


def chunks_of(heads: Iterable[HeadRecord], overlays: Overlays) -> dict[Interval, list[HeadRecord]]:
    """Return the chunks of a dataset: what overlaps is together, and so is what was merged together.

    What has no interval is in the chunk of all times. So is everything, where intervals overlap from the beginning of
    time to its end: no two chunks have one name.

    :param heads: all that show of the dataset.
    :param overlays: its own, read before.
    """
    own: dict[str, Interval] = {}
    timed, timeless = [], []
    for head in heads:
        interval = interval_of(head, None)
        if interval is None:
            timeless.append(head)
        else:
            own[head.key] = interval
            timed.append(head)
    found = _by_time(timed, own | _together(overlays, own))
    if timeless:
        found.setdefault(ETERNITY, []).extend(timeless)
    return found


def heads_of(chunk: Interval, heads: Sequence[HeadRecord], overlays: Overlays) -> list[HeadRecord]:
    """Return the head records of one chunk; none of those for all times when there is no such chunk any more.

    Between two times no chunk lies in another one, so that what lies there is all of it. What all times are the name
    of, only the whole dataset tells.

    :param heads: those that show: of the whole dataset for the chunk of all times, else of at least the chunk.
    :param overlays: those of the dataset, read before.
    """
    if chunk == ETERNITY:
        return chunks_of(heads, overlays).get(ETERNITY, [])
    return [head for head in heads if (own := interval_of(head, None)) is not None and chunk.contains(own)]


def _by_time(heads: Iterable[HeadRecord], times: Mapping[str, Interval]) -> dict[Interval, list[HeadRecord]]:
    groups: list[tuple[Interval, list[HeadRecord]]] = []
    for head in sorted(heads, key=lambda each: (times[each.key], each.key)):
        interval = times[head.key]
        if groups and interval.overlaps(groups[-1][0]):
            groups[-1][1].append(head)
            groups[-1] = (umbrella([groups[-1][0], interval]), groups[-1][1])
        else:
            groups.append((interval, [head]))
    return dict(groups)


def _together(overlays: Overlays, own: Mapping[str, Interval]) -> dict[str, Interval]:
    """Return the time of all that was merged together, by the key of each partition of it: files are copied once."""
    found: dict[str, Interval] = {}
    for overlay in overlays.row:
        keys = [key for key in keys_of(overlay) if key in own]
        if keys:
            found |= dict.fromkeys(keys, umbrella(found.get(key, own[key]) for key in keys))
    return found
