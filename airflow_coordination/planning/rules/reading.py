"""Rules from Druid's JSON, strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from airflow_coordination.planning.intervals import parse_interval
from airflow_coordination.planning.periods import parse_period
from airflow_coordination.planning.rules.rule import DEFAULT_REPLICAS, Rule, RuleType
from airflow_coordination.values.input_errors import InvalidInputError

_KEYS: Final = ("type", "interval", "period", "includeFuture", "tieredReplicants")


def read_rules(name: str, documents: object) -> list[Rule]:
    """Return the rules of a list of JSON objects, in its order.

    :param name: the field, for errors.
    :raises InvalidInputError: naming the field, the value and what to write instead.
    """
    if not isinstance(documents, Sequence) or isinstance(documents, str):
        raise InvalidInputError(name, documents, "is no list of rules", 'Write [{"type": "loadForever"}]')
    return [read_rule(f"{name}[{number}]", document) for number, document in enumerate(documents)]


def read_rule(name: str, document: object) -> Rule:
    """Return the rule of a JSON object.

    :raises InvalidInputError: naming the field, the value and what to write instead.
    """
    if not isinstance(document, Mapping):
        raise InvalidInputError(name, document, "is no rule", 'Write {"type": "loadByPeriod", "period": "P30D"}')
    for key in document:
        if key not in _KEYS:
            raise InvalidInputError(f"{name}.{key}", document[key], "is unknown", _nearest(str(key), _KEYS))
    kind = _type(name, document.get("type"))
    interval, period = document.get("interval"), document.get("period")
    future = document.get("includeFuture", True)
    if not isinstance(future, bool):
        problem = "is neither true nor false"
        raise InvalidInputError(f"{name}.includeFuture", future, problem, "Write true or false, without quotes")
    _check_belongs(name, document, kind)
    return Rule(
        kind,
        None if interval is None else parse_interval(f"{name}.interval", interval),
        None if period is None else parse_period(f"{name}.period", period, zero=False),
        future,
        _tiers(name, document.get("tieredReplicants")),
    )


def _type(name: str, value: object) -> RuleType:
    if value not in tuple(RuleType):
        remedy = _nearest(value, tuple(RuleType)) if isinstance(value, str) else f"Use {', '.join(RuleType)}"
        raise InvalidInputError(f"{name}.type", value, "is no type of a rule", remedy)
    return RuleType(str(value))


def _check_belongs(name: str, document: Mapping[str, Any], kind: RuleType) -> None:
    wanted = {"interval": kind.by_interval, "period": kind.by_period, "tieredReplicants": kind.loads}
    for key, belongs in wanted.items():
        if document.get(key) is not None and not belongs:
            raise InvalidInputError(f"{name}.{key}", document[key], f"does not go with {kind}", "Leave it out")
        if document.get(key) is None and belongs and key != "tieredReplicants":
            raise InvalidInputError(f"{name}.{key}", None, f"is missing for {kind}", f"Give the {key}")


def _tiers(name: str, value: object) -> Mapping[str, int]:
    if value is None:
        return DEFAULT_REPLICAS
    if not isinstance(value, Mapping) or not value:
        problem = "is no object of tiers"
        raise InvalidInputError(f"{name}.tieredReplicants", value, problem, 'Write {"hot": 1, "archive": 1}')
    return dict(value)


def _nearest(value: str, known: Sequence[str]) -> str:
    near = get_close_matches(value, known, 1)
    return f"Did you mean {near[0]}? Known are {', '.join(known)}" if near else f"Use {', '.join(known)}"
