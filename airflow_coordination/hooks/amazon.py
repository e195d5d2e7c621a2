"""Amazon's credentials from an Airflow connection of type ``aws``: for the store's client, and for a Spark driver."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Never

from airflow.providers.common.compat.sdk import mask_secret

from airflow_coordination.values.errors import StoreUnavailableError
from airflow_coordination.values.input_errors import CoordinationError, SettingsError
from airflow_coordination.values.scrubbing import forms, know

if TYPE_CHECKING:
    from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook
    from airflow.providers.amazon.aws.utils.connection_wrapper import AwsConnectionWrapper
    from airflow.sdk import Connection

    from airflow_coordination.stores.dynamodb.options import DynamoDBOptions

CONNECTION_TYPE: Final = "aws"
_ASKED_OF_A_ROLE: Final = frozenset({"ExternalId", "RoleSessionName", "DurationSeconds"})
"""The arguments of a role that store options can hold, or drivers do without: with more, only a task assumes it."""


@dataclass(frozen=True, slots=True)
class AmazonAccess:
    """A connection of type ``aws`` as plain values: equal ones share a store and its client.

    :param conn_id: the connection.
    :param login: the id of an access key, if it names one.
    :param password: the key's secret.
    :param extra: its extra, as JSON.
    """

    conn_id: str
    login: str | None = field(default=None, repr=False)
    password: str | None = field(default=None, repr=False)
    extra: str = field(default="{}", repr=False)

    def __reduce__(self) -> Never:
        raise TypeError("An AmazonAccess holds keys and is not pickled; send the connection's id")


def read_access(connection: Connection) -> AmazonAccess:
    """Return what ``connection`` says; its secrets are registered with Airflow's mask.

    :raises SettingsError: when it is of another type.
    """
    if connection.conn_type != CONNECTION_TYPE:
        problem, remedy = "is the wrong connection type for aws_conn_id", f"Use {CONNECTION_TYPE!r}"
        raise SettingsError(f"connection {connection.conn_id}", connection.conn_type, problem, remedy)
    extra = connection.extra_dejson
    keys = [extra.get(name) for name in ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")]
    asked = extra.get("assume_role_kwargs")
    external_id = asked.get("ExternalId") if isinstance(asked, dict) else None
    mask(connection.login, connection.password, external_id, *keys)
    return AmazonAccess(connection.conn_id, connection.login, connection.password, json.dumps(extra, sort_keys=True))


def mask(*secrets: str | None) -> None:
    """Register secrets with Airflow's mask, and for what the store keeps, in each form in which they may be written."""
    given = [text for text in secrets if text]
    know(given)
    mask_secret([form for text in given for form in forms(text)])


def no_such_connection(aws_conn_id: str) -> SettingsError:
    """Return the error for a connection that is not defined: the Amazon provider would go on without it."""
    problem = "is not a defined Airflow connection, and other credentials than you meant would be used"
    return SettingsError("aws_conn_id", aws_conn_id, problem, "Create it with the type aws, or leave aws_conn_id out")


def make_client(access: AmazonAccess, options: DynamoDBOptions) -> Any:
    """Return the low-level client of a DynamoDB store with the connection's credentials, role, endpoint and retries.

    A role in the store's options is assumed with what the connection gives, be that a role already.

    :raises SettingsError: when the connection makes no sense or its role cannot be assumed.
    :raises StoreUnavailableError: when the service that gives the role's credentials does not answer.
    """
    from airflow_coordination.stores.dynamodb.client import assuming

    with _told(access):
        hook = _hook(access, options.region)
        said = hook.conn_config
        session = hook.get_session(options.region)
        if options.sts_role_arn:
            session = assuming(session, options, endpoint_url=_endpoint(said, "sts"), verify=hook.verify)
        return session.client(
            "dynamodb",
            region_name=hook.region_name,
            endpoint_url=options.endpoint_url or _endpoint(said, "dynamodb"),
            config=hook.config,
            verify=hook.verify,
        )


def for_driver(access: AmazonAccess, options: DynamoDBOptions | None) -> tuple[dict[str, str], DynamoDBOptions | None]:
    """Return what a driver's environment gets for its own boto3 and Spark's S3, and the options it opens its store by.

    Where the driver can assume the connection's role by itself, it gets the role in its options and the keys to
    assume it, and goes on as long as it runs. Otherwise it gets the role's temporary credentials, which end.

    :param options: of its store in DynamoDB; ``None`` where the partitions are elsewhere.
    :raises SettingsError: when the connection makes no sense or its role cannot be assumed.
    :raises StoreUnavailableError: when the service that gives the role's credentials does not answer.
    """
    with _told(access):
        hook = _hook(access, options.region if options else None)
        said = hook.conn_config
        if options is not None and _can_assume(said, options):
            external_id = said.assume_role_kwargs.get("ExternalId")
            options = replace(options, sts_role_arn=said.role_arn, sts_external_id=external_id)
            keys = _own_keys(said)
        else:
            keys = _temporary_keys(hook) if said.role_arn else _own_keys(said)
        return {**keys, **_places(said)}, options


def for_driver_elsewhere(
    access: AmazonAccess, options: DynamoDBOptions | None
) -> tuple[dict[str, str], DynamoDBOptions | None] | None:
    """Return what a driver on another machine may be told in the open; ``None`` where it would need more.

    It has an identity of its own there. Of the connection it gets region, endpoints, and a role that it can
    assume for its store; keys, a profile of this machine, or a role that only its task can assume it would lack.

    :param options: of its store in DynamoDB; ``None`` where the partitions are elsewhere.
    :raises SettingsError: when the connection makes no sense.
    """
    with _told(access):
        said = _hook(access, options.region if options else None).conn_config
        assumes = options is not None and _can_assume(said, options)
        places = _places(said)
        if _own_keys(said) or (said.role_arn and not assumes) or "@" in "".join(places.values()):
            return None
        if options is not None and assumes:
            external_id = said.assume_role_kwargs.get("ExternalId")
            options = replace(options, sts_role_arn=said.role_arn, sts_external_id=external_id)
        return places, options


def _can_assume(said: AwsConnectionWrapper, options: DynamoDBOptions) -> bool:
    """Return whether a driver with the connection's own keys can assume its role through the store's options."""
    plain = said.assume_role_method == "assume_role" and said.assume_role_kwargs.keys() <= _ASKED_OF_A_ROLE
    return bool(said.role_arn) and plain and not options.sts_role_arn


def _own_keys(said: AwsConnectionWrapper) -> dict[str, str]:
    if said.aws_access_key_id and said.aws_secret_access_key:
        return _keys(said.aws_access_key_id, said.aws_secret_access_key, said.aws_session_token)
    return {"AWS_PROFILE": said.profile_name} if said.profile_name else {}


def _temporary_keys(hook: AwsBaseHook) -> dict[str, str]:
    found = hook.get_credentials()
    mask(found.access_key, found.secret_key, found.token)
    return _keys(found.access_key, found.secret_key, found.token)


def _keys(key_id: str, secret: str, token: str | None) -> dict[str, str]:
    """Return the variables; without a token an empty one, which hides the worker's own."""
    return {"AWS_ACCESS_KEY_ID": key_id, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": token or ""}


def _places(said: AwsConnectionWrapper) -> dict[str, str]:
    """Return the variables for the connection's region, of which boto3 and Java read one each, and its endpoints."""
    endpoints = {f"AWS_ENDPOINT_URL_{name.upper()}": _endpoint(said, name) for name in ("dynamodb", "s3", "sts")}
    regions = dict.fromkeys(("AWS_DEFAULT_REGION", "AWS_REGION"), said.extra_config.get("region_name"))
    return {name: text for name, text in (endpoints | regions).items() if text}


def _endpoint(said: AwsConnectionWrapper, service: str) -> str | None:
    """Return the connection's endpoint for a service; its general one is never that of STS (Amazon provider)."""
    endpoint: str | None = said.get_service_endpoint_url(service, sts_connection_assume=service == "sts")
    return endpoint


def _hook(access: AmazonAccess, region: str | None) -> AwsBaseHook:
    """Return the Amazon provider's hook on this connection, which was looked up already.

    The provider would look it up when a request needs it; in the triggerer that must not happen in a thread.
    """
    from botocore.config import Config

    from airflow_coordination.stores.dynamodb.client import CONFIG

    try:
        from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook
        from airflow.providers.amazon.aws.utils.connection_wrapper import AwsConnectionWrapper
    except ImportError as error:
        problem = f"needs Airflow's Amazon provider, which is not installed here ({error})"
        remedy = 'Run `pip install "airflow-coordination[amazon]"` here, or leave aws_conn_id out'
        raise SettingsError("aws_conn_id", access.conn_id, problem, remedy) from error
    said = AwsConnectionWrapper.from_connection_metadata(
        access.conn_id, access.login, access.password, json.loads(access.extra)
    )
    config = CONFIG.merge(said.botocore_config or Config())
    hook: AwsBaseHook = AwsBaseHook(access.conn_id, client_type="dynamodb", region_name=region, config=config)
    hook.conn_config = AwsConnectionWrapper(said, region_name=region, botocore_config=config)
    return hook


@contextmanager
def _told(access: AmazonAccess) -> Iterator[None]:
    """Make what boto3 and the provider raise ours; nothing was sent to the store yet."""
    from botocore.exceptions import ClientError, ConnectionError, HTTPClientError

    what = "use its aws connection"
    try:
        yield
    except CoordinationError:
        raise
    except (ConnectionError, HTTPClientError) as error:
        raise StoreUnavailableError(what, f"{access.conn_id}: {error}") from error
    except ClientError as error:
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
        if status >= 500 or "Throttl" in error.response["Error"]["Code"]:
            raise StoreUnavailableError(what, f"{access.conn_id}: {error}") from error
        raise _unusable(access, error, "Check the role's trust policy, its external id and the keys") from error
    except Exception as error:  # whatever the provider and botocore make of a connection that makes no sense
        raise _unusable(access, error, "Correct the connection; Airflow's Amazon provider documents it") from error


def _unusable(access: AmazonAccess, error: Exception, remedy: str) -> SettingsError:
    return SettingsError("aws_conn_id", access.conn_id, f"cannot be used: {error}", remedy)
