"""``read_completed`` returns exactly the published rows, whatever blocks look like."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_coordination.leases import InvalidInputError, SettingsError, SourceCoordinator
from airflow_coordination.outputs import OutputError, attempts
from airflow_coordination.outputs.formats import TextOptions
from airflow_coordination.outputs.parquet import read_footer
from airflow_coordination.outputs.schema_compatibility import SchemaCompatibility
from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.spark import Close, Complete, count_completed, drain, read_completed
from airflow_coordination.stores import open_store
from tests.unit.outputs.test_parquet_schema import foreign_table


@pytest.fixture
def store() -> PartitionStore:
    return open_store("memory://")


@pytest.fixture
def run(spark, store: PartitionStore, output_root: str):
    """Create partitions and drain them all with a function."""

    def run(main, keys=("a", "b"), max_leases=None):
        SourceCoordinator(store, source="s", owner="a test").create_partitions(keys)
        drained = drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=max_leases)
        assert drained.failed == 0, drained.errors

    return run


@pytest.fixture
def rows(spark, store: PartitionStore):
    def rows(dataset: str = "d", **more: object) -> list[tuple[object, ...]]:
        frame = read_completed(spark, store=store, source="s", dataset=dataset, **more)
        found = sorted((tuple(row) for row in frame.collect()), key=repr)
        assert count_completed(store=store, source="s", dataset=dataset) == len(found)
        return found

    return rows


def published(lease, frame, **how: object) -> None:
    with lease.publish("d", **how) as block:
        frame.write.parquet(block.path)


def test_partition_columns_survive_and_keep_one_type(spark, store, run, rows) -> None:
    def main(spark, lease):
        values = {"a": ["01", "x/y=[*]%"], "b": ["02", None]}[lease.partition.key]
        frame = spark.createDataFrame([(1, values[0], 7), (2, values[1], 8)], "id int, name string, month int")
        with lease.publish("d") as block:
            frame.write.partitionBy("name", "month").parquet(block.path)
        return Complete()

    run(main)
    assert rows() == [(1, "01", 7), (1, "02", 7), (2, "x/y=[*]%", 8), (2, None, 8)]
    frame = read_completed(spark, store=store, source="s", dataset="d")
    assert frame.columns == ["id", "name", "month"]
    assert frame.where("month = 8").count() == 2


def test_schemas_merge_by_name(run, rows) -> None:
    def main(spark, lease):
        if lease.partition.key == "a":
            published(lease, spark.sql("select 1 as id, 'x' as old"))
        else:
            published(lease, spark.sql("select 2.5D as added, 2 as id"))
        return Complete()

    run(main)
    assert rows() == [(1, "x", None), (2, None, 2.5)]


def test_blocks_of_one_schema_are_one_scan(spark, store, run) -> None:
    def main(spark, lease):
        frame = spark.range(4).selectExpr("id", "id % 2 as half")
        with lease.publish("d") as block:
            frame.write.partitionBy("half").parquet(block.path)
        return Complete()

    run(main, keys=[f"k{i}" for i in range(5)])
    frame = read_completed(spark, store=store, source="s", dataset="d")
    assert str(frame._jdf.queryExecution().optimizedPlan()).count("Relation") == 1
    assert frame.count() == 20
    assert "PartitionFilters: [isnotnull(half" in frame.where("half = 1")._jdf.queryExecution().toString()


def test_s12_a_new_generation_replaces_and_carried_over_progress_adds(run, rows, store) -> None:
    passes = iter([Close(timedelta(0), state={"n": 1}), Close(timedelta(0)), Close(timedelta(0)), Complete()])
    numbers = iter(range(4))
    seen = []

    def main(spark, lease):
        published(lease, spark.range((n := next(numbers)), n + 1))
        return next(passes)

    for _ in range(4):
        run(main, ["a"], max_leases=1)
        seen.append(rows())
    assert seen == [[(0,)], [(0,), (1,)], [(2,)], [(3,)]]
    [head] = store.heads("s|PARTITION")
    assert (len(head.blocks), head.rows) == (1, 1)


def test_s12_appending_adds_to_what_earlier_passes_published(run, rows, store) -> None:
    numbers = iter(range(3))

    def main(spark, lease):
        published(lease, spark.range((n := next(numbers)), n + 1), mode="append")
        published(lease, spark.range(n + 10, n + 11), mode="append")
        return Close(timedelta(0))

    for _ in range(3):
        run(main, ["a"], max_leases=1)
    assert rows() == [(0,), (1,), (10,), (11,), (12,), (2,)]
    [head] = store.heads("s|PARTITION")
    assert (len(head.blocks), head.rows) == (1, 6)


@pytest.mark.parametrize(
    ("file_format", "options"), [("orc", {}), ("json", {}), ("csv", {"header": "true", "inferSchema": "true"})]
)
def test_other_formats_are_counted_and_read(run, rows, store, file_format: str, options: dict[str, str]) -> None:
    def main(spark, lease):
        with lease.publish("d", format=file_format, options=options) as block:
            spark.range(3).write.format(file_format).options(**options).save(block.path)
        return Complete()

    run(main)
    assert rows() == [(n,) for n in (0, 0, 1, 1, 2, 2)]
    assert [head.rows for head in store.heads("s|PARTITION")] == [3, 3]


def test_s12_files_nobody_published_are_never_read(run, rows) -> None:
    def main(spark, lease):
        with lease.publish("d") as block:
            spark.range(1).write.parquet(block.path)
        spark.range(100, 105).write.mode("append").parquet(block.path)  # a late writer in the same directory
        return Complete()

    run(main, keys=["a"])
    assert rows() == [(0,)]


def test_an_empty_block_keeps_its_schema(run, rows, spark, store) -> None:
    def main(spark, lease):
        published(lease, spark.range(0))
        return Complete()

    run(main)
    assert rows() == []
    assert read_completed(spark, store=store, source="s", dataset="d").columns == ["id"]


def test_nothing_published_says_so_or_gives_the_schema(spark, store, run, rows) -> None:
    with pytest.raises(OutputError) as caught:
        rows("clean")
    assert str(caught.value) == (
        "Cannot read dataset 'clean' of source 's': in_memory (this process only) has no published output of it "
        "(published datasets: none). Complete a partition first. Give schema=… to get an empty DataFrame"
    )
    assert rows("clean", schema="id long, month int") == []


def by_key(spark, lease, values: dict[str, list], types: str, *columns: str, **how: object) -> None:
    frame = spark.createDataFrame(values[lease.partition.key], types)
    told = {"schema": frame.schema} if how.pop("told", False) else {}
    with lease.publish("d", **how, **told) as block:
        frame.write.format(how.get("format", "parquet")).partitionBy(*columns).save(block.path)


@pytest.mark.parametrize("file_format", ["parquet", "orc", "json", "csv"])
def test_e12_partition_columns_come_back_as_they_were_written(spark, run, rows, file_format: str) -> None:
    """E12: "01234" came back as 1234, and a column that looks like numbers in one block only broke every read."""
    values = {
        "a": [("1", "01234", "7", 7, "2013-01-31", None)],
        "b": [("2", "00555", "xtext", 8, "2013-02-28", "y")],
    }

    def main(spark, lease):
        types = "id string, zip string, code string, month int, day string, p string"
        by_key(spark, lease, values, types, "zip", "code", "month", "day", "p", format=file_format)
        return Complete()

    run(main)
    days = [date(2013, 1, 31), date(2013, 2, 28)]
    assert [tuple(map(str, row[:1])) + row[1:] for row in rows()] == [
        (*values[key][0][:4], day, values[key][0][5]) for key, day in zip("ab", days, strict=True)
    ]


@pytest.mark.parametrize("file_format", ["parquet", "orc", "json", "csv"])
def test_e12_a_told_schema_comes_back_exactly(spark, store, run, rows, file_format: str) -> None:
    """E12: with ``schema=df.schema`` also text that looks like numbers everywhere."""
    values = {"a": [(1, 1.5, "7", "2013-01-31")], "b": [(2**53 + 1, None, "8", "2013-02-28")]}
    types = "id bigint, amount double, code string, day string"

    def main(spark, lease):
        by_key(spark, lease, values, types, "code", "day", format=file_format, told=True)
        return Complete()

    run(main)
    assert rows() == sorted((*values["a"], *values["b"]), key=repr)
    frame = read_completed(spark, store=store, source="s", dataset="d")
    assert dict(frame.dtypes) == {"id": "bigint", "amount": "double", "code": "string", "day": "string"}


@pytest.mark.parametrize(("types", "names"), [(("int", "double"), "double"), (("bigint", "string"), "string")])
def test_e12_types_that_do_not_fit_are_refused_where_they_are_made(
    spark, store, output_root: str, rows, types: tuple[str, str], names: str
) -> None:
    """E12: int and double merged in silence; int and string broke every read of the dataset."""
    SourceCoordinator(store, source="s", owner="a test").create_partitions(["a", "b"])

    def main(spark, lease):
        published(lease, spark.sql(f"select cast(1 as {types[lease.partition.key == 'b']}) as x"))
        return Complete()

    drained = drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=None)
    [(key, message)] = drained.errors
    assert (key, f"column 'x' is {names} in partition 'b' and" in message, "in partition 'a'" in message) == (
        "b",
        True,
        True,
    )
    assert len(rows()) == 1


def test_e12_a_reader_names_what_does_not_fit(spark, store, run, rows, monkeypatch: pytest.MonkeyPatch) -> None:
    """E12: blocks of the version before were not compared when they were published."""
    monkeypatch.setattr(SchemaCompatibility, "check", lambda *_, **__: None)
    values = {"a": "2.5D", "b": f"{2**53 + 1}"}

    def main(spark, lease):
        published(lease, spark.sql(f"select {values[lease.partition.key]} as x"))
        return Complete()

    run(main)
    with pytest.raises(OutputError, match="column 'x' is long in partition 'b' and double in partition 'a'"):
        rows()
    assert len(rows(allow_lossy=True)) == 2


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("7", "'xtext'"), ["7", "xtext"]),
        (("2.5D", str(2**53 + 1)), [2.5, float(2**53)]),
        (("date'2013-01-31'", "7"), ["2013-01-31", "7"]),
        (("named_struct('n', 7)", "named_struct('n', 'x', 'm', 1)"), ["{7}", "{x, 1}"]),
        (("named_struct('n', 7)", "named_struct('n', 7.5D, 'm', 1)"), [(7.0, None), (7.5, 1)]),
    ],
)
def test_e12_different_types_on_purpose_are_published_and_read(
    spark, run, rows, values: tuple[str, str], expected: list[object]
) -> None:
    """E12: the remedies that the two errors name."""

    def main(spark, lease):
        frame = spark.sql(f"select {values[lease.partition.key == 'b']} as x")
        if lease.partition.key == "b":
            with pytest.raises(OutputError, match=r"or say lease.publish\(…, allow_lossy=True\)"):
                published(lease, frame)
        published(lease, frame, allow_lossy=True)
        return Complete()

    run(main)
    with pytest.raises(OutputError, match="say allow_lossy=True"):
        rows()
    assert sorted((found for [found] in rows(allow_lossy=True)), key=str) == sorted(expected, key=str)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("map('k', named_struct('a', 1))", "map('k', named_struct('a', 2, 'b', 'x'))"),
        ("map('k', named_struct('a', 1, 'b', 2))", "map('k', named_struct('b', 2, 'a', 1))"),
        ("array(map('k', array(named_struct('a', 1))))", "array(map('k', array(named_struct('a', 1, 'b', 2))))"),
        ("'x' collate UNICODE", "'x' collate UTF8_LCASE"),
        ("array('x')", "array('x' collate UTF8_LCASE)"),
        ("named_struct('a', map('k', 'x'))", "named_struct('a', map('k', 'x' collate UNICODE))"),
    ],
)
def test_e7_what_spark_does_not_unite_is_refused_where_it_is_made_and_named_by_readers(
    spark, run, rows, monkeypatch: pytest.MonkeyPatch, a: str, b: str
) -> None:
    """E7: it was published, and then the whole dataset could not be read; or two fields changed their places."""

    def main(spark, lease):
        frame = spark.sql(f"select {b if lease.partition.key == 'b' else a} as s")
        if lease.partition.key == "b":
            with pytest.raises(OutputError, match=r"does not fit: column 's.*' is .* in partition 'b' and .* in part"):
                published(lease, frame)
            monkeypatch.setattr(SchemaCompatibility, "check", lambda *_, **__: None)
        published(lease, frame)
        return Complete()

    run(main)
    with pytest.raises(OutputError, match=r"does not fit: column 's.*' is .* in partition 'b' and .* in partition 'a'"):
        rows()


def test_e7_what_is_only_seen_when_it_is_united_names_both_partitions(run, rows) -> None:
    """E7: the reader died with Spark's own words; the types of JSON are guessed, so that nothing compares them."""

    def main(spark, lease):
        if lease.partition.key == "a":
            published(lease, spark.sql("select map('k', 7) as s"))
        else:
            with lease.publish("d", format="json") as block:
                spark.sql("select 'text' as s").write.json(block.path)
        return Complete()

    run(main)
    with pytest.raises(OutputError, match=r"of partition 'b' .* does not fit the columns of partition 'a': .*UNION"):
        rows()
    with pytest.raises(OutputError, match=r"of partition 'a' .* does not fit the columns of schema=…: .*UNION"):
        rows(schema="s int")


def test_e12_a_column_named_as_our_directories_is_refused(spark, store, output_root: str) -> None:
    """E12: ``_block`` vanished."""
    SourceCoordinator(store, source="s", owner="a test").create_partitions(["a"])

    def main(spark, lease):
        with lease.publish("d", format="json") as block:
            spark.sql("select 1 as id, 'u' as _block, 'v' as p").write.partitionBy("p").json(block.path)
        return Complete()

    [(_, message)] = drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=1).errors
    assert "has a column '_block', a name that directories of blocks have" in message


EVERY_SPECIAL = "o ut%41#[x]?{y,z}*\\,=ä;'\"$&|<>!^~`()@+}]{[\t"
WORST_ROOT = f"a::b:{EVERY_SPECIAL}"


def _roots_and_formats():
    """Yield every format below the worst root, and every root with one format; the rest shows the same once more."""
    for root in ("plain", EVERY_SPECIAL, WORST_ROOT):
        for file_format in ("parquet", "orc", "json", "csv", "text"):
            once_more = root != WORST_ROOT and file_format != "parquet"
            yield pytest.param(root, file_format, marks=[pytest.mark.long] if once_more else [])


@pytest.mark.parametrize(("root", "file_format"), _roots_and_formats())
def test_e1_every_row_is_read_once_whatever_root_and_values_are_called(
    spark, store, tmp_path: Path, rows, file_format: str, root: str
) -> None:
    """E1: Spark takes paths for patterns, and answers each of those with the whole list if told that they are none."""
    values = ["p{lain}", f"a:b::{EVERY_SPECIAL}", "a}b"]
    SourceCoordinator(store, source="s", owner="a test").create_partitions([EVERY_SPECIAL, "b"])

    def main(spark, lease):
        frame = spark.range(6).repartition(2).selectExpr("cast(id as string) as id", "cast(id % 3 as int) as n")
        named = frame.join(spark.createDataFrame(list(enumerate(values)), "n int, p string"), "n").select("id", "p")
        with lease.publish("d", format=file_format) as block:
            named.repartition(2, "id").write.partitionBy("p").format(file_format).save(block.path)
        return Complete()

    drained = drain(main, store=store, source="s", spark=spark, output_root=str(tmp_path / root), max_leases=None)
    assert drained.errors == ()
    [one, other] = store.heads("s|PARTITION")
    assert (one.rows, other.rows) == (6, 6)
    expected = sorted((str(number), values[number % 3]) for number in range(6) for _ in range(2))
    assert sorted((str(row[0]), row[1]) for row in rows()) == expected
    files = read_completed(spark, store=store, source="s", dataset="d").inputFiles()
    assert len(files) == len(set(files)) == len([p for p in tmp_path.rglob("part-*") if p.is_file()])


@pytest.mark.parametrize("character", sorted(set("{}[]*?\\%#: \n")))
def test_e1_each_special_character_of_a_root_alone(spark, store, tmp_path: Path, rows, character: str) -> None:
    """E1: a file is missed or doubled by one character, not only by all together."""
    SourceCoordinator(store, source="s", owner="a test").create_partitions(["a"])

    def main(spark, lease):
        published(lease, spark.range(4).repartition(2))
        return Complete()

    root = str(tmp_path / f"o{character}t")
    assert drain(main, store=store, source="s", spark=spark, output_root=root, max_leases=None).errors == ()
    assert rows() == [(n,) for n in range(4)]


def test_a_missing_data_file_names_the_partition(run, rows, output_root: str) -> None:
    def main(spark, lease):
        published(lease, spark.range(1))
        return Complete()

    run(main)
    victim = next(path for path in Path(output_root).rglob("*.parquet") if "-a/" in str(path))
    victim.unlink()
    with pytest.raises(OutputError) as caught:
        rows()
    assert "partition 'a' of source 's|PARTITION'" in str(caught.value)
    assert f"{victim} is missing" in str(caught.value)


@pytest.mark.parametrize(("file_format", "more"), [("parquet", {}), ("csv", {}), ("parquet", {"verify": "rows"})])
def test_e1_files_that_lost_their_end_are_named(run, rows, output_root: str, file_format: str, more: dict) -> None:
    """E1: 6 of 10 rows were read without a word."""

    def main(spark, lease):
        with lease.publish("d", format=file_format) as block:
            spark.range(5).coalesce(1).write.format(file_format).save(block.path)
        return Complete()

    run(main)
    assert len(rows(**more)) == 10
    victim = next(path for path in Path(output_root).rglob("part-*") if "-a/" in str(path))
    victim.write_bytes(victim.read_bytes()[:4])
    with pytest.raises(OutputError, match=r"partition 'a' .*: .*part-.* has 4 bytes, and \d+ were published"):
        rows(**more)
    with pytest.raises(InvalidInputError, match="verify='etag': is nothing that can be compared"):
        rows(verify="etag")


@pytest.mark.parametrize("harm", [Path.unlink, lambda file: file.write_bytes(file.read_bytes()[:200])])
def test_e1_a_session_that_ignores_files_does_not_hide_those_that_were_published(
    spark, store, run, output_root: str, harm
) -> None:
    """E1: with ignoreCorruptFiles 14 of 20 rows were read; here the file is harmed after the reader's own look."""

    def main(spark, lease):
        published(lease, spark.range(1))
        return Complete()

    run(main, keys=["a"])
    settings = ["spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles"]
    [victim] = Path(output_root).rglob("part-*.parquet")
    victim.with_name(f".{victim.name}.crc").unlink()
    for name in settings:
        spark.conf.set(name, "true")
    try:
        frame = read_completed(spark, store=store, source="s", dataset="d")
        harm(victim)
        with pytest.raises(Exception, match=victim.name):
            frame.collect()
    finally:
        for name in settings:
            spark.conf.unset(name)


def test_d9_a_format_or_option_that_readers_do_not_know_is_refused_before_any_work(spark, store, output_root) -> None:
    """D9: as it is when it is read."""
    SourceCoordinator(store, source="s", owner="a test").create_partitions(["a"])

    def main(spark, lease):
        for how in ({"format": "jdbc"}, {"format": "csv", "options": {"path": "/etc"}}, {"options": {"header": "x"}}):
            with pytest.raises(InvalidInputError, match="know"), lease.publish("d", **how):
                pytest.fail("never comes here")
        published(lease, spark.range(1))
        return Complete()

    assert drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=1).completed == 1


def foreign(lease, table: pa.Table) -> None:
    with lease.publish("d") as block:
        Path(block.path).mkdir(parents=True)
        pq.write_table(table, f"{block.path}/part-0.parquet")


def test_d8_a_footers_own_schema_is_what_spark_makes_of_it(spark, tmp_path: Path) -> None:
    """D8: so that what is compared is what is read."""
    for version in ("1.0", "2.6"):
        file = tmp_path / f"{version}.parquet"
        pq.write_table(foreign_table(), file, version=version)
        text = read_footer(str(file), file.stat().st_size).schema
        assert json.loads(text) == json.loads(spark.read.parquet(str(file)).schema.json())


@pytest.mark.parametrize("before", [False, True])
def test_d8_blocks_of_others_are_compared_when_they_are_published_and_when_they_are_read(
    spark, run, rows, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """D8: bigint beside double was read as double, and 2^53+1 became another number without a word."""

    def main(spark, lease):
        if lease.partition.key == "a":
            foreign(lease, pa.table({"id": [1], "x": [2**53 + 1]}))
            return Complete()
        if not before:
            with pytest.raises(OutputError, match="column 'x' is double in partition 'b' and long in partition 'a'"):
                foreign(lease, pa.table({"id": [2], "x": [1.5]}))
        foreign(lease, pa.table({"id": [2], "x": [1.5 if before else 7]}))
        return Complete()

    with monkeypatch.context() as publishing:
        if before:  # such files were published without a look at their schema
            publishing.setattr(attempts, "read_footer", lambda *file: replace(read_footer(*file), schema=None))
        run(main)
    if not before:
        assert rows() == [(1, 2**53 + 1), (2, 7)]
        return
    with pytest.raises(OutputError, match="column 'x' is double in partition 'b' and long in partition 'a'"):
        rows()


@pytest.mark.parametrize("partitioned", [False, True])
def test_d8_a_column_of_nulls_takes_the_type_of_the_others(spark, store, run, rows, partitioned: bool) -> None:
    """D8: pandas writes one where no value is known; nobody could read the dataset any more."""

    def main(spark, lease):
        table = pa.table({"x": pa.nulls(1) if lease.partition.key == "a" else ["v"], "n": pa.nulls(1), "id": [1]})
        with lease.publish("d") as block:
            place = Path(block.path, "p=7") if partitioned else Path(block.path)
            place.mkdir(parents=True)
            pq.write_table(table, place / "part-0.parquet")
        return Complete()

    run(main)
    more = (7,) if partitioned else ()
    assert rows() == [("v", None, 1, *more), (None, None, 1, *more)]
    found = dict(read_completed(spark, store=store, source="s", dataset="d").dtypes)
    assert found == {"x": "string", "n": "void", "id": "bigint"} | ({"p": "int"} if partitioned else {})


@pytest.fixture
def zone(spark):
    """Set the session's time zone; it is put back."""
    name = "spark.sql.session.timeZone"
    before = spark.conf.get(name)
    yield lambda zone: spark.conf.set(name, zone)
    spark.conf.set(name, before)


@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("file_format", ["parquet", "json"])
def test_e3_times_of_partition_columns_are_read_in_their_writers_zone(
    spark, run, rows, zone, file_format: str, told: bool
) -> None:
    """E3: five hours off in another session; each partition here has a writer of its own."""
    zones = {"a": "America/New_York", "b": "+05:30"}

    def main(spark, lease):
        zone(zones[lease.partition.key])
        frame = spark.sql("select timestamp_seconds(s) as ts, s from values (1767225600L), (1793500000L) as t(s)")
        with lease.publish("d", format=file_format, **({"schema": frame.schema} if told else {})) as block:
            frame.write.format(file_format).options(**block.options).partitionBy("ts").save(block.path)
        return Complete()

    run(main)
    zone("Asia/Tokyo")
    found = sorted((s, int(ts.timestamp())) for s, ts in rows())
    assert found == [(s, s) for s in (1767225600, 1767225600, 1793500000, 1793500000)]


def test_e3_times_that_the_writers_zone_does_not_tell_apart_are_refused(spark, store, output_root, zone) -> None:
    """E3: the hour that comes twice in autumn."""
    SourceCoordinator(store, source="s", owner="a test").create_partitions(["a", "b"])
    zone("America/New_York")

    def main(spark, lease):
        frame = spark.sql("select timestamp_seconds(1793514600) as ts, 1 as n")
        with lease.publish("d", **({"schema": frame.schema} if lease.partition.key == "a" else {})) as block:
            frame.write.partitionBy("ts").parquet(block.path)
        return Complete()

    errors = drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=None).errors
    assert [key for key, _ in errors] == ["a", "b"]
    for _, message in errors:
        assert "'ts' with '2026-11-01 01:30:00', which is there twice in America/New_York" in message


TEXTS = [
    "plain",
    "two\nlines",
    "cr\r\nlf",
    " blank ",
    'a "q" w',
    "back\\slash",
    "end\\",
    '\\"x',
    "",
    None,
    "a,b",
    "#c",
    '"',
    "\t",
]
KEPT = [
    "n",
    "v",
    "timestamp_micros(n * 1234567891L) as t",
    "timestamp_seconds(1793514600 + n * 3600) as twice",
    "timestamp'1850-01-01 00:00:00.000001' as old",
    "timestamp_ntz'2026-03-29 02:30:00.123456' as z",
    "date'1582-10-14' as d",
    "cast(n as decimal(20, 5)) as m",
    "n / 3D as f",
    "double('NaN') as nan",
    "'x' as _corrupt_record",
    "concat('p ', n % 2) as p",
]


@pytest.mark.parametrize(
    ("file_format", "options"),
    [("csv", {}), ("csv", {"sep": ";", "header": True, "compression": "gzip"}), ("json", {})],
)
def test_e2_text_formats_give_back_what_was_written(spark, store, run, rows, file_format, options) -> None:
    """E2: a line end made two rows of one, blanks at edges went, empty became null, microseconds were cut."""
    made = spark.createDataFrame(list(enumerate(TEXTS)), "n int, v string").selectExpr(*KEPT)

    def main(spark, lease):
        with lease.publish("d", format=file_format, options=options, schema=made.schema) as block:
            made.write.format(file_format).options(**block.options).partitionBy("p").save(block.path)
        return Complete()

    run(main, keys=["a"])
    found = read_completed(spark, store=store, source="s", dataset="d")
    as_text = [f"cast({name} as string)" for name in made.columns]
    assert sorted(map(tuple, found.selectExpr(*as_text).collect()), key=repr) == sorted(
        map(tuple, made.selectExpr(*as_text).collect()), key=repr
    )
    assert found.selectExpr("sum(unix_micros(twice))").first() == made.selectExpr("sum(unix_micros(twice))").first()
    assert store.heads("s|PARTITION")[0].rows == len(TEXTS)
    assert found.schema.fieldNames() == made.schema.fieldNames()


@pytest.mark.parametrize(
    ("file_format", "columns", "problem"),
    [
        ("csv", "' blank ' as v", "holds values without quotes"),
        ("csv", "timestamp_micros(1) as t", "does not give back rows of the schema that was told"),
        ("json", "timestamp_micros(1) as t", "does not give back rows of the schema that was told"),
        ("json", "timestamp_ntz'2026-03-29 02:30:00.123456' as t", "does not give back rows of the schema"),
    ],
)
def test_e2_what_was_written_otherwise_is_refused(spark, store, output_root, file_format, columns, problem) -> None:
    """E2: what Spark's writer has cut by itself cannot be seen in the file."""
    SourceCoordinator(store, source="s", owner="a test").create_partitions(["a"])

    def main(spark, lease):
        frame = spark.sql(f"select {columns}")
        with lease.publish("d", format=file_format, schema=frame.schema) as block:
            frame.write.format(file_format).save(block.path)
        return Complete()

    [(_, message)] = drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=1).errors
    assert problem in message
    assert "df.write.options(**block.options)" in message


@pytest.mark.parametrize(("file_format", "column"), [("csv", "x binary"), ("json", "x map<int, string>")])
def test_e2_types_that_a_format_cannot_give_back_are_refused_before_any_work(
    spark, store, output_root, file_format: str, column: str
) -> None:
    """E2: bytes became the text of their numbers in CSV; JSON with such a map could not be read."""
    SourceCoordinator(store, source="s", owner="a test").create_partitions(["a"])

    def main(spark, lease):
        schema = spark.createDataFrame([], column).schema
        with pytest.raises(InvalidInputError, match=r"does not give back\. Cast it to text, or publish as Parquet"):
            lease.publish("d", format=file_format, schema=schema).__enter__()
        return Complete()

    assert drain(main, store=store, source="s", spark=spark, output_root=output_root, max_leases=1).completed == 1


def test_e2_plain_numbers_need_no_options(spark, store, run, rows) -> None:
    """E2: nothing of them is lost, so nobody is asked for anything."""

    def main(spark, lease):
        frame = spark.sql("select 7 as n, 2.5D as x, cast(null as bigint) as z, ' p' as p")
        with lease.publish("d", format="csv", schema=frame.schema) as block:
            frame.write.partitionBy("p").csv(block.path)
        return Complete()

    run(main, keys=["a"])
    assert rows() == [(7, 2.5, None, " p")]


def test_e2_what_was_published_before_is_read_as_it_was_written(spark, store, run, rows, monkeypatch) -> None:
    """E2: the options travel in the manifest: Spark's own for what was written with Spark's own."""
    monkeypatch.setattr("airflow_coordination.spark.lease.text_options", lambda _, given, __: TextOptions(given, given))

    def main(spark, lease):
        frame = spark.sql("select 1 as n, timestamp'2026-01-01 10:00:00.123' as t, 'x' as v")
        with lease.publish("d", format="csv", schema=frame.schema) as block:
            frame.write.csv(block.path)
        return Complete()

    run(main, keys=["a"])
    assert rows() == [(1, datetime.fromisoformat("2026-01-01 10:00:00.123"), "x")]


def test_c1_a_drain_and_a_reader_work_under_the_stores_prefix(spark, output_root: str) -> None:
    """C1: an opened store brings its ``partition_prefix`` along; another one by hand is refused."""
    store = open_store({"partition_prefix": "team", "store": {"in_memory": None}})
    SourceCoordinator(store, source="s", owner="a test", partition_prefix="team").create_partitions(["k"])

    def main(spark, lease):
        published(lease, spark.range(3))
        return Complete()

    assert drain(main, store=store, source="s", spark=spark, output_root=output_root).keys == ("k",)
    assert read_completed(spark, store=store, source="s", dataset="d").count() == 3
    with pytest.raises(SettingsError, match="partition_prefix='north': is another one than the store's own, 'team'"):
        read_completed(spark, store=store, source="s", dataset="d", partition_prefix="north")
    with pytest.raises(SettingsError, match="partition_prefix='north'"):
        drain(main, store=store, source="s", spark=spark, output_root=output_root, partition_prefix="north")
