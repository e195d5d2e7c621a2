"""The options of a ``dynamodb`` store: Data Prepper's eight with its defaults, and three of our own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, Final, Never
from urllib.parse import parse_qsl, urlencode

from airflow_coordination.stores.addresses import NOT_SHOWN, plain_name
from airflow_coordination.stores.config import OPTION, retention_of
from airflow_coordination.values.input_errors import SettingsError
from airflow_coordination.values.settings import check_known
from airflow_coordination.values.times import LONGEST

DEFAULT_UNITS: Final = 10
BILLING_MODES: Final = ("provisioned", "on_demand")
_WHERE: Final = "source_coordination.store.dynamodb"
SECOND: Final = timedelta(seconds=1)
MICROSECOND: Final = timedelta(microseconds=1)
SHORTEST_TTL: Final = timedelta(hours=1)
"""Well above the 15 minutes for which the service accepts a request: the create that made an item must find it, should
it come again, or all that was sent under the item's first fences would count once more (promise S1)."""
_TABLE_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{3,255}")
_ROLE: Final = re.compile(r"arn:[\w-]+:iam::\d{12}:role/\S+")
_REGION: Final = re.compile(r"[a-z]{2,}(-[a-z0-9]+)+")
_DURATION: Final = re.compile(
    r"P(?:(\d{1,18})D)?(?:T(?=\d)(?:(\d{1,18})H)?(?:(\d{1,18})M)?(?:(\d{1,18})(?:[.,](\d{0,9}))?S)?)?", re.IGNORECASE
)
_SIMPLE: Final = re.compile(r"\s*(0|[1-9]\d{0,17})\s*(s|ms)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamoDBOptions:
    """Where the table is and how it is made (Data Prepper: ``source_coordination.store.dynamodb``).

    :param table_name: the table.
    :param region: its region; the session's own when ``None``.
    :param sts_role_arn: the role that holds the permissions; the session's own credentials when ``None``.
    :param sts_external_id: the external id used to assume it.
    :param skip_table_creation: use an existing table as it is.
    :param provisioned_write_capacity_units: of the table and of its index, each; 10.
    :param provisioned_read_capacity_units: of the table and of its index, each; 10.
    :param ttl: how long COMPLETED partitions are kept; for ever when ``None``.
    :param history_retention: how long a row of each ended tenure is kept; no row is written when ``None``. Ours.
    :param billing_mode: ``provisioned``, or ``on_demand``, which we recommend. Ours.
    :param endpoint_url: another endpoint than Amazon's, such as DynamoDB Local's. Ours.
    """

    table_name: str
    region: str | None = None
    sts_role_arn: str | None = None
    sts_external_id: str | None = field(default=None, repr=False)
    skip_table_creation: bool = False
    provisioned_write_capacity_units: int = DEFAULT_UNITS
    provisioned_read_capacity_units: int = DEFAULT_UNITS
    ttl: timedelta | None = None
    history_retention: timedelta | None = None
    billing_mode: str = "provisioned"
    endpoint_url: str | None = None

    def __reduce__(self) -> Never:
        raise TypeError("DynamoDBOptions may hold an external id and are not pickled; send what names the store")

    @property
    def url(self) -> str:
        """The store as a URL that opens it; its external id is for those who need to know it."""
        return self._url(_CHECKS)

    @property
    def expiring(self) -> tuple[str, timedelta] | None:
        """The option that asks for the table's time to live, and for how long; ``None`` when none does."""
        asked = (("ttl", self.ttl), (OPTION, self.history_retention))
        return next(((name, kept) for name, kept in asked if kept is not None), None)

    @property
    def public_url(self) -> str:
        """The store as a URL for people and logs."""
        return self._url(name for name in _CHECKS if name != "sts_external_id")

    def _url(self, names: Iterable[str]) -> str:
        given = {name: _text(getattr(self, name)) for name in names if getattr(self, name) != _DEFAULTS[name]}
        if self.history_retention and OPTION in given:
            given[OPTION] = str(self.history_retention.days)
        return f"dynamodb://{self.table_name}" + (f"?{urlencode(given)}" if given else "")


def _text(value: object) -> str:
    if isinstance(value, timedelta):
        return f"PT{value // SECOND}" + (f".{value % SECOND // MICROSECOND:06}S" if value % SECOND else "S")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrong(name: str, value: object, problem: str, remedy: str) -> SettingsError:
    return SettingsError(f"{_WHERE}.{name}", value, problem, remedy)


def _shown(name: str, value: object) -> object:
    """Return what a message may show of a value."""
    secret = name == "sts_external_id" or "@" in str(value) or (name == "table_name" and ":" in str(value))
    return NOT_SHOWN if secret else value


def _matching(pattern: re.Pattern[str], what: str, example: str) -> Callable[[str, object], str]:
    def check(name: str, value: object) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            copied = "#" in str(value)
            problem = f"is no {what}" + (
                ": a documentation's example, with # for its account's digits" if copied else ""
            )
            raise _wrong(name, _shown(name, value), problem, f"Write it like {example}")
        return value

    return check


def _truth(name: str, value: object) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise _wrong(name, value, "is neither true nor false", "Write true or false")
    return text == "true"


def _units(name: str, value: object) -> int:
    """Return a number of units; 10.0 is one, and 1.5, which Data Prepper cuts off, is not."""
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    number = int(whole) if isinstance(whole, int | str) and str(whole).isdecimal() else 0
    if number < 1 or isinstance(value, bool):
        raise _wrong(name, value, "is no number of capacity units", "Give a whole number above zero")
    return number


def parse_duration(name: str, value: object) -> timedelta:
    """Return a duration as Data Prepper reads it: ISO-8601 of days and below, or a number of ``s`` or ``ms``.

    What is below a microsecond is cut off.

    :raises SettingsError: when it is something else. Negative ones are different on purpose: Data Prepper reads them.
    """
    micros = _micros(value) if isinstance(value, str) else 0
    if not micros:
        days = value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 7
        raise _wrong(name, value, "is no ISO-8601 duration", f"Write P{days}D for {days} days, or PT12H for 12 hours")
    if micros > LONGEST // MICROSECOND:
        raise _wrong(name, value, "is longer than 100 years", "Write a shorter one")
    return timedelta(microseconds=micros)


def _micros(text: str) -> int:
    """Return how many microseconds a duration has, 0 when it is none."""
    if simple := _SIMPLE.fullmatch(text):
        return int(simple[1]) * (1_000 if simple[2] == "ms" else 1_000_000)
    match = _DURATION.fullmatch(text)
    if match is None:
        return 0
    days, hours, minutes, seconds, fraction = match.groups(default="0")
    whole = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    return whole * 1_000_000 + int(fraction.ljust(6, "0")[:6])


def _ttl(name: str, value: object) -> timedelta:
    duration = parse_duration(name, value)
    if duration < SHORTEST_TTL:
        problem = "is shorter than an hour, and a late message could create a completed partition anew"
        raise _wrong(name, value, problem, "Write PT1H or more; P7D is usual")
    return duration


def _billing(name: str, value: object) -> str:
    if value not in BILLING_MODES:
        raise _wrong(name, value, "is no billing mode", f"Use one of {', '.join(BILLING_MODES)}")
    return str(value)


_table_name = _matching(_TABLE_NAME, "table name of 3 to 255 letters, digits, - _ .", "SourceCoordinationStore")
_CHECKS: Final[dict[str, Callable[[str, Any], Any]]] = {
    "region": _matching(_REGION, "region", "us-east-1"),
    "sts_role_arn": _matching(_ROLE, "ARN of a role", "arn:aws:iam::123456789012:role/SourceCoordinationTableRole"),
    "sts_external_id": _matching(re.compile(r"[\w+=,.@:/-]{2,1224}"), "external id", "my-team-7f3a"),
    "skip_table_creation": _truth,
    "provisioned_write_capacity_units": _units,
    "provisioned_read_capacity_units": _units,
    "ttl": _ttl,
    OPTION: lambda _, value: retention_of(value),
    "billing_mode": _billing,
    "endpoint_url": _matching(re.compile(r"https?://[^\s@]+"), "endpoint", "http://localhost:8000"),
}
_MAY_BE_EMPTY: Final = ("sts_role_arn", "sts_external_id")
"""Data Prepper takes an empty one for none, as configurations that are filled in from a template have it."""
_DEFAULTS: Final = {field.name: field.default for field in fields(DynamoDBOptions)}


def options_of(url: str, configured: Mapping[str, Any]) -> DynamoDBOptions:
    """Return the checked options of a store.

    :param url: ``dynamodb://TABLE``, with options in its query.
    :param configured: options of a ``source_coordination`` object; absent and null mean the default, as an empty role
        or external id does (Data Prepper).
    :raises SettingsError: naming the option, its value and what to write instead.
    """
    place, _, text = url.partition("://")[2].partition("?")
    given = dict(parse_qsl(text, keep_blank_values=True)) | {k: v for k, v in configured.items() if v is not None}
    given = {option: value for option, value in given.items() if not (option in _MAY_BE_EMPTY and value == "")}
    name = given.pop("table_name", None) or place.rstrip("/")
    if any("=" not in part for part in text.split("&") if part):
        raise SettingsError("store", NOT_SHOWN, "has an option without a value", "Write ?region=us-east-1&…")
    check_known([*map(plain_name, given)], list(_CHECKS), _WHERE)
    _matching(_TABLE_NAME, "table name of 3 to 255 letters, digits, - _ .", "SourceCoordinationStore")(
        "table_name", name
    )
    options = {option: _CHECKS[option](option, value) for option, value in given.items()}
    if "sts_external_id" in options and "sts_role_arn" not in options:
        raise _wrong("sts_external_id", "…", "belongs to a role, and none is named", "Give sts_role_arn, too")
    return DynamoDBOptions(table_name=name, **options)
