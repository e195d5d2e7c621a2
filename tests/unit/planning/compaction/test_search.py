"""Which groups are compacted next, and why the others are not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_coordination.planning.buckets import granularity
from airflow_coordination.planning.compaction.chunks import Head
from airflow_coordination.planning.compaction.configuration import Oversize, Straddling
from airflow_coordination.planning.compaction.search import Dataset, Fragmentation, Policy, Reason, search
from airflow_coordination.planning.compaction.slots import Slots, first
from airflow_coordination.planning.intervals import Interval, parse_interval, parse_moment
from airflow_coordination.planning.periods import parse_period
from airflow_coordination.planning.timeline import Piece, timeline
from airflow_coordination.values.input_errors import InvalidInputError
from tests.unit.planning.compaction.made import config, head, of

SEED = """
foo_2017-11-01T00:00:00.000Z_2017-12-01T00:00:00.000Z_VERSION
foo_2017-11-01T00:00:00.000Z_2017-12-01T00:00:00.000Z_VERSION_1
foo_2017-09-01T00:00:00.000Z_2017-10-01T00:00:00.000Z_VERSION
bar_2017-10-01T00:00:00.000Z_2017-11-01T00:00:00.000Z_VERSION
bar_2017-10-01T00:00:00.000Z_2017-11-01T00:00:00.000Z_VERSION_1
"""
MEGABYTES = 1_000_000


def seed_datasets(**settings):
    """Read the seed's segment ids; what shows of them is what can be compacted."""
    found: dict[str, list[tuple[Interval, str, int, str]]] = {}
    for line in SEED.split():
        name, start, end, version, *part = line.split("_")
        found.setdefault(name, []).append((of(f"{start}/{end}"), version, int(*part or ["0"]), line))
    datasets = []
    for name, segments in found.items():
        parts = {interval: 1 + max(p for i, _, p, _ in segments if i == interval) for interval, *_ in segments}
        pieces = [Piece(i, version, line, part, parts[i]) for i, version, part, line in segments]
        shown = [piece for one in timeline(pieces).slices for piece in one.pieces]
        heads = [Head(piece.name, piece.interval, 10 * MEGABYTES) for piece in shown]
        datasets.append(Dataset(config(name, **settings), heads))
    return datasets


def test_seed_example_foo_bar():
    """The seed's example, from the ids of its segments to the runs that compact them.

    Both segments of VERSION show, because ``_1`` is a part of it and no newer version; first comes the newest time
    chunk of all datasets; the single segment of September is picked up last; and with one slot it takes three runs.
    """
    datasets = {one.config.dataset: one for one in seed_datasets(input_bytes=400 * MEGABYTES)}
    found = search(datasets.values())
    assert [(group.dataset, str(group.interval), len(group.heads), str(group)) for group in found.groups] == [
        ("foo", "2017-11-01/2017-12-01", 2, "never compacted: 2 of 2"),
        ("bar", "2017-10-01/2017-11-01", 2, "never compacted: 2 of 2"),
        ("foo", "2017-09-01/2017-10-01", 1, "never compacted: 1 of 1"),
    ]
    assert [head.name for head in found.groups[0].heads] == SEED.split()[:2]
    slots = Slots(ratio=0.1, max_slots=5)
    runs = []
    while groups := search(datasets.values()).groups:
        begun, _ = first(((group, 1) for group in groups), slots.available(capacity=3, busy=0))
        runs.append([(group.dataset, str(group.interval)) for group in begun])
        for group in begun:
            one = datasets[group.dataset]
            left = [head for head in one.heads if head not in group.heads]
            merged = Head(group.interval, group.interval, group.bytes, one.config.spec)
            datasets[group.dataset] = Dataset(one.config, [*left, merged])
    assert runs == [
        [("foo", "2017-11-01/2017-12-01")],
        [("bar", "2017-10-01/2017-11-01")],
        [("foo", "2017-09-01/2017-10-01")],
    ]


def test_seed_example_foo_bar_below_its_size():
    """ "If it finds such segments, it simply skips them": 20 MB are more than 15."""
    found = search(seed_datasets(input_bytes=15 * MEGABYTES))
    assert [(group.dataset, len(group.heads)) for group in found.groups] == [("foo", 1)]
    assert [(one.dataset, str(one)) for one in found.left] == [
        ("foo", "over the limit: 20000000 of 15000000 bytes"),
        ("bar", "over the limit: 20000000 of 15000000 bytes"),
    ]


def reasons(dataset):
    found = search([dataset])
    every = (*found.groups, *found.done, *found.left)
    return {str(group.interval): str(group) for group in every}


def test_each_reason_is_told():
    day = {"compression": "zstd", "segmentGranularity": "DAY"}
    heads = [
        head("never", "2026-01-01/2026-01-02"),
        head("changed", "2026-01-02/2026-01-03", merged_with=day | {"compression": "snappy"}),
        head("mixed", "2026-01-03/2026-01-04", merged_with=day),
        head("mixed too", "2026-01-03/2026-01-04", merged_with=day | {"sortBy": ["a"]}),
        head("large", "2026-01-04/2026-01-05", merged_with=day, largest_file=16),
        head("done", "2026-01-05/2026-01-06", merged_with=day, largest_file=15),
        head("empty", "2026-01-06/2026-01-07", 0),
        head("tombstone", "2026-01-07/2026-01-08", 0, is_tombstone=True),
        head("unbounded", "eternity"),
        head("locked", "2026-01-08/2026-01-09"),
        head("over", "2026-01-09/2026-01-10", 101),
        head("waiting", "2026-01-10/2026-01-11"),
        head("fresh", "2026-01-11/2026-01-12"),
    ]
    settings = config(
        granularity=granularity("g", "DAY"),
        compression="zstd",
        target_file_size=10,
        input_bytes=100,
        skip_offset_from_latest=parse_period("offset", "PT1H"),
    )
    for one in heads:
        if one.merged_with is not None:
            one.merged_with["targetFileSize"] = 10
    locked, waiting = (
        {of("2026-01-08T12/2026-01-08T13"): "branch 7"},
        {of("2026-01-10/2026-01-11"): "next try at 12:30"},
    )
    assert reasons(Dataset(settings, heads, locked, waiting)) == {
        "2026-01-01/2026-01-02": "never compacted: 1 of 1",
        "2026-01-02/2026-01-03": "configuration changed: compression: snappy → zstd",
        "2026-01-03/2026-01-04": "compacted in different ways",
        "2026-01-04/2026-01-05": "a file is too large: 16 bytes",
        "2026-01-05/2026-01-06": "nothing to do",
        "2026-01-06/2026-01-07": "no bytes",
        "2026-01-07/2026-01-08": "a lone tombstone",
        "../..": "unbounded interval",
        "2026-01-08/2026-01-09": "locked: branch 7",
        "2026-01-09/2026-01-10": "over the limit: 101 of 100 bytes",
        "2026-01-10/2026-01-11": "too many failures: next try at 12:30",
        "2026-01-11/2026-01-12": "inside the offset: 2026-01-11/2026-01-12",
    }


def test_what_is_switched_off_says_so():
    found = search([Dataset(config(enabled=False), [head("a", "2026-01-01/2026-01-02")])])
    assert [group.reason for group in found.left] == [Reason.DISABLED]


def test_a_dataset_without_anything_has_nothing():
    found = search([Dataset(config(), []), Dataset(config("other"), [head("all", "eternity")])])
    assert (found.groups, found.done, [one.reason for one in found.left]) == ((), (), [Reason.UNBOUNDED])


def test_done_is_what_was_merged_as_now_however_many_files_it_has():
    """Druid issue 8481: it compacted the same interval for ever, when its output had several segments."""
    heads = [head(number, "2026-01-01/2026-01-02", merged_with={"compression": "zstd"}) for number in range(9)]
    found = search([Dataset(config(compression="zstd"), heads)])
    assert (found.groups, len(found.done)) == ((), 1)


def test_what_lies_in_two_buckets_is_merged_once_with_both():
    heads = [
        head(n, f"2020-{text}") for n, text in enumerate(["01-03/2020-01-04", "01-28/2020-02-03", "02-08/2020-02-15"])
    ]
    month = granularity("g", "MONTH")
    together = search([Dataset(config(granularity=month), heads)])
    assert [(str(g.chunk), str(g.interval)) for g in together.groups] == [
        ("2020-01-01/2020-03-01", "2020-01-03/2020-02-15")
    ]
    each = search([Dataset(config(granularity=month, straddling=Straddling.EACH), heads)])
    assert [str(g.interval) for g in each.groups] == ["2020-01-28/2020-02-15", "2020-01-03/2020-02-03"]


def test_a_chunk_that_partly_lies_in_what_is_locked_is_left_whole():
    heads = [head(n, f"2026-01-0{n}/2026-01-0{n + 1}") for n in range(1, 6)]
    locked = {of("2026-01-03T23/2026-01-04T01"): "a backfill"}
    found = search([Dataset(config(), heads, locked)])
    assert [str(group.interval)[8:10] for group in found.groups] == ["05", "02", "01"]


def test_ties_are_in_the_order_of_end_start_and_name():
    day, two = "2026-01-02/2026-01-03", "2026-01-01/2026-01-03"
    found = search(
        [Dataset(config(name), [head("a", interval)]) for name, interval in (("b", day), ("a", day), ("c", two))]
    )
    assert [group.dataset for group in found.groups] == ["a", "b", "c"]
    found = search([Dataset(config(name), [head("a", day)]) for name in "abc"], first="c")
    assert [group.dataset for group in found.groups] == ["c", "a", "b"]


def test_the_most_fragmented_first():
    def many(day, count, size):
        return [head((day, n), f"2026-01-0{day}/2026-01-0{day + 1}", size) for n in range(count)]

    heads = [*many(1, 4, 10), *many(2, 8, 10), *many(3, 2, 10), *many(4, 4, 100), *many(5, 4, 1)]
    rule = Fragmentation(least_heads=3, least_bytes=20, most_average=50)
    found = search([Dataset(config(), heads)], Policy.MOST_FRAGMENTED, fragmentation=rule)
    assert [str(group.interval)[8:10] for group in found.groups] == ["02", "01"]
    assert sorted((str(one.interval)[8:10], one.reason) for one in found.left) == [
        ("03", Reason.NOT_FRAGMENTED),
        ("04", Reason.NOT_FRAGMENTED),
        ("05", Reason.NOT_FRAGMENTED),
    ]


def test_a_chunk_above_the_limit_is_merged_in_parts_that_stay():
    """Closes the seed's gap: "many small segments which have the same interval, and their total size exceeds" it."""
    spec = {"compression": "zstd"}
    settings = config(input_bytes=30, oversize=Oversize.SPLIT, compression="zstd")
    day = "2026-01-01/2026-01-02"
    found = search([Dataset(settings, [head(f"k{n}", day) for n in range(7)])])
    parts = [(group.part, [one.name for one in group.heads]) for group in found.groups]
    assert parts == [(0, ["k0", "k1", "k2"]), (1, ["k3", "k4", "k5"]), (2, ["k6"])]
    merged = [head(f"k{n}", day, merged_with=spec, part=n // 3) for n in range(7)]
    found = search([Dataset(settings, [*merged, head("k00", day)])])
    assert [(group.part, str(group)) for group in found.groups] == [(2, "never compacted: 1 of 2")]
    assert [group.part for group in found.done] == [0, 1]


def test_what_is_too_large_by_itself_is_left_and_the_rest_is_not():
    settings = config(input_bytes=30, oversize=Oversize.SPLIT)
    day = "2026-01-01/2026-01-02"
    found = search([Dataset(settings, [head("a", day), head("b", day, 31), head("c", day)])])
    assert [[one.name for one in group.heads] for group in found.groups] == [["a"], ["c"]]
    assert [str(one) for one in found.left] == ["over the limit: 31 of 30 bytes"]


def test_two_configurations_of_one_dataset_are_refused():
    with pytest.raises(InvalidInputError, match=r"compaction\.dataset='clean': has two configurations.*Leave one of"):
        search([Dataset(config(), []), Dataset(config(), [])])


heads_anywhere = st.lists(
    st.tuples(st.integers(1, 20), st.integers(1, 6), st.integers(0, 40), st.sampled_from([None, "zstd", "snappy"])),
    max_size=12,
)


@given(heads_anywhere, st.sampled_from([None, "DAY", "WEEK", "MONTH"]), st.sampled_from(Oversize), st.integers(0, 3))
def test_everything_is_judged_once_and_what_is_taken_is_allowed(given_heads, name, oversize, offset):
    start = parse_moment("start", "2026-01-01")
    heads = []
    for number, (day, length, size, codec) in enumerate(given_heads):
        first_day = parse_period("p", f"P{day}D").after(start)
        last = parse_period("p", f"P{length}D").after(first_day)
        heads.append(Head(number, Interval(first_day, last), size, codec and {"compression": codec}))
    settings = config(
        granularity=name and granularity("g", name),
        oversize=oversize,
        input_bytes=50,
        compression="zstd",
        skip_offset_from_latest=parse_period("offset", f"P{offset}D"),
    )
    found = search([Dataset(settings, heads)])
    every = (*found.groups, *found.done, *found.left)
    assert sorted(one.name for group in every for one in group.heads) == list(range(len(heads)))
    latest = max((one.interval.end for one in heads), default=start)
    for group in found.groups:
        assert 0 < group.bytes <= 50
        assert group.interval.end <= parse_period("p", f"P{offset}D").before(latest) or not offset
        assert name or any((one.merged_with or {}).get("compression") != "zstd" for one in group.heads)
    ends = [group.interval.end for group in found.groups]
    assert ends == sorted(ends, reverse=True)


def test_a_hundred_thousand_heads_are_searched_once():
    """Comparing each with each would take until the test is ended for its time."""
    start, hour = parse_moment("start", "2010-01-01"), parse_period("p", "PT1H")
    heads = []
    for number in range(100_000):
        end = hour.after(start)
        heads.append(Head(number, Interval(start, end), 1))
        start = end
    found = search([Dataset(config(granularity=granularity("g", "DAY")), heads)])
    assert (len(found.groups), sum(len(group.heads) for group in found.groups)) == (4167, 100_000)
    settings = config(granularity=granularity("g", "P100Y"), oversize=Oversize.SPLIT, input_bytes=99_999)
    found = search([Dataset(settings, heads)])  # all in one chunk
    assert sorted(len(group.heads) for group in found.groups) == [1, 99_999]
    each = search([Dataset(config(granularity=granularity("g", "DAY"), straddling=Straddling.EACH), heads)])
    assert len(each.groups) == 4167


def test_the_seed_s_text_is_what_is_tested():
    assert len(re.findall(r"^(foo|bar)_", SEED, re.MULTILINE)) == 5
    assert parse_interval("i", "2017-11-01T00:00:00.000Z/2017-12-01T00:00:00.000Z") == of("2017-11-01/2017-12-01")


@pytest.mark.parametrize(
    ("states", "reason"),
    [
        ([{"a": 1}, {"a": 1}], Reason.CHANGED),
        ([{}, {"a": 1}], Reason.MIXED),
        ([{"a": 1}, {}], Reason.MIXED),
        ([{"a": 1}, {"a": 2}], Reason.MIXED),
        ([{"a": 1}, None], Reason.NEVER),
        ([None, {}], Reason.NEVER),
        ([{}, {}], Reason.CHANGED),
    ],
)
def test_what_heads_were_merged_with_is_compared_by_what_it_says(states, reason):
    heads = [head(n, f"2026-01-01T{n:02}/PT1H", merged_with=state) for n, state in enumerate(states)]
    found = search([Dataset(config(granularity="DAY"), heads)])
    [group] = found.groups + found.done
    assert group.reason is reason
