"""What is counted on every engine, each started for it: ``make accept`` and ``make sent``."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from unittest.mock import patch

from airflow_coordination.stores import open_store
from scripts.java_packages import jars
from tests.engines.dynamodb_local import dynamodb_local
from tests.engines.postgres import fresh_database, private_postgres
from tests.integration.dynamodb.engine import Engine, patient_client
from tests.sent.engines import Record, on_dynamodb, on_postgresql, on_sqlite, requests_and_units, units_of_theirs
from tests.sent.table import Rows, merged

ACCOUNT = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_EC2_METADATA_DISABLED": "true"}


def counted() -> Rows:
    """Return the table as the code has it now."""
    with everywhere() as records:
        return merged(record.rows for record in records.values())


@contextmanager
def everywhere() -> Iterator[dict[str, Record]]:
    """Give what each engine was sent, by the engine's name."""
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, ACCOUNT))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = stack.enter_context(private_postgres())
        url = stack.enter_context(fresh_database(cluster))
        with closing(open_store(url)) as store:
            store.setup()
        engine = stack.enter_context(counting_engine(stack.enter_context(dynamodb_local(jars("dynamodb-local")))))
        yield {
            "sqlite": on_sqlite(folder),
            "postgresql": on_postgresql(url),
            "dynamodb": on_dynamodb(engine, "ours", requests_and_units),
            "dynamodb-theirs": on_dynamodb(engine, "prep", units_of_theirs, theirs=True),
        }


@contextmanager
def counting_engine(endpoint: str) -> Iterator[Engine]:
    """Give a server that speaks DynamoDB with a client of its own: whoever counts asks for the units of each call."""
    with closing(patient_client(endpoint)) as client:
        yield Engine(endpoint, client)
