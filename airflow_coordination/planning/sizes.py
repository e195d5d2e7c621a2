"""Sizes in bytes, as people write them: ``256MiB``, ``100GB``."""

from __future__ import annotations

import re
from typing import Final

from airflow_coordination.values.input_errors import InvalidInputError

_FORM: Final = re.compile(r"(?P<number>\d{1,15}) ?(?P<unit>[kKMGT]i?B|B)?", re.ASCII)
_UNITS: Final = {"": 1, "b": 1} | {
    f"{letter}{ending}": base**power
    for power, letter in enumerate("kmgt", 1)
    for ending, base in (("b", 1_000), ("ib", 1_024))
}
_REMEDY: Final = "Give a whole number of bytes, or a text such as 256MiB or 100GB"


def parse_size(name: str, value: object) -> int:
    """Return a number of bytes: a number as it is, or what a text says.

    :param name: the field, for the error.
    :param value: above zero. ``k``, ``M``, ``G`` and ``T`` before ``B`` are powers of 1,000, before ``iB`` of 1,024.
    :raises InvalidInputError: naming the field, the value and what to write instead.
    """
    if isinstance(value, str):
        form = _FORM.fullmatch(value.strip())
        if form is None:
            raise InvalidInputError(name, value, "is no size", _REMEDY)
        number = int(form["number"]) * _UNITS[(form["unit"] or "").lower()]
        return parse_size(name, number) if number else _refuse(name, value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        return _refuse(name, value)
    return value


def _refuse(name: str, value: object) -> int:
    raise InvalidInputError(name, value, "is no whole number above zero", _REMEDY)
