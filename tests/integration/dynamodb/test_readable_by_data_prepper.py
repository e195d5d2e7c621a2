"""The items that this package writes, read as Data Prepper reads them: by the converters of the vendor's own Java SDK.

Data Prepper's bean is mapped by ``BeanTableSchema`` of the DynamoDB Enhanced Client. Its converters lie among the jars
of DynamoDB Local; py4j, which comes with PySpark, calls them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JError

from airflow_coordination.leases import PartitionStatus
from airflow_coordination.stores.dynamodb.setup.table import Layout
from scripts.java_packages import jars
from tests.engines.dynamodb_local import find_java
from tests.integration.dynamodb.data_prepper import BEAN, Item, UnreadableError, bean, instant, long
from tests.integration.dynamodb.engine import Engine
from tests.integration.dynamodb.snapshot import Snapshot, coordinator, in_every_state, poisoned

pytestmark = pytest.mark.dynamodb
Reader = Callable[[str, dict[str, str]], str | None]


@pytest.fixture(scope="module")
def java() -> Iterator[Reader]:
    """Return what the SDK makes of an attribute's value, as text; ``None`` where it cannot read it."""
    [py4j] = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    gateway = JavaGateway.launch_gateway(
        jarpath=str(py4j), classpath=f"{jars('dynamodb-local')}/*", java_path=find_java(), die_on_exit=True
    )
    sdk = gateway.jvm.software.amazon.awssdk
    converters = sdk.enhanced.dynamodb.internal.converter.attribute
    kinds = {
        instant: converters.InstantAsStringAttributeConverter.create(),
        long: converters.LongAttributeConverter.create(),
    }
    other = converters.StringAttributeConverter.create()

    def read(name: str, value: dict[str, str]) -> str | None:
        [(kind, text)] = value.items()
        builder = sdk.services.dynamodb.model.AttributeValue.builder()
        try:
            return str(kinds.get(BEAN[name], other).transformTo(getattr(builder, kind.lower())(text).build()))
        except Py4JError:  # not only its Java error: pyspark, once used in this process, looks into that and fails
            return None

    yield read
    gateway.shutdown()


def unreadable(item: Item) -> str | None:
    """Return the attribute that our Python copy of the bean cannot read."""
    try:
        bean(item)
    except UnreadableError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-20T18:12:10.991521936Z",
        "2026-11-20T18:12:10.991Z",
        "2026-11-20T18:12:10Z",
        "2026-11-20T18:12:10+00:00",
        "2026-11-20T18:12:10",
        "2026-11-20 18:12:10Z",
        "2026-02-30T00:00:00Z",
        "1795803702",
        "!2147483648|2026-11-20T18:12:10.991521Z",
        "tomorrow",
    ],
)
def test_the_copy_of_its_bean_reads_the_same_times(java: Reader, text: str):
    """Otherwise the tests that use it would show nothing."""
    value = {"S": text}
    assert (java("reOpenAt", value) is None) == (unreadable({"reOpenAt": value}) is not None)


@pytest.mark.parametrize("kind", ["N", "S"])
@pytest.mark.parametrize("text", ["0", "17", "1.5", "1795803702"])
def test_the_copy_of_its_bean_reads_the_same_numbers(java: Reader, kind: str, text: str):
    """Otherwise the tests that use it would show nothing."""
    value = {kind: text}
    assert (java("closedCount", value) is None) == (unreadable({"closedCount": value}) is not None)


@pytest.mark.parametrize("layout", Layout)
def test_every_item_is_one_that_data_prepper_can_read(local: Engine, local_table: str, java: Reader, layout: Layout):
    """In each state, on its own table and on one of ours."""
    snapshot = Snapshot(local, local_table, "05")
    snapshot.before += poisoned()
    if layout is Layout.DATA_PREPPER:
        snapshot.make()
    store = snapshot.store()
    store.setup()
    assert store.layout is layout
    one = coordinator(store, snapshot.clock)
    in_every_state(one, snapshot.clock)
    for item in snapshot.items().values():
        assert int(item["fenceToken"]["N"]) <= int(item["version"]["N"])
        known = {name: value for name, value in item.items() if name in BEAN}
        assert [name for name, value in known.items() if java(name, value) is None] == []
    seen = {name: bean(item) for name, item in snapshot.items().items()}
    assert {values["sourcePartitionStatus"] for values in seen.values()} == set(PartitionStatus)
    for values in seen.values():
        combined = f"{values['sourceIdentifier']}|{values['sourcePartitionStatus']}"
        assert values.get("sourceStatusCombinationKey", combined) == combined
        assert ("partitionOwner" in values) == (values["sourcePartitionStatus"] == "ASSIGNED")
        assert ("sourceStatusCombinationKey" in values) <= ("partitionPriority" in values)
        assert ("expirationTime" in values) <= (
            values["sourcePartitionStatus"] == "COMPLETED" or "n10" in values.values()
        )
