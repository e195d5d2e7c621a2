"""boto3's client for a table: from the environment's credentials, or from a role assumed with them."""

from __future__ import annotations

from typing import Any, Final

import boto3
import botocore.session
from botocore.config import Config
from botocore.credentials import AssumeRoleCredentialFetcher, DeferredRefreshableCredentials
from botocore.exceptions import NoCredentialsError

from airflow_coordination.stores.dynamodb.options import DynamoDBOptions
from airflow_coordination.stores.dynamodb.requests import PARALLEL

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
    session = boto3.Session()
    if options.sts_role_arn:
        session = assuming(session, options)
    return session.client("dynamodb", region_name=options.region, endpoint_url=options.endpoint_url, config=CONFIG)


def assuming(base: boto3.Session, options: DynamoDBOptions, **sts: Any) -> boto3.Session:
    """Return a session that assumes the options' role, and does so again whenever its credentials end.

    :param base: gives the credentials with which the role is assumed.
    :param sts: more arguments of the client that assumes it, such as its endpoint.
    :raises NoCredentialsError: botocore's, when ``base`` has none.
    """
    extra = {"RoleSessionName": _SESSION_NAME}
    if options.sts_external_id:
        extra["ExternalId"] = options.sts_external_id

    def client(service: str, **arguments: Any) -> Any:
        return base.client(service, **{"region_name": options.region, "config": CONFIG, **sts, **arguments})

    source = base.get_credentials()
    if source is None:
        raise NoCredentialsError
    fetcher = AssumeRoleCredentialFetcher(client, source, options.sts_role_arn, extra_args=extra)
    assumed = botocore.session.get_session()
    assumed._credentials = DeferredRefreshableCredentials(fetcher.fetch_credentials, method="assume-role")
    return boto3.Session(botocore_session=assumed, region_name=base.region_name)
