"""What stands in for Amazon: DynamoDB Local and moto's S3 on this machine, and how everybody finds them."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import boto3
from java_packages import PackagesError, download

from demo.data import MONTHS
from demo.problems import DemoError
from tests.engines.dynamodb_local import dynamodb_local
from tests.engines.moto_server import moto_server

WORD = "dynamodb"
"""What STORE says to get all this, in the place of a URL."""
CONNECTION, BUCKET, REGION = "aws_default", "flights", "us-east-1"


@dataclass(frozen=True, slots=True)
class Amazon:
    """The services, and an account that only they know.

    :param dynamodb: endpoint of DynamoDB Local.
    :param s3: endpoint of moto.
    :param connector: the jars with which Spark opens ``s3a://``.
    """

    dynamodb: str
    s3: str
    connector: Path
    key_id: str = field(default_factory=lambda: f"AKIA{secrets.token_hex(8).upper()}")
    secret: str = field(default_factory=lambda: secrets.token_hex(20), repr=False)

    store = "dynamodb://coordination?billing_mode=on_demand"
    output = f"s3a://{BUCKET}/output"
    data = f"s3a://{BUCKET}/data"

    def connections(self) -> dict[str, str]:
        """Return what Airflow is told: the keys stand in its connection and nowhere else."""
        endpoints = {"dynamodb": {"endpoint_url": self.dynamodb}, "s3": {"endpoint_url": self.s3}}
        amazon = {
            "conn_type": "aws",
            "login": self.key_id,
            "password": self.secret,
            "extra": {"region_name": REGION, "service_config": endpoints},
        }
        store = {"conn_type": "coordination", "host": self.store, "extra": {"aws_conn_id": CONNECTION}}
        return {
            f"AIRFLOW_CONN_{CONNECTION.upper()}": json.dumps(amazon),
            "AIRFLOW_CONN_COORDINATION_DEFAULT": json.dumps(store),
            "AIRFLOW_VAR_FLIGHTS_DATA": self.data.replace("://", f"://{CONNECTION}@"),
            "AIRFLOW__COORDINATION__OUTPUT_ROOT": self.output,
        }

    def variables(self) -> dict[str, str]:
        """Return what those are told that know no Airflow: the demo itself, and who reads what was published."""
        return {
            "AWS_ACCESS_KEY_ID": self.key_id,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL_DYNAMODB": self.dynamodb,
            "AWS_ENDPOINT_URL_S3": self.s3,
        }

    def upload(self, folder: Path) -> None:
        """Put the monthly files where Spark will read them."""
        client = boto3.client("s3")
        client.create_bucket(Bucket=BUCKET)
        for month in MONTHS:
            client.upload_file(str(folder / f"{month}.csv"), BUCKET, f"data/{month}.csv")
        client.close()


@contextmanager
def amazon_running() -> Iterator[Amazon]:
    """Give the services, and end them whatever happens. Nobody's own account is seen meanwhile.

    :raises DemoError: when what they are made of cannot be downloaded.
    """
    try:
        engine, connector = download("dynamodb-local"), download("hadoop-aws")
    except PackagesError as error:
        problem, _, said = str(error).partition("\n")
        raise DemoError(problem, details=said) from error
    with dynamodb_local(engine) as dynamodb, moto_server() as s3:
        amazon = Amazon(dynamodb, s3, connector)
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            del os.environ[name]
        os.environ |= amazon.variables()
        yield amazon
