"""The address of a Spark Connect server, from its Airflow connection."""

from __future__ import annotations

from urllib.parse import quote

from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook
from airflow.providers.common.compat.sdk import AirflowNotFoundException

from airflow_coordination.hooks.amazon import mask
from airflow_coordination.values.input_errors import SettingsError

_REMEDY = f"Create it with the type {SparkConnectHook.conn_type}, for example with host localhost and port 15002"


def server_url(conn_id: str) -> str:
    """Return the ``sc://…`` URL of a connection; it may hold a token, which Airflow then masks in every log.

    :raises SettingsError: when the connection is not defined, of another type, or names no server.
    """
    hook = SparkConnectHook(conn_id)
    try:
        connection = hook.get_connection(conn_id)
    except AirflowNotFoundException as error:
        raise SettingsError("conn_id", conn_id, "is not a defined Airflow connection", _REMEDY) from error
    if connection.conn_type != hook.conn_type:
        raise SettingsError("conn_id", conn_id, f"is a connection of type {connection.conn_type}", _REMEDY)
    if not connection.host:
        raise SettingsError("conn_id", conn_id, "is a connection without a host", _REMEDY)
    url = str(hook.get_connection_url())
    for text in filter(None, (connection.login, connection.password)):
        url = url.replace(
            f"={quote(text)}", f"={quote(text, safe='')}"
        )  # the hook leaves a / as it is, pyspark does not
    mask(connection.password)
    return url
