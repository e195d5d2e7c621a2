"""boto3's client for a table: from the environment's credentials, or from a role assumed with them."""

from __future__ import annotations

from typing import Any, Final

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials

from airflow_coordination.stores.dynamodb.creating import PARALLEL
from airflow_coordination.stores.dynamodb.options import DynamoDBOptions

CONNECT_SECONDS: Final = 3
READ_SECONDS: Final = 5
"""Well below the time between two renewals of the shortest sensible lease."""

CONFIG: Final = Config(
    connect_timeout=CONNECT_SECONDS,
    read_timeout=READ_SECONDS,
    retries={"mode": "standard", "total_max_attempts": 1},  # repeating is the protocol's business, under its deadline
    max_pool_connections=2 * PARALLEL,
    tcp_keepalive=True,
)
_SESSION_NAME: Final = "airflow-coordination"


def make_client(options: DynamoDBOptions) -> Any:
    """Return a low-level client for the options' region, role and endpoint; nothing is contacted yet."""
    session = _with_role(options) if options.sts_role_arn else boto3.Session()
    return session.client("dynamodb", region_name=options.region, endpoint_url=options.endpoint_url, config=CONFIG)


def _with_role(options: DynamoDBOptions) -> boto3.Session:
    """Return a session that assumes the role, and does so again whenever its credentials end."""
    base = botocore.session.get_session()
    extra = {"RoleSessionName": _SESSION_NAME}
    if options.sts_external_id:
        extra["ExternalId"] = options.sts_external_id

    def client(service: str, **arguments: Any) -> Any:
        return base.create_client(service, **{"region_name": options.region, **arguments})

    fetcher = AssumeRoleCredentialFetcher(client, base.get_credentials(), options.sts_role_arn, extra_args=extra)
    assumed = botocore.session.get_session()
    assumed._credentials = DeferredRefreshableCredentials(fetcher.fetch_credentials, method="assume-role")
    return boto3.Session(botocore_session=assumed)
