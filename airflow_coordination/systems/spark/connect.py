"""A Spark Connect session of one's own, on a server that may stop answering at any time."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from airflow_coordination.systems.spark.error_text import error_text

log = logging.getLogger(__name__)

CONNECT_WITHIN: Final = 60.0
"""Seconds a Spark Connect server has to answer a new session."""
ANSWER_WITHIN: Final = 5.0
"""Seconds it has to answer small requests later; pyspark's own client waits for ever (SPARK-56538)."""
_ANY_SETTING: Final = "spark.sql.session.timeZone"
"""Read to hear from the server; the client remembers the server's version."""
_MODE: Final = "SPARK_CONNECT_MODE_ENABLED"

Result = TypeVar("Result")


def within(seconds: float, call: Callable[[], Result]) -> Result:
    """Return the result of ``call`` from a thread of its own that is left alone when time is up.

    :raises TimeoutError: when it does not return in time.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="spark-connect", daemon=True).start()
    return future.result(seconds)


@contextmanager
def connect_session(url: str, config: Mapping[str, Any]) -> Iterator[Any]:
    """Give a new session on a server, shared with nobody; the server ends what is left of it at the end.

    :param url: ``sc://…``; may hold a token.
    :param config: settings of the session.
    :raises ConnectionError: when the server does not answer within a minute, or ``url`` is none.
    """
    mode = os.environ.get(_MODE)
    spark = _session(url)
    try:
        _greet(spark, config)
        yield spark
    finally:
        _leave(spark)
        if mode is None:  # or every later session of this process would have to be on Spark Connect
            os.environ.pop(_MODE, None)


def _session(url: str) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        return SparkSession.builder.remote(url).create()
    except PySparkException as error:
        raise ConnectionError(error_text(error)) from None  # its own text may quote the token


def _greet(spark: Any, config: Mapping[str, Any]) -> None:
    def greet() -> None:
        spark.conf.get(_ANY_SETTING)
        log.info("Spark Connect server of version %s, session %s", spark.version, spark.session_id)
        for name, value in config.items():
            spark.conf.set(name, value)

    try:
        within(CONNECT_WITHIN, greet)
    except TimeoutError as error:
        _close(spark)
        raise ConnectionError(
            f"The Spark Connect server at {spark.client.host} does not answer within {CONNECT_WITHIN:g} seconds: it is "
            "down, another service has this port, or only one side speaks TLS (a token makes the client do so)"
        ) from error


def _leave(spark: Any) -> None:
    if spark.is_stopped or not spark.release_session_on_close:
        return
    try:
        within(ANSWER_WITHIN, spark.client.release_session)
    except Exception as error:
        log.warning("The session %s is left to the server's own timeout: %s", spark.session_id, error_text(error))
        _close(spark)
    else:
        spark.release_session_on_close = False
        spark.stop()


def _close(spark: Any) -> None:
    """Close the client, in a thread of its own because it waits for its requests, without a word to the server."""
    spark.release_session_on_close = False
    threading.Thread(target=spark.stop, name="spark-connect-stop", daemon=True).start()


def answers(spark: Any) -> bool:
    """Return whether the server still knows the session."""
    if spark.is_stopped:
        return False
    try:
        within(ANSWER_WITHIN, lambda: spark.conf.get(_ANY_SETTING))
    except Exception as error:
        log.warning("The Spark Connect session no longer works: %s", error_text(error))
        return False
    return True
