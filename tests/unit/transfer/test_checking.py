"""A hostile export: each line is understood, or named and nothing is imported; and nothing raises afterwards (X3)."""

from __future__ import annotations

import hashlib
import json
import stat
from contextlib import suppress
from copy import deepcopy
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_coordination import open_store
from airflow_coordination.leases import Block, InvalidInputError, PartitionIdentifier, SourceCoordinator
from airflow_coordination.protocol.fields import HEAD_FIELDS, PARTITION_FIELDS
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.transfer.exporting import export
from airflow_coordination.transfer.importing import import_, read_export
from airflow_coordination.values.names import GLOBAL_STATE_KEY

Line = dict[str, Any]
_number = count()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> list[Line]:
    """The lines of an export without its sum: a partition that is new, one that has failed, one that has completed."""
    store = open_store("memory://x3-from")
    store.setup()
    one = SourceCoordinator(store, "src", "o")
    one.supplying.register(dag_ids=["dag"])
    one.run_supplier(lambda state: state.update(seen=1) or [PartitionIdentifier(key, {"p": 1}) for key in "abc"])
    done = one.acquire_partition("a")
    one.complete(one.save_progress_state(done, {"row": 1}, [Block("d", "file:///out/manifest", "0" * 64, 5, 5)]))
    one.fail(one.acquire_partition("b"), "broken")
    one.pausing.pause("me", "it moves")
    one.moving.wait_until_paused()
    file = tmp_path_factory.mktemp("x3") / "good.jsonl"
    export(one, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return [json.loads(line) for line in file.read_text().splitlines()[:-1]]


def written(lines: list[Line], file: Path) -> Path:
    """Write lines with the sum that they have."""
    raw = "".join(json.dumps(line) + "\n" for line in lines)
    partitions = sum("life" in line for line in lines)
    end = {"end": {"partitions": partitions, "sha256": hashlib.sha256(raw.encode()).hexdigest()}}
    file.write_text(raw + json.dumps(end) + "\n")
    return file


def lives(store: PartitionStore, file: Path) -> bool:
    """Import a file if it is one, and do all that people and owners do; return whether it was taken."""
    store.setup()
    found = None
    with suppress(InvalidInputError):
        found = read_export(file)
    if found is None:
        return False
    one = SourceCoordinator(store, found.heading.source, "o", partition_prefix=found.heading.partition_prefix)
    import_(one, found, by="me")
    one.pausing.resume("me", "it is here")
    for partition in one.partitions():
        one.explain(partition.key)
        assert partition.payload is not None
    one.looking.outlook()
    one.counts()
    one.run_supplier(lambda state: [])
    one.sweep()
    while (lease := one.get_next_partition()) is not None:
        one.complete(one.renew(lease))
    for partition in one.partitions():
        one.explain(partition.key)
        list(store.heads(partition.source, key=partition.key))
    return True


def places(lines: list[Line]) -> list[Line]:
    """The objects in lines whose values are mutated, always in one order."""
    found = [lines[0]["heading"]]
    for line in lines[1:]:
        life = line.get("life") or line["supplier"]
        found += [life, life["partition"], *life.get("heads", ())]
    return found


TIMES = ["9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+00:00", "2026-01-01T00:00:00"]
ODD = [
    *TIMES,
    "", "\x00", "\ud800", "\x1b[31m", "x" * 70_000, GLOBAL_STATE_KEY, "ASSIGNED", "CLOSED", "UNASSIGNED", "[" * 99,
    "{}", "[]", '{"a":1}', '"x"', 0, 1, -1, 2**31, 2**63, 2**70, 1.5, True, None, [], {}, ["a"], {"a": [1]}, [["d"]],
    [["d", "x", "0", 1, 1, 7, "other"]], {"dag_ids": 7}, {"self": 1},
]  # fmt: skip
NAMES = sorted({field.stored for field in (*PARTITION_FIELDS, *HEAD_FIELDS)} | {"key", "facts", "source", "store"})


MUTATIONS = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.sampled_from(NAMES),
        st.sampled_from(ODD) | st.integers(-9, 2**64) | st.text(max_size=9),
    ),
    min_size=1,
    max_size=2,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(mutations=MUTATIONS)
def test_small_x3_any_line_is_understood_or_named_and_nothing_raises_later(good, tmp_path, mutations) -> None:
    lines = deepcopy(good)
    found = places(lines)
    for number, name, value in mutations:
        found[number % len(found)][name] = value
    store = open_store(f"memory://x3-{next(_number)}")
    lives(store, written(lines, tmp_path / "file.jsonl"))


@pytest.mark.long
def test_small_x3_each_odd_value_in_the_place_of_each_that_is_there(good, tmp_path) -> None:
    """Read only: what is taken of it is stored in the test above."""
    taken = 0
    for number, where in enumerate(places(good)):
        for name in where:
            for value in ODD:
                lines = deepcopy(good)
                places(lines)[number][name] = value
                with suppress(InvalidInputError):
                    read_export(written(lines, tmp_path / "file.jsonl"))
                    taken += 1
    assert taken


def of_partition(**values: object):
    return lambda lines: lines[-1]["life"]["partition"].update(values)


def of_key(key: str):
    return lambda lines: (lines[-1]["life"].update(key=key), of_partition(sourcePartitionKey=key)(lines))


def of_head(**values: object):
    return lambda lines: next(line for line in lines if line.get("life", {}).get("heads"))["life"]["heads"][0].update(
        values
    )


def of_heading(**values: object):
    return lambda lines: lines[0]["heading"].update(values)


CASES = {
    "9999-12-31": of_partition(reopenAt="9999-12-31T23:59:59+00:00"),
    "-12:00": of_partition(availableAt="9999-12-31T23:59:59-12:00"),
    "'createdAt'": of_partition(createdAt="0001-01-01T00:00:00+00:00"),
    "the limit is 4096": of_partition(payload=json.dumps({"a": "x" * 5_000})),
    "'payload' cannot be read": of_partition(payload="{not json"),
    "no JSON object": of_partition(payload="[1]"),
    "is corrupt": of_partition(partitionProgressState="[" * 2_000),
    "'token' is -5": of_partition(token=-5),
    "'priority'": of_partition(priority=2**40),
    "'lastError' has": of_partition(lastError="x" * 20_000),
    "what no store can hold": of_partition(lastError="a\x00"),
    "None, which is no interval": of_head(intervalStart="2013-01-01T00:00:00+00:00"),
    "'intervalEnd' are None": of_head(intervalEnd="2013-01-01T00:00:00+00:00"),
    "2013-01-02 00:00:00+00:00 and 2013-01-02": of_head(
        intervalStart="2013-01-02T00:00:00+00:00", intervalEnd="2013-01-02T00:00:00+00:00"
    ),
    "is reserved": of_key(GLOBAL_STATE_KEY),
    "twice": lambda lines: lines.append(lines[-1]),
    "'availableAt', so that nobody": lambda lines: lines[-1]["life"]["partition"].pop("availableAt"),
    "'partition_prefix' is 5": of_heading(partition_prefix=5),
    "facts": of_heading(facts={"self": 1}),
    "more bytes": of_heading(facts={"x": "y" * 3_000_000}),
    "'store' is no text": of_heading(store="x\x1b[31m\nDone: forged"),
    "name a DAG": of_heading(facts={"dag_ids": ["a\nb"]}),
    "has no zone": of_heading(exported_at="2026-01-01T00:00:00"),
}


@pytest.mark.parametrize("said", CASES)
def test_small_x3_what_no_store_would_have_made_is_refused_before_anything_is_written(good, tmp_path, said) -> None:
    lines = deepcopy(good)
    assert lines[-1]["life"]["key"] == "c"
    CASES[said](lines)
    with pytest.raises(InvalidInputError) as raised:
        read_export(written(lines, tmp_path / "file.jsonl"))
    assert said in str(raised.value)


def test_small_x3_what_was_exported_is_imported(good, tmp_path) -> None:
    assert lives(open_store(f"sqlite:///{tmp_path}/to.db"), written(good, tmp_path / "file.jsonl"))


def test_small_x3_an_export_is_its_owner_s_alone_whatever_an_interrupted_one_has_left(tmp_path) -> None:
    store = open_store(f"memory://x3-{next(_number)}")
    store.setup()
    one = SourceCoordinator(store, "src", "o")
    one.create_partitions(["a"])
    one.pausing.pause("me", "it moves")
    other = tmp_path / "other"
    other.write_text("not ours")
    (tmp_path / "out.jsonl.part").symlink_to(other)
    export(one, tmp_path / "out.jsonl")
    assert stat.S_IMODE((tmp_path / "out.jsonl").stat().st_mode) == 0o600
    assert not (tmp_path / "out.jsonl").is_symlink()
    assert other.read_text() == "not ours"
