"""Local times of partition columns in the zone of who wrote them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_coordination.leases import Fence
from airflow_coordination.outputs import Attempt, Manifest, OutputError
from airflow_coordination.outputs.attempts import Measured
from airflow_coordination.outputs.zones import _SHORT, Standing, is_known, kind_of, standing, times_in

NEW_YORK, BERLIN = "America/New_York", "Europe/Berlin"


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2026-11-01 01:30:00", NEW_YORK, Standing.TWICE),
        ("2026-11-01 01:59:59.999999", NEW_YORK, Standing.TWICE),
        ("2026-11-01 02:00:00", NEW_YORK, Standing.ONCE),
        ("2026-11-01 00:59:59.5", NEW_YORK, Standing.ONCE),
        ("2026-03-29 02:30:00", BERLIN, Standing.NEVER),
        ("2026-03-29 02:30:00", NEW_YORK, Standing.ONCE),
        ("2026-03-29 03:00:00", BERLIN, Standing.ONCE),
        ("2026-11-01 01:30:00", "UTC", Standing.ONCE),
        ("2026-11-01 01:30:00", "-05:00", Standing.ONCE),
        ("2026-11-01 01:30:00", "GMT+1", Standing.ONCE),
        ("2026-11-01 01:30:00", "Nowhere/At_all", Standing.ONCE),
        ("2026-11-01 01:30:00", "PST", Standing.TWICE),
        ("2026-10-25 02:30:00", "ECT", Standing.TWICE),
        ("2026-11-01 01:30:00", "EST", Standing.ONCE),
        ("2026-11-01 01:30:00", "../../etc/passwd", Standing.ONCE),
        ("2026-11-01 01:30:00", None, Standing.ONCE),
        ("0001-01-01 00:00:00", NEW_YORK, Standing.ONCE),
        ("9999-12-31 23:59:59", NEW_YORK, Standing.ONCE),
        ("no time", NEW_YORK, Standing.ONCE),
    ],
)
def test_e3_a_local_time_is_there_once_twice_or_never(text: str, zone: str | None, expected: Standing) -> None:
    """E3: the text in a directory name says no zone."""
    assert standing(text, zone) is expected


def test_e3_text_that_is_not_given_back_exactly_stays_text() -> None:
    """E3: ``2026-03-29 02:30:00`` became a time, another one."""
    assert kind_of([("2026-03-29 02:30:00", NEW_YORK), ("2026-03-29 03:30:00", BERLIN)]) == "timestamp"
    assert kind_of([("2026-03-29 02:30:00", BERLIN), ("2026-03-29 03:30:00", BERLIN)]) == "string"
    assert kind_of([("7", BERLIN), ("8", None)]) == "integer"


def told(**kinds: str) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in kinds.items()]
    return json.dumps({"type": "struct", "fields": fields})


def test_e3_a_zone_is_asked_for_only_where_there_may_be_times() -> None:
    """E3: a block without them costs no call to the JVM more."""
    paths = ["t=2026-01-01 00%3A00%3A00/n=7/part-0", "t=__HIVE_DEFAULT_PARTITION__/n=8/part-1"]
    assert times_in(paths, None) == {"t": {"2026-01-01 00:00:00"}}
    assert times_in(paths, told(t="string", n="integer")) == {}
    assert times_in(["n=7/part-0", "part-1"], None) == {}


def test_java_s_short_names_are_known_and_so_is_what_has_no_changes() -> None:
    assert all(is_known(zone) for zone in (*_SHORT, "Z", "Etc/UTC", "Etc/GMT+5", "UTC+01:00", "-05:00", "GMT0", BERLIN))
    assert not any(map(is_known, ("Nowhere/At_all", "../../etc/passwd", "XST")))


@pytest.mark.parametrize("text", ["2026-11-01 01%3A30%3A00", "monday"])
def test_times_in_a_zone_that_nobody_here_knows_are_refused(tmp_path: Path, text: str) -> None:
    """They counted as there once, and came back an hour off."""
    attempt = Attempt(str(tmp_path), "s|PARTITION", "k", Fence(1, "n"), "a store")
    block = attempt.open("d")
    file = Path(block.path, f"t={text}", "part-0.parquet")
    file.parent.mkdir(parents=True)
    pq.write_table(pa.table({"n": [1]}), file)
    how = {"measure": lambda *_: Measured(None, zone="Nowhere/At_all")}
    if text == "monday":
        assert attempt.finish(block, **how)
        return
    with pytest.raises(OutputError) as refused:
        attempt.finish(block, **how)
    assert "times in the partition column 't', and this host does not know 'Nowhere/At_all'. Install tz" in str(
        refused.value
    )


@pytest.mark.parametrize(
    ("kinds", "text", "problem"),
    [
        (None, "2026-11-01 01%3A30%3A00", "there twice in America/New_York"),
        ("timestamp", "2026-11-01 01%3A30%3A00", "there twice in America/New_York"),
        ("string", "2026-11-01 01%3A30%3A00", None),
        ("timestamp", "2026-11-01 03%3A30%3A00", None),
        (None, "2026-03-08 02%3A30%3A00", None),
    ],
)
def test_e3_two_instants_with_one_text_are_refused(
    tmp_path: Path, kinds: str | None, text: str, problem: str | None
) -> None:
    """E3: one hour off at the change of clocks, in the same session."""
    attempt = Attempt(str(tmp_path), "s|PARTITION", "k", Fence(1, "n"), "a store")
    block = attempt.open("d")
    file = Path(block.path, f"t={text}", "part-0.parquet")
    file.parent.mkdir(parents=True)
    pq.write_table(pa.table({"n": [1]}), file)
    how = {"schema": told(n="long", t=kinds) if kinds else None, "measure": lambda *_: Measured(None, zone=NEW_YORK)}
    if problem:
        with pytest.raises(OutputError, match=problem):
            attempt.finish(block, **how)
        return
    made = attempt.finish(block, **how)
    content = Path(made.address).read_bytes()
    manifest = Manifest.from_bytes(content, made.address)
    assert (manifest.zone, json.loads(content)["version"], made.rows) == (NEW_YORK, 3, 1)
    for zone in ("a zone", "x" * 65, 7):
        with pytest.raises(OutputError, match="is no manifest"):
            Manifest.from_bytes(json.dumps(json.loads(content) | {"zone": zone}).encode(), made.address)
