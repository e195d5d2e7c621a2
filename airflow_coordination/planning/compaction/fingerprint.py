"""What files were merged with, as a text to compare, and how two of them differ, in words.

Done is what was merged with the present configuration, however many files it has: a count of files would merge the same
chunk for ever (Druid issue 8481).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from airflow_coordination.values.input_errors import InvalidInputError


def fingerprint(spec: Mapping[str, Any]) -> str:
    """Return the same text for the same configuration, in whatever order it was written; what is null says nothing.

    :raises InvalidInputError: when a value cannot be written as JSON.
    """
    try:
        said = {name: value for name, value in spec.items() if value is not None}
        return json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        problem = f"cannot be written as JSON ({error})"
        raise InvalidInputError("spec", spec, problem, "Give texts, finite numbers, lists and objects") from None


def differences(spec: Mapping[str, Any], merged_with: Mapping[str, Any]) -> list[str]:
    """Return in words what the configuration asks for and the files do not have; what it does not say is of no matter.

    :raises InvalidInputError: when a value cannot be written as JSON.
    """
    return [
        f"{name}: {_told(merged_with.get(name))} → {_told(value)}"
        for name, value in spec.items()
        if value is not None and fingerprint({name: value}) != fingerprint({name: merged_with.get(name)})
    ]


def _told(value: object) -> str:
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
