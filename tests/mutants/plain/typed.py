"""mypy over a file with all mutants of it, for mutmut: ``python -m tests.mutants.plain.typed mypy PLACE``.

A file of mutants holds each function many times, and mutmut's own lines. What mypy says of these is left out: whoever
repeats an attribute's annotation has broken nothing. The functions as they are stand among them, and of these mypy says
nothing else.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Final

from mypy import api

OF_MUTMUT: Final = {"ignore-without-code", "no-redef", "unused-ignore"}


def said(places: list[str]) -> Iterator[str]:
    """Yield what mypy says of the mutants, a line of JSON for each error.

    :raises SystemExit: when mypy itself fails; it says why.
    """
    out, failed, code = api.run(["--output", "json", *places])
    if failed or code > 1:
        raise SystemExit(failed or out)
    for line in filter(None, out.splitlines()):
        if json.loads(line)["code"] not in OF_MUTMUT:
            yield line


if __name__ == "__main__":
    for error in said(sys.argv[2:]):  # mutmut reads an answer by the word mypy in its command
        print(error)
