"""Makes case files of Druid's form by chance. What is expected is counted plainly, day by day, without ``planning``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2020, 1, 1, tzinfo=UTC)
DAYS = 20


def druid_file(chance):
    """Return a file with a case of each form."""
    cases = [
        timeline_rows(chance),
        timeline_steps(chance),
        same_version(chance),
        one_rule(chance),
        run_rules(chance),
        search_by_range(chance),
        search_alternatives(chance),
        search_datasets(chance),
        skip_math(chance),
        slots(chance),
        fan_out(chance),
        runs(chance),
        marked(chance),
        deleted(chance),
        rounds(chance),
        deleting_slots(chance),
        amounts(chance),
        skew(chance),
        queue(chance),
        workers(chance),
        servers(chance),
        lost(chance),
    ]
    chance.shuffle(cases)
    return {"meta": {"what": "made by chance"}, "cases": [{"id": f"case {n}"} | case for n, case in enumerate(cases)]}


def case(area, given, expect):
    return {"area": area, "basis": "derived", "given": given, "expect": expect, "why": "made by chance"}


def text(moment):
    return moment.strftime("%Y-%m-%dT%H:%M")


def days(first, last):
    return f"{text(START + timedelta(days=first))}/{text(START + timedelta(days=last))}"


def versions(chance):
    """Return entries whose versions do not overlap themselves."""
    found, number = [], 0
    for version in range(1, chance.randint(2, 7)):
        at = chance.randrange(DAYS - 2)
        while at < DAYS - 1:
            until = chance.randint(at + 1, min(DAYS, at + 8))
            number += 1
            found.append((at, until, str(version), number))
            at = until + chance.randint(0, 6)
    chance.shuffle(found)
    return found


def top(entries, day):
    there = [one for one in entries if one[0] <= day < one[1]]
    return max(there, key=lambda one: one[2]) if there else None


def visible(entries, first, last):
    """Return what shows, one day after the other, and equal neighbours together."""
    found = []
    for day in range(first, last):
        one = top(entries, day)
        if one and found and found[-1][2] == one and found[-1][1] == day:
            found[-1] = (found[-1][0], day + 1, one)
        elif one:
            found.append((day, day + 1, one))
    return [[days(first, last), one[2], one[3]] for first, last, one in found]


def hidden(entries):
    seen = {top(entries, day) for day in range(DAYS)}
    return [entry(one) for one in entries if one not in seen]


def entry(one):
    return [days(one[0], one[1]), one[2], one[3]]


def timeline_rows(chance):
    rows = []
    for number in range(chance.randint(2, 5)):
        entries, first = versions(chance), chance.randrange(DAYS - 1)
        last = chance.randint(first, DAYS)
        row = {"test": f"row {number}", "add": [entry(one) for one in entries], "lookup": days(first, last)}
        rows.append(row | {"visible": visible(entries, first, last), "fully_overshadowed": hidden(entries)})
    return case("timeline", {"note": "made by chance"}, {"rows": rows})


def timeline_steps(chance):
    entries = versions(chance)
    gone = chance.sample(entries, len(entries) // 2)
    left = [one for one in entries if one not in gone]
    half = [days(0, DAYS), "9", {"num": 0, "of": 2, "obj": "half"}]
    rest = [days(0, DAYS), "9", {"num": 1, "of": 2, "obj": "rest"}]
    shown = {"lookup": days(0, DAYS)}
    steps = [
        {"add": [entry(one) for one in entries]},
        shown | {"visible": visible(entries, 0, DAYS), "fully_overshadowed": hidden(entries)},
        {"remove": [entry(one) for one in gone], "add_partitions": [half]},
        shown | {"visible": visible(left, 0, DAYS)},
        {"add_partitions": [rest]},
        shown | {"visible": [[days(0, DAYS), "9", ["half", "rest"]]]},
    ]
    return case("timeline", {"steps": steps}, {"see": "steps"})


def same_version(chance):
    at = chance.randrange(1, DAYS - 6)
    return case("timeline", {"add": [[days(at, at + 4), "1", 1], [days(at + 2, at + 6), "1", 2]]}, {"error": True})


def one_rule(chance):
    rows = []
    for _ in range(10):
        now, length = chance.randint(5, 15), chance.randint(1, 10)
        first = chance.randrange(DAYS - 1)
        last = chance.randint(first + 1, DAYS)
        kind = chance.choice(["loadByPeriod", "dropByPeriod", "dropBeforeByPeriod", "loadByInterval", "dropByInterval"])
        start, future = now - length, chance.random() < 0.5
        rule = {"type": kind}
        window = set(range(start, DAYS if future else now))
        if kind.endswith("ByInterval"):
            rule["interval"], window = days(start, now), set(range(start, now))
        elif kind == "dropBeforeByPeriod":
            rule["period"], window = f"P{length}D", set(range(-DAYS, start))
        else:
            rule |= {"period": f"P{length}D", "includeFuture": future}
        mine = set(range(first, last))
        applies = bool(mine & window) if kind.startswith("load") else mine <= window
        row = {"rule": rule, "now": text(START + timedelta(days=now)), "segment": days(first, last)}
        rows.append(row | {"applies": applies})
    return case("rules", {}, {"rows": rows})


def run_rules(chance):
    count, hot = chance.randint(4, 12), chance.randint(1, 3)
    servers, wants = chance.randint(1, 4), chance.randint(1, 3)
    segments = {"dataset": "made", "total": days(0, count), "period": "P1D", "size": 1, "per_interval": 1}
    rules = [["loadByInterval", days(0, hot), {"hot": 1}], ["loadByInterval", days(0, count - 1), {"cold": wants}]]
    row = {"tiers": {"hot": 1, "cold": servers}, "rules": rules, "unmatched": 1, "alerts": 1}
    row["assigned"] = {"hot": hot, "cold": (count - 1 - hot) * min(wants, servers)}
    return case("rules", {"segments": segments}, {"rows": [row]})


def search_by_range(chance):
    length, offset, each = chance.randint(6, DAYS), chance.randint(0, 4), chance.randint(1, 5)
    newest = length - offset
    data = {"total": days(0, length), "period": "P1D", "size": 10, "per_interval": each}
    given = {
        "config": {"inputSegmentSizeBytes": 10 * each, "skipOffsetFromLatest": f"P{offset}D"},
        "datasets": {"made": [data]},
    }
    span = {"newest": days(newest - 1, newest), "oldest": days(0, 1), "step": "P1D"}
    return case("compaction_search", given, {"groups": [span], "count": newest, "segments_per_group": each})


def search_alternatives(chance):
    rows = []
    for _ in range(3):
        at = chance.randrange(DAYS)
        size, limit = chance.randint(1, 20), chance.randint(1, 20)
        data = {"total": days(at, at + 1), "period": "PT6H", "size": size, "per_interval": 1}
        data |= chance.choice([{}, {"compacted_with": {"rollup": True}}, {"compacted_with": {}}])
        done = data.get("compacted_with") == {"rollup": True}
        six = [START + timedelta(days=at, hours=6 * quarter) for quarter in (3, 2, 1, 0)]
        found = [f"{text(one)}/{text(one + timedelta(hours=6))}" for one in six] if size <= limit and not done else []
        config = {"inputSegmentSizeBytes": limit, "rollup": True}
        rows.append({"config": config, "alternatives": [[data], [data]], "groups_intervals": found})
    return case("compaction_search", {}, {"rows": rows})


def search_datasets(chance):
    """Several datasets, and intervals that something else holds."""
    datasets, skip, groups = {}, {}, []
    for name in chance.sample("abcdef", 3):
        row = sorted(chance.sample(range(DAYS), 5))
        held = set(chance.sample(row, 2))
        datasets[name] = [[days(day, day + 1), "VERSION"] for day in row]
        skip[name] = [days(day, day + 1) for day in sorted(held)]
        groups += [(day, name) for day in row if day not in held]
    groups.sort(key=lambda one: (-one[0], one[1]))
    given = {"config": {}, "segment_size": 7, "datasets": datasets, "skip_intervals": skip}
    return case("compaction_search", given, {"order": [[name, days(day, day + 1), 1] for day, name in groups]})


def skip_math(chance):
    taken = set(chance.sample(range(DAYS), 6))
    left, spans = [day for day in range(DAYS) if day not in taken], []
    for day in left:
        if spans and spans[-1][1] == day:
            spans[-1][1] = day + 1
        else:
            spans.append([day, day + 1])
    given = {"filter": {"total": days(0, DAYS), "skip": [days(day, day + 1) for day in sorted(taken)]}}
    return case("compaction_search", given, {"filter": [days(*span) for span in spans]})


def slots(chance):
    rows = []
    for _ in range(8):
        row = {"capacity": chance.randint(0, 40), "ratio": chance.choice([0, 0.1, 0.25, 0.5, 1.0])}
        row |= {"max_slots": chance.choice([0, 3, 2147483647]), "busy": chance.randint(0, 5)}
        limit = min(int(row["capacity"] * row["ratio"]), row["max_slots"])
        free = max(0, limit - row["busy"]) if row["busy"] else max(1, limit)
        rows.append(row | {"limit": limit, "available": free, "submitted_if_plenty": free})
    return case("compaction_slots", {"formula": "as in the seed"}, {"rows": rows})


def fan_out(chance):
    rows = []
    for _ in range(6):
        tasks, by_range = chance.choice([None, 1, 2, 7]), chance.random() < 0.5
        parallel = tasks is not None and (tasks > 1 or by_range)
        row = {"max_subtasks": tasks, "range_partitioned": by_range}
        rows.append(row | {"parallel": parallel, "slots": tasks + 1 if parallel else 1})
    return case("compaction_slots", {}, {"rows": rows})


def runs(chance):
    """As E3: one task in each run, so each interval but the newest one is visited by each dataset."""
    names = [f"dataset {letter}" for letter in chance.sample("abcdef", chance.randint(1, 4))]
    row = sorted(chance.sample(range(1, 28), chance.randint(2, 5)))
    each, become = chance.choice([(4, 2), (6, 3), (2, 1)])
    size = chance.randint(1, 9) * become
    halves = [(day, half) for day in row for half in (0, 1)][:-1]
    spans = [
        (f"2017-01-{d:02}T{12 * h:02}", datetime(2017, 1, d, tzinfo=UTC) + timedelta(hours=12 + 12 * h))
        for d, h in halves
    ]
    bytes_each, count = each * size, len(halves)
    final = {"bytesAwaiting": 0, "bytesCompacted": bytes_each * count, "bytesSkipped": bytes_each}
    final |= {"intervalsAwaiting": 0, "intervalsCompacted": count, "intervalsSkipped": 1}
    final |= {"segmentsAwaiting": 0, "segmentsCompacted": become * count, "segmentsSkipped": each}
    given = {
        "datasets": names,
        "intervals_per_dataset": [f"2017-01-01T00/2017-01-01T12 and T12/next T00 for day in {','.join(map(str, row))}"],
        "days": row,
        "partitions_per_interval": each,
        "size": size,
        "config": {"inputSegmentSizeBytes": bytes_each, "skipOffsetFromLatest": "PT1H"},
        "capacity": 10,
        "ratio": 0.1,
        "max_slots": 5,
        "task_effect": f"done at once: {each} segments of {size} B become {become} segments of (sum/{become}) B",
    }
    expect = {
        "per_run": {"submitted": 1},
        "n_runs_until_idle": count * len(names),
        "interval_order": [f"{start}/{text(end)}" for start, end in reversed(spans)],
        "final": final,
        "snapshot_after_r_rounds_for_the_dataset_just_compacted": {
            "bytesAwaiting": f"{bytes_each * count}-{bytes_each}*(r+1)",
            "segmentsCompacted": f"{become}*r+{each}",
        },
    }
    given["intervals_per_dataset"] = given["intervals_per_dataset"][0]
    return case("compaction_run", given, expect)


def marked(chance):
    rows = []
    for _ in range(4):
        used = [str(number) for number in range(chance.randint(1, 5))]
        served = [one for one in used if chance.random() < 0.5]
        gone = [one for one in used if any(other > one for other in served)]
        row = {"used": used, "interval": days(0, 1), "served": served, "delay_ms": 10, "leader_for_ms": 10}
        rows.append((row, {"marked_unused": gone, "overshadowed_stat": len(gone)}))
    given, expect = zip(*rows, strict=True)
    return case("cleanup", {"rows": list(given)}, {"rows": list(expect)})


def deleted(chance):
    ends = {f"D{number}": number for number in chance.sample(range(-200, 30), 8)}
    marks = {name: -chance.randint(0, 60) for name in ends}
    retain, buffer, most = chance.randint(1, 120), chance.randint(1, 40), chance.randint(1, 6)
    old = [name for name in sorted(ends, key=ends.get) if ends[name] <= -retain and marks[name] <= -buffer]
    cfg = {"durationToRetain": f"P{retain}D", "bufferPeriod": f"P{buffer}D", "maxSegments": most}
    row = {"cfg": cfg, "marked": {name: f"{at:+}d" for name, at in marks.items()}, "eligible": old[:most]}
    given = {"unused": {name: {"end": f"{end:+}d", "len": "P1D"} for name, end in ends.items()}, "defaults": {}}
    return case("cleanup", given, {"rows": [row | {"second_run_within_period": "does nothing"}]})


def rounds(chance):
    ends = {f"D{number}": -number for number in range(100, 112)}
    names = list(ends)
    datasets = {"a": names[:5], "b": names[5:9], "c": names[9:]}
    most = chance.randint(1, 3)
    given = {
        "unused": {name: {"end": f"{end}d", "len": "P1D"} for name, end in ends.items()},
        "datasets": datasets,
        "allowed": ["a", "c"],
        "marked": {"*": "-31d"},
        "cfg": {"maxSegments": most},
    }
    found = []
    for number in range(4):
        parts = {name: sorted(datasets[name], key=ends.get)[number * most : (number + 1) * most] for name in ("a", "c")}
        found.append({name: part for name, part in parts.items() if part})
    return case("cleanup", given, {"rounds": found})


def deleting_slots(chance):
    rows = []
    for _ in range(5):
        row = {
            "capacity": chance.randint(0, 20),
            "ratio": chance.choice([0.0, 0.1, 0.5, 1.5]),
            "max_slots": chance.randint(0, 9),
        }
        row["running"] = chance.randint(0, 4)
        limit = min(int(row["capacity"] * min(row["ratio"], 1.0)), row["max_slots"])
        free = max(0, limit - row["running"])
        more = {"with_three_datasets_only_two_get_a_task": min(free, 3) == 2}
        rows.append(row | {"limit": limit, "available": free} | more)
    return case("cleanup", {"formula": "no at-least-one rule"}, {"rows": rows})


def amounts(chance):
    numbers = [chance.randrange(10 ** chance.randint(1, 7)) for _ in range(6)]
    expect = {"min_rows_upstream_newer": [[n, max(min(100, n), (n >> 16) * 100)] for n in numbers]}
    seconds, threads = chance.choice([30, 60, 300]), chance.randint(1, 16)
    rows = []
    for n in numbers:
        upper = (n >> 9) * 100
        steps = threads * min(4, seconds * 1000 // 30000)
        rows.append([n, min(100, n) if upper < 100 else min(upper, (steps << 20) // n * 1000)])
    expect[f"max_rows_{seconds}s_{threads}threads"] = rows
    return case("balancing", {"min": "…", "max": "…"}, expect)


def skew(chance):
    a, b, c = (chance.randint(0, 5000) for _ in range(3))
    need = (max(a, b, c) - min(a, b, c)) // 2
    row = {"A": {"wiki": a}, "B": {"wiki": b}, "C": {"wiki": c}, "need": need, "need_by_counts": need}
    return case("balancing", {"need": "…"}, {"rows": [row | {"picked": max(min(100, a + b + c), need)}]})


def queue(chance):
    rank = {"DROP": 0, "LOAD": 1, "REPLICATE": 2, "MOVE_TO": 3}
    asked = [(chance.choice(list(rank)), day) for day in chance.sample(range(DAYS), 9)]
    done = sorted(asked, key=lambda one: (rank[one[0]], -one[1]))
    rows = [[[action, days(day, day + 1)] for action, day in row] for row in (asked, done)]
    return case("balancing", {"queue": rows[0]}, {"order": rows[1]})


def workers(chance):
    used = {name: chance.randint(0, 5) for name in chance.sample("abcdefgh", 3)}
    count = chance.randint(0, 12)
    after = dict(used)
    for _ in range(count):
        after[min(after, key=lambda name: (after[name], name))] += 1
    given = {
        "workers": {name: {"capacity": 100, "used": number} for name, number in used.items()},
        "unassigned": [1] * count,
    }
    return case(
        "balancing", given, {"one_valid_result": after, "note": "of equal ones the first by name", "waiting": 0}
    )


def servers(chance):
    """Equal copies on two servers of one size: they move until the difference is small, or enough have moved."""
    high, low, most = chance.randint(10, 60), chance.randint(0, 9), chance.randint(1, 30)
    moved, a, b = 0, high, low
    while moved < most and 100 * (a - b) / a > 3 and b + 1 <= a - 1:
        moved, a, b = moved + 1, a - 1, b + 1
    given = {"servers": {"x": {"capacity": 100, "segments": [1] * high}, "y": {"capacity": 100, "segments": [1] * low}}}
    expect = {"moves": moved, "difference_percent": round(100 * (high - low) / high, 2), "from_to": ["x", "y"]}
    return case("balancing", given | {"max_moves": most}, expect)


def lost(chance):
    lifetime, gone = chance.randint(10, 1000), chance.randint(1, 50)
    names = ",".join(f"p{number}" for number in range(1, chance.randint(2, 4)))
    end = gone + lifetime
    rows = [
        {
            "at": f"t0+{gone + lifetime // 2}",
            "event": "w1 is back",
            "result": f"w1 still owns {names}, nothing was reassigned",
        },
        {"at": f"t0+{end - 1}", "event": "coordinator run", "result": "not reassigned yet"},
        {"at": f"t0+{end}", "event": "coordinator run", "result": f"{names} reassignable"},
    ]
    after = {"at": f"t0+{end + 5}", "event": "w1 is back after reassignment to w2"}
    rows.append(after | {"result": "w1's writes are rejected (fencing), w1 starts without leases"})
    events = [["t0", f"worker w1 owns {names}"], [f"t0+{gone}", "w1 disappears"]]
    return case(
        "availability", {"lifetime_s": lifetime, "events": events}, {"rows": rows, "lifetime 0": "reassignable at once"}
    )
