"""Types over partitions: what may differ, what is refused, what partition columns were."""

from __future__ import annotations

import json
from datetime import timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_coordination.leases import Fence, SourceCoordinator, StoreUnavailableError
from airflow_coordination.outputs import Attempt, Manifest, OutputError, Reference
from airflow_coordination.outputs.attempts import Measured
from airflow_coordination.outputs.layout import values_in
from airflow_coordination.outputs.manifests import DataFile
from airflow_coordination.outputs.parquet import SPARK_SCHEMA
from airflow_coordination.outputs.schema_compatibility import SchemaCompatibility
from airflow_coordination.outputs.schemas import fit, flattened, inferred
from airflow_coordination.stores import open_store
from airflow_coordination.values.names import branch_dataset


def schema_of(**columns: object) -> str:
    fields = [{"name": name, "type": kind, "nullable": True, "metadata": {}} for name, kind in columns.items()]
    return json.dumps({"type": "struct", "fields": fields})


def struct(**columns: object) -> object:
    return json.loads(schema_of(**columns))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("integer", "integer", True),
        ("byte", "long", True),
        ("float", "double", True),
        ("decimal(10,2)", "decimal(12,4)", True),
        ("decimal(38,0)", "decimal(38,2)", False),
        ("integer", "double", False),
        ("long", "float", False),
        ("integer", "string", False),
        ("long", "decimal(20,0)", False),
        ("date", "timestamp", False),
        ("struct", "string", False),
    ],
)
def test_e12_types_fit_only_if_no_value_changes(one: str, other: str, expected: bool) -> None:
    """E12: a double is no room for 2^53+1."""
    assert fit(one, other) is fit(other, one) is expected


def test_e12_what_is_inside_structs_arrays_and_maps_counts() -> None:
    """E12: a conflict may be deep inside a column."""
    array = {"type": "array", "elementType": struct(X="long"), "containsNull": True}
    mapped = {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True}
    assert flattened(schema_of(A=array, b=struct(c=mapped), d="date")) == {
        "a": "array",
        "a[]": "struct",
        "a[].x": "long",
        "b": "struct",
        "b.c": "map",
        "b.c{key}": "string",
        "b.c{value}": "double",
        "d": "date",
    }


def test_e7_fields_inside_maps_and_collations_are_part_of_a_type() -> None:
    """E7: Spark unites structs by the names of their fields, but not those inside maps; and no two collations."""
    mapped = {"type": "map", "keyType": "string", "valueType": struct(B="long", a="string"), "valueContainsNull": True}
    mapped["valueType"]["fields"][1]["metadata"] = {"__COLLATIONS": {"a": "icu.UNICODE"}}
    deep = {"type": "array", "elementType": mapped, "containsNull": True}
    schema = json.loads(schema_of(M=deep, s="string"))
    schema["fields"][0]["metadata"] = {"__COLLATIONS": {"M.element.key": "icu.UNICODE"}}
    schema["fields"][1]["metadata"] = {"__COLLATIONS": {"s": "spark.UTF8_LCASE"}}
    assert flattened(json.dumps(schema)) == {
        "m": "array",
        "m[]": "map",
        "m[]{key}": "string collate icu.UNICODE",
        "m[]{value}": "struct<b, a>",
        "m[]{value}.b": "long",
        "m[]{value}.a": "string collate icu.UNICODE",
        "s": "string collate spark.UTF8_LCASE",
    }


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["7", "-12", "0"], "integer"),
        (["7", "2147483648"], "long"),
        (["7", "9223372036854775808"], "string"),
        (["01234"], "string"),
        (["7", "xtext"], "string"),
        (["-0"], "string"),
        (["+1"], "string"),
        (["１"], "string"),
        (["1_000"], "string"),
        (["1.5", "-0.25"], "double"),
        (["1.50"], "string"),
        (["1.5", "2"], "string"),
        (["1e5"], "string"),
        (["12345678.5"], "string"),
        (["NaN"], "string"),
        (["2013-01-31"], "date"),
        (["2013-02-30"], "string"),
        (["2013-1-1"], "string"),
        (["20130101"], "integer"),
        (["2013-01-31 10:00:00", "2013-01-31 10:00:00.5"], "timestamp"),
        (["2013-01-31 10:00:00.50"], "string"),
        (["2013-01-31 10:00"], "string"),
        (["true"], "string"),
        ([], "string"),
    ],
)
def test_e12_a_partition_column_is_the_narrowest_type_that_gives_its_text_back(values: list[str], kind: str) -> None:
    """E12: ``01234`` came back as 1234."""
    assert inferred(values) == kind


def test_e12_partition_values_are_found_in_paths() -> None:
    """E12: with what Spark escapes, and null."""
    path = "a%2Fb=x%3A%3D=y/c=__HIVE_DEFAULT_PARTITION__/plain/part-0=1.parquet"
    assert values_in(path) == {"a/b": "x:==y", "c": None}


@pytest.fixture
def coordinator() -> SourceCoordinator:
    return SourceCoordinator(open_store("memory://"), source="flights", owner="a test", max_failures=100)


class Publisher:
    """Publishes Parquet files that say they have a Spark schema."""

    def __init__(self, coordinator: SourceCoordinator, root: Path) -> None:
        self.coordinator, self.root = coordinator, root
        self.compatibility = SchemaCompatibility(coordinator.store)

    def __call__(self, key: str, written: str | None, *, follows: bool = False, close: bool = False, **more: object):
        coordinator = self.coordinator
        coordinator.create_partitions([key])
        lease = coordinator.get_next_partition()
        assert lease is not None
        assert lease.key == key
        attempt = Attempt(str(self.root), lease.partition.source, key, lease.fence, coordinator.store.store_id)
        block = attempt.open("clean")
        table = pa.table({"n": [1]}).replace_schema_metadata({SPARK_SCHEMA: written} if written else None)
        for path in more.pop("paths", ["part-0.parquet"]):
            file = Path(block.path, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, file)
        branch = lease.partition.branch
        heads = coordinator.store.heads(lease.partition.source, branch_dataset(branch, "clean"), key)
        reference = Reference(heads[0].blocks[-1].address, heads[0].blocks[-1].digest) if follows else None
        accept = None if more.pop("allow_lossy", False) else partial(self.compatibility.check, branch=branch)
        interval = more.pop("interval", None)
        try:
            made = attempt.finish(block, follows=reference, accept=accept, **more)
        except OutputError as error:
            coordinator.fail(lease, str(error), retry_after=timedelta(hours=1))
            raise
        if close:
            coordinator.close(lease, timedelta(0), {"n": 1}, [made])
        else:
            coordinator.complete(lease, [made], interval=interval)


@pytest.fixture
def publish(coordinator: SourceCoordinator, tmp_path: Path) -> Publisher:
    return Publisher(coordinator, tmp_path)


def test_e12_a_block_that_does_not_fit_another_partition_is_refused(publish: Publisher) -> None:
    """E12: it would have broken every read of the dataset."""
    publish("2013-01", schema_of(x="integer", y="double"))
    publish("2013-02", schema_of(X="long", added="string"))
    with pytest.raises(OutputError) as caught:
        publish("2013-03", schema_of(x="string"))
    assert "Cannot publish 'clean' of partition '2013-03' of source 'flights|PARTITION'" in str(caught.value)
    assert (
        "does not fit: column 'x' is string in partition '2013-03' and integer in partition '2013-01'. "
        "Cast the column before writing, publish to another dataset, or say lease.publish(…, allow_lossy=True), which "
        "every reader must say then, too"
    ) in str(caught.value)


def test_e12_a_driver_looks_again_before_it_refuses(publish: Publisher, coordinator: SourceCoordinator) -> None:
    """E12: what it has seen may be replaced by now, or was never published."""
    publish("a", schema_of(x="integer"))
    coordinator.people.reset("a", "me", "x becomes text")
    Publisher(coordinator, publish.root)("a", schema_of(x="string"))
    publish("b", schema_of(x="string"))
    with pytest.raises(OutputError, match="column 'x' is integer in partition 'c' and string in partition 'a'"):
        publish("c", schema_of(x="integer"))


def test_e12_the_first_of_several_partitions_cannot_change_alone(
    publish: Publisher, coordinator: SourceCoordinator
) -> None:
    """E12: its own output of before is replaced, that of the others stays."""
    publish("a", schema_of(x="integer"))
    publish("b", schema_of(x="integer"))
    coordinator.people.reset("a", "me", "x becomes text")
    with pytest.raises(OutputError, match="in partition 'a' and integer in partition 'b'"):
        Publisher(coordinator, publish.root)("a", schema_of(x="string"))


def test_e12_a_partition_may_replace_its_own_types_but_not_add_to_them(publish: Publisher) -> None:
    """E12: what a block adds to is read together with it."""
    publish("a", schema_of(x="integer"), close=True)
    with pytest.raises(OutputError, match="column 'x' is string in partition 'a' and integer in partition 'a'"):
        publish("a", schema_of(x="string"), follows=True)
    publish.coordinator.people.reset("a", "me", "afresh")
    publish("a", schema_of(x="string"))


def test_e12_a_dataset_that_was_mixed_before_can_still_be_published_to(
    publish: Publisher, coordinator: SourceCoordinator, caplog: pytest.LogCaptureFixture
) -> None:
    """E12: blocks of the version before were not compared. One more of a type that is there makes it no worse."""
    publish("a", schema_of(x="integer", y="date"))
    publish("b", schema_of(x="string", y="date"), allow_lossy=True)
    for key, kind in [("c", "string"), ("d", "long"), ("e", "string")]:
        caplog.clear()
        publish(key, schema_of(x=kind, y="date"))
        assert (
            "Dataset 'clean' has different types already, and readers need allow_lossy=True: column 'x'" in caplog.text
        )
    with pytest.raises(OutputError, match="column 'x' is date in partition 'f' and "):
        publish("f", schema_of(x="date", y="date"))
    with pytest.raises(OutputError, match="column 'y' is string in partition 'g' and date in partition 'a'"):
        publish("g", schema_of(x="string", y="string"))
    for key in ("b", "c", "e"):  # and it can be made whole again
        coordinator.people.reset(key, "me", "x becomes a number everywhere")
    for key in ("b", "c", "e"):
        Publisher(coordinator, publish.root)(key, schema_of(x="long", y="date"))
    with pytest.raises(OutputError, match="column 'x' is string in partition 'h'"):
        publish("h", schema_of(x="string", y="date"))


def test_e12_a_mixed_partition_far_from_the_first_goes_on_with_its_own_type(publish: Publisher) -> None:
    """E12: a driver looks at the first five partitions of a dataset only, and at its own."""
    for key in "abcdef":
        publish(key, schema_of(x="integer"))
    publish("z", schema_of(x="string"), allow_lossy=True, close=True)
    publish("z", schema_of(x="string"), follows=True)


def test_e12_trouble_elsewhere_is_not_this_partitions(publish: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    """E12: neither a lost manifest of another partition nor a store that cannot be heard stops a publication."""
    publish("a", schema_of(x="integer"))
    next(publish.root.rglob("_manifest.json")).unlink()
    publish("b", schema_of(x="string"))
    fresh = Publisher(publish.coordinator, publish.root)
    heads = publish.coordinator.store.heads

    def unheard(source: str, dataset: str | None = None, key: str | None = None, *more: object, **named: object):
        if key is None:
            raise StoreUnavailableError("read", "not today")
        return heads(source, dataset, key, *more, **named)

    monkeypatch.setattr(publish.coordinator.store, "heads", unheard)
    fresh("c", schema_of(x="date"))


@pytest.mark.parametrize(
    ("how", "name"),
    [
        ({"schema_text": schema_of(_block="string")}, "_block"),
        ({"schema_text": schema_of(_Attempt="string")}, "_Attempt"),
        ({"paths": ["_partition=7/part-0.parquet"]}, "_partition"),
    ],
)
def test_e12_names_that_readers_need_are_refused(publish: Publisher, how: dict[str, object], name: str) -> None:
    """E12: a column ``_block`` vanished."""
    schema = how.pop("schema_text", None)
    with pytest.raises(OutputError, match=f"has a column '{name}', a name that directories of blocks have"):
        publish("a", schema, **how)


def test_e12_names_are_looked_at_where_only_spark_knows_them(coordinator: SourceCoordinator, tmp_path: Path) -> None:
    """E12: in CSV and JSON."""
    attempt = Attempt(str(tmp_path), "s|PARTITION", "k", Fence(1, "n"), "a store")
    block = attempt.open("clean")
    Path(block.path).mkdir(parents=True)
    Path(block.path, "part-0.json").write_text("{}")
    with pytest.raises(OutputError, match="has a column '_block'"):
        attempt.finish(block, file_format="json", measure=lambda *_: Measured(1, ("a", "_block")))


@pytest.mark.parametrize("path", [".hidden=1/part-0.parquet", "p=x._COPYING_/part-0.parquet"])
def test_e12_rows_that_spark_hides_are_refused(publish: Publisher, path: str) -> None:
    """E12: they would not be read, and nobody would know."""
    with pytest.raises(OutputError, match="which Spark takes for hidden"):
        publish("a", None, paths=["part-0.parquet", path])


def test_e12_the_schema_of_typed_formats_is_in_the_manifest(tmp_path: Path) -> None:
    """E12: ORC and Avro files are read by Spark once, which tells their types, too."""
    attempt = Attempt(str(tmp_path), "s|PARTITION", "k", Fence(1, "n"), "a store")
    block = attempt.open("clean")
    Path(block.path).mkdir(parents=True)
    Path(block.path, "part-0.orc").write_bytes(b"orc")
    schema = schema_of(x="long")
    made = attempt.finish(block, file_format="orc", measure=lambda *_: Measured(7, ("x",), schema))
    manifest = Manifest.from_bytes(Path(made.address).read_bytes(), made.address)
    assert (made.rows, manifest.schemas()) == (7, [schema])
    assert json.loads(Path(made.address).read_text())["version"] == 1, "the version before reads it, too"


def test_e12_a_told_schema_is_kept_and_compared_with_the_files(publish: Publisher) -> None:
    """E12: it has the partition columns, which no file has."""
    whole = schema_of(x="integer", zip="string")
    publish("a", schema_of(x="integer"), schema=whole, paths=["zip=01234/part-0.parquet"])
    [address] = publish.root.rglob("_manifest.json")
    manifest = Manifest.from_bytes(address.read_bytes(), str(address))
    assert (manifest.schema, json.loads(address.read_text())["version"]) == (whole, 2)
    with pytest.raises(OutputError, match="column 'x' is integer in partition 'b' and string in partition 'schema=…'"):
        publish("b", schema_of(x="integer"), schema=schema_of(x="string"))
    with pytest.raises(OutputError, match="has columns that the given schema does not name: 'zip'"):
        publish("c", schema_of(x="integer"), schema=schema_of(x="integer"), paths=["zip=1/part-0.parquet"])


def test_e12_manifests_of_before_have_no_schema_and_stay_readable() -> None:
    """E12: nothing is known of their types, so nothing is refused."""
    content = {
        **{"version": 1, "source": "s|PARTITION", "key": "k", "dataset": "d", "fence": "1-n", "format": "csv"},
        **{"options": {}, "rows": 1, "follows": None, "schemas": [None], "files": [["p=01/part-0.csv", 3, None, 0]]},
    }
    manifest = Manifest.from_bytes(json.dumps(content).encode(), "/x/_manifest.json")
    assert (manifest.schema, manifest.schemas(), manifest.files) == (None, [], (DataFile("p=01/part-0.csv", 3),))
