"""One order of words, ``COMMAND SOURCE [KEY] --options``, whatever the order they were typed in.

argparse takes an optional word for missing when an option stands before it, and on Airflow's command line the parser is
not ours. So each parser is taught to sort what was typed before it reads it. ``--source`` is taken for one version.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_coordination.cli.command import Option
from airflow_coordination.cli.output import say
from airflow_coordination.protocol.remedies import quoted
from airflow_coordination.values.scrubbing import without_secrets

GOES_WITH: Final = "0.3"
"""The version that takes ``--source`` no more."""
_OLD: Final = "--source"
_SHORTEST: Final = len("--so")
"""argparse took names of options that are cut short; shorter ones stood for others, too."""
_NUMBER: Final = re.compile(r"-\d+|-\d*\.\d+")


@dataclass(slots=True)
class Line:
    """What was typed behind the name of a command.

    :param words: the source, the key and others that are no options.
    :param options: options with their values.
    :param source: what ``--source`` named.
    """

    words: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    source: str | None = None

    @property
    def sorted(self) -> list[str]:
        """The same in the order that is read; behind two dashes a word that looks like an option is none."""
        words = self.words if self.source is None else [self.source, *self.words]
        if any(word.startswith("-") and word != "-" for word in words):
            return [*self.options, "--", *words]
        return [*words, *self.options]


def read(options: Sequence[Option], typed: Sequence[str]) -> Line:
    """Sort what was typed into words and options.

    :param options: those of the command: with one of them, the next word may be its value.
    :param typed: the words behind the command's name.
    """
    line, rest = Line(), list(typed)
    takes_old = any("source" in option.flags for option in options)
    while rest:
        word = rest.pop(0)
        if word == "--":
            line.words.extend(rest)
            return line
        if not _is_option(options, word):
            line.words.append(word)
        elif takes_old and line.source is None and (found := _old_source(word, rest)) is not None:
            line.source = found
        else:
            line.options.append(word)
            if _wants_a_value(options, word) and rest:
                line.options.append(rest.pop(0))
    return line


def teach(parser: argparse.ArgumentParser, options: Sequence[Option]) -> None:
    """Let the parser of a command read its words in any order, and say how ``--source`` is typed from now on.

    :param parser: it may be one of Airflow's.
    """
    plain = parser.parse_known_args

    def parse_known_args(args: Any = None, namespace: Any = None) -> Any:
        line = read(options, sys.argv[1:] if args is None else args)
        if line.source is not None:
            said = " ".join([parser.prog, *map(quoted, line.sorted)])
            say(f"Deprecated: {_OLD} goes with version {GOES_WITH}. Type instead: {without_secrets(said)}")
        return plain(line.sorted, namespace)

    parser.parse_known_args = parse_known_args  # type: ignore[method-assign]


def _is_option(options: Sequence[Option], word: str) -> bool:
    """Return what argparse takes for an option: neither a number nor what has a blank, unless it is a known one."""
    if len(word) < 2 or not word.startswith("-"):
        return False
    return bool(_near(options, word)) or not (_NUMBER.fullmatch(word) or " " in word.partition("=")[0])


def _old_source(word: str, rest: list[str]) -> str | None:
    """Return the value of ``--source``, taken from what follows; ``None`` where this is no such option, or has none."""
    name, equal, value = word.partition("=")
    if len(name) < _SHORTEST or not _OLD.startswith(name):
        return None
    if equal:
        return value
    return rest.pop(0) if rest and not rest[0].startswith("-") else None


def _wants_a_value(options: Sequence[Option], word: str) -> bool:
    """Return whether the value of an option is the next word, and neither in this one nor missing."""
    if "=" in word:
        return False
    if word.startswith("--"):
        return any(map(_has_value, _near(options, word)))
    for at, letter in enumerate(word[1:], start=2):  # -y -o json may be one word: -yo json
        if any(map(_has_value, _near(options, f"-{letter}"))):
            return at == len(word)
    return False


def _near(options: Sequence[Option], word: str) -> list[Option]:
    """Return the option of this name; otherwise those whose names begin so, as argparse takes them."""
    name = word.partition("=")[0]
    exact = [option for option in options if name in option.flags]
    if exact or not name.startswith("--"):
        return exact or [option for option in options if name[:2] in option.flags]
    return [option for option in options if any(flag.startswith(name) for flag in option.flags)]


def _has_value(option: Option) -> bool:
    return option.settings.get("action") in (None, "append")
