"""The traces of ``holes.txt``: for each rule, the shortest way in which a promise is broken without it.

They come from the model that the protocol was first checked with; those of H37 are what ``python -m tests.model
--traces`` prints, written in its words. A line is what somebody does, then the partition as it is afterwards:
``store applies save op3 (answer lost) -> ASSIGNED tok=1 nonce=op2 lastOp=op3 prog=1 closed=0``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("holes.txt")
_HEADING = re.compile(r"##### (?P<name>\w+) (?P<title>.*?) +\[loose: .*\]")
_LINE = re.compile(r" +(?P<number>\d+)\. (?P<said>.*?)(?: -> (?P<state>[A-Za-z]+ tok=.*))?$")
_STATE = re.compile(
    r"(?P<status>\w+) tok=(?P<token>\d+) nonce=(?P<nonce>op\d+) lastOp=(?P<last>op\d+) prog=(?P<prog>\d)"
)
_SAID = (
    re.compile(
        r"store (?P<verb>applies|refuses) (?P<kind>\S+) (?P<op>op\d+)(?:, (?P<who>W\d) learns it: (?P<told>\w+))?"
    ),
    re.compile(r"(?P<who>W\d) (?P<verb>learns) (?P<kind>renew) (?P<op>op\d+): (?P<told>\w+)"),
    re.compile(r"(?P<who>W\d|sweep|person|supplier) (?:\(.*?\) )?(?P<verb>sends) (?P<kind>.+?) (?P<op>op\d+)"),
    re.compile(r"(?P<who>W\d) \(try \d\) (?P<verb>adopts) the running driver, (?P<op>op\d+)"),
    re.compile(r"(?P<who>W\d) = second driver process (?P<verb>starts) with the lease handed to W0"),
    re.compile(r"(?P<who>W\d) (?P<verb>does not find) (?P<op>op\d+)"),
    re.compile(r"(?P<verb>TTL deletes) the item"),
)


@dataclass(frozen=True, slots=True)
class Seen:
    """The partition as a trace shows it."""

    status: str
    token: int
    nonce: str
    last_op: str
    progress: int


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a trace.

    :param verb: what is done: ``sends``, ``applies``, ``refuses``, ``learns``, ``starts``, …
    :param told: what the sender learns, empty where the answer is lost.
    """

    number: int
    said: str
    verb: str
    who: str = ""
    kind: str = ""
    op: str = ""
    told: str = ""
    state: Seen | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """One rule loosened, and what comes of it."""

    name: str
    title: str
    violation: str
    steps: tuple[Step, ...]

    @property
    def own_try(self) -> bool:
        """Whether its workers are tries of one task."""
        return any("(try" in step.said for step in self.steps)


def op_id(name: str) -> str:
    """Return ``op3`` as an operation id; ``op0`` stands for none."""
    number = int(name.removeprefix("op"))
    return f"{number:024x}" if number else ""


@cache
def traces() -> dict[str, Trace]:
    """Return all traces by name."""
    found = {}
    for part in re.split(r"\n(?=##### )", FILE.read_text()):
        heading, violation, *lines = part.splitlines()
        named = _HEADING.match(heading)
        assert named, heading
        steps = tuple(_step(line) for line in lines if _LINE.match(line))
        found[named["name"]] = Trace(named["name"], named["title"], violation.removeprefix("VIOLATION "), steps)
    return found


def _step(line: str) -> Step:
    parts = _LINE.match(line)
    assert parts, line
    said = next((found for form in _SAID if (found := form.match(parts["said"]))), None)
    assert said, f"nobody understands: {parts['said']}"
    return Step(int(parts["number"]), parts["said"], **said.groupdict(default=""), state=_state(parts["state"]))


def _state(text: str | None) -> Seen | None:
    if text is None:
        return None
    parts = _STATE.match(text)
    assert parts, text
    return Seen(parts["status"], int(parts["token"]), op_id(parts["nonce"]), op_id(parts["last"]), int(parts["prog"]))
