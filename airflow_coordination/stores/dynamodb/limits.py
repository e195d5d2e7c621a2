"""DynamoDB's own limits, checked before a request is sent (promise X9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from airflow_coordination.stores.calls import Call
from airflow_coordination.values.errors import PartitionUpdateError
from airflow_coordination.values.input_errors import InvalidInputError

MAX_ITEM_BYTES: Final = 400 * 1024
MAX_TRANSACTION: Final = 100
"""Items in one transaction."""


def size_of(value: Any) -> int:
    """Return how many bytes of an item a text, number or truth value takes, as the service counts them."""
    if isinstance(value, bool):
        return 1
    if isinstance(value, int | Decimal):
        return (len(str(abs(value))) + 1) // 2 + 1 + (value < 0)
    return len(str(value).encode())


def bytes_of(item: Mapping[str, Any]) -> int:
    """Return how many bytes an item's attributes take, names and values; ``None`` is no attribute."""
    return sum(len(name.encode()) + size_of(value) for name, value in item.items() if value is not None)


def check_item(item: Mapping[str, Any]) -> None:
    """Refuse an item that the service would refuse.

    :raises InvalidInputError: naming the largest attribute.
    """
    whole = bytes_of(item)
    if whole > MAX_ITEM_BYTES:
        sizes = {name: bytes_of({name: value}) for name, value in item.items()}
        largest = max(sizes, key=lambda name: sizes[name])
        problem = f"makes an item of {whole:,} bytes, DynamoDB's limit is {MAX_ITEM_BYTES:,}"
        raise InvalidInputError(largest, item[largest], problem, f"Make it shorter; it alone takes {sizes[largest]:,}")


def check_together(call: Call, key: str, datasets: int, others: Sequence[object]) -> None:
    """Refuse a step that writes more items beside its partition than go into one transaction.

    :param datasets: how many of them are head records.
    :raises PartitionUpdateError: naming both numbers.
    """
    if len(others) >= MAX_TRANSACTION:
        problem = f"it publishes to {datasets} datasets, and DynamoDB writes {MAX_TRANSACTION} items at once"
        raise PartitionUpdateError(call.action, key, f"{problem}. Publish to fewer datasets")
