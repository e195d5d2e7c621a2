"""What is done with a queue of SQS, by whoever receives from it and whoever deletes after an ending."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from airflow_coordination.values.input_errors import InvalidInputError

BATCH: Final = 10
"""SQS: so many messages in one request."""


def check_queue(queue_url: object) -> None:
    """Refuse what is no URL of a queue.

    :raises InvalidInputError: naming it.
    """
    if not isinstance(queue_url, str) or not queue_url.startswith(("http://", "https://")):
        remedy = "Give https://sqs.<region>.amazonaws.com/…"
        raise InvalidInputError("queue_url", queue_url, "is no URL of a queue", remedy)


def sqs_client(queue_url: str, region: str | None) -> Any:
    """Return a client of the service that a queue's URL names.

    :param region: by default the one in the URL, or the environment's.
    """
    import boto3

    address = urlsplit(queue_url)
    after_sqs = address.netloc.partition("sqs.")[2].partition(".")[0]
    endpoint = f"{address.scheme}://{address.netloc}"
    return boto3.Session().client("sqs", region_name=region or after_sqs or None, endpoint_url=endpoint)


def refused_deletions(client: Any, queue_url: str, receipts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Delete messages, batch by batch, and yield what SQS says of each that it does not delete.

    :param receipts: their receipt handles.
    """
    for entries in _batches(receipts):
        yield from client.delete_message_batch(QueueUrl=queue_url, Entries=entries).get("Failed", [])


def refused_changes(client: Any, queue_url: str, receipts: Sequence[str], seconds: int) -> Iterator[dict[str, Any]]:
    """Hide messages for so long from now on, batch by batch, and yield what SQS says of each that it does not hide.

    :param receipts: their receipt handles.
    """
    for entries in _batches(receipts, VisibilityTimeout=seconds):
        yield from client.change_message_visibility_batch(QueueUrl=queue_url, Entries=entries).get("Failed", [])


def _batches(receipts: Sequence[str], **more: Any) -> Iterator[list[dict[str, Any]]]:
    for start in range(0, len(receipts), BATCH):
        batch = receipts[start : start + BATCH]
        yield [{"Id": str(number), "ReceiptHandle": receipt, **more} for number, receipt in enumerate(batch)]
