"""The patience of a sink: how long it repeats what may succeed in a moment."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.times import positive
from airflow_coordination.values.vendored import look_among_vendored

if TYPE_CHECKING:
    import tenacity

RETRY_FOR: Final = timedelta(minutes=1)
"""How long an answer such as 429 or 503 is repeated, unless it is said."""
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 5.0


class TransientError(Exception):
    """The same request may succeed in a moment."""


def patient(retry_for: timedelta) -> tenacity.Retrying:
    """Return what repeats a call as long as it raises :class:`TransientError`, with growing random waits.

    The last error is raised when ``retry_for`` is over.
    """
    try:
        import tenacity
    except ModuleNotFoundError:  # the operator's archive brings one for images that lack it
        look_among_vendored()
        import tenacity
    return tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(TransientError),
        wait=tenacity.wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT),
        stop=tenacity.stop_after_delay(retry_for),
        reraise=True,
    )


def check_sink(retry_for: timedelta, bulk_records: object, *, field: str = "retry_for") -> None:
    """Refuse settings that no sink can work with.

    :raises InvalidInputError: naming the setting.
    """
    positive(field, retry_for)
    if not isinstance(bulk_records, int) or isinstance(bulk_records, bool) or bulk_records < 1:
        raise InvalidInputError("bulk_records", bulk_records, "is not a positive whole number", "Give 1 or more")
