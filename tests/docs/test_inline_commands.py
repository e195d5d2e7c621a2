"""Commands on pages beside ``airflow coordination …``, which :mod:`~.test_commands` has: each is one.

A target of ``make`` with variables that it knows, a module with arguments that it takes, a command of Airflow's, a
script that is there, an extra that the package has. :mod:`~.test_others_run` runs what takes seconds; this is what a
page says.
"""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from argparse import ArgumentParser
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from runpy import run_module

import pytest

from benchmarks.registry import MODULES
from tests.docs.pages import PAGES, ROOT, label
from tests.docs.test_commands import FENCED, NAMES, PAGES_TODAY, SHELLS, STAND_IN, commands_of, words_of, wrong

MORE = [ROOT / "CONTRIBUTING.md", ROOT / "benchmarks/README.md"]
"""Pages that are no part of the documentation, and say what to type."""
CHANGES = ROOT / "CHANGELOG.md"
"""It has the words of each day, so of its commands only the names are looked at."""
PROGRAMS = ("make", "python -m", "airflow", "pip install", "uv pip install", "scripts/")
BEGINS = re.compile(rf"(?:\.venv/bin/)?(?:python )?({'|'.join(map(re.escape, PROGRAMS))})")
INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
OURS = ("airflow_coordination", "benchmarks", "scripts", "tests")
ELSEWHERE = re.compile(r"airflow( coordination|[._\d-]| name)|python -m airflow_coordination( |$)")
"""What begins as a program, and is another one, or a name."""
PLACEHOLDER = re.compile(r"[A-Z]{2,}|…|<.*>")
"""What stands for something that the reader knows."""


class Taken(Exception):
    """A command line was read: nothing of it is to be done."""


def typed(text: str) -> Iterator[str]:
    """Yield what a page says one may type: in its text between backticks, and in blocks of shells."""
    for code in INLINE.findall(FENCED.sub("", text)):
        yield " ".join(code.replace("\\|", "|").split())
    for kind, block in FENCED.findall(text):
        if kind in SHELLS - {"", "text"}:
            for line in block.replace("\\\n", " ").splitlines():
                yield from (part.strip() for part in line.strip().removeprefix("$ ").split("&&"))


def commands(text: str) -> Iterator[list[str]]:
    """Yield the words of each command that this file looks at, without comments and what comes behind a pipe."""
    for code in typed(text):
        if ELSEWHERE.match(code) or not BEGINS.match(code):
            continue
        try:
            words = shlex.split(re.split(r"\s[|>&;]", code)[0], comments=True)
        except ValueError:  # an apostrophe: no command
            continue
        yield words[1:] if words[0].startswith(".venv/") else words


def problem(words: list[str]) -> str | None:
    """Return what is wrong with a command, ``None`` if it is one."""
    program, *rest = words
    if program == "make":
        return no_target(rest)
    if program == "python" and rest[:1] == ["-m"]:
        return no_module(rest[1], rest[2:]) if len(rest) > 1 and rest[1].split(".")[0] in OURS else None
    if program == "airflow":
        return no_command_of_airflow(tuple(rest))
    if "install" in rest:
        return next((f"there is no extra {each!r}" for each in extras_in(rest) if each not in extras()), None)
    path = rest[0] if program == "python" and rest else program
    return None if not path.startswith("scripts/") or (ROOT / path).exists() else f"there is no {path}"


@cache
def makefile() -> str:
    return (ROOT / "Makefile").read_text()


def no_target(words: list[str]) -> str | None:
    """Return what ``make`` has against its arguments: a target or a variable that is none, or no benchmark's name."""
    for word in words:
        name, is_variable, value = word.partition("=")
        if PLACEHOLDER.fullmatch(word):
            continue
        if not is_variable and not re.search(rf"^{re.escape(word)}:", makefile(), re.MULTILINE):
            return f"make {word} is no target"
        if is_variable and f"$({name})" not in makefile() and f"${{{name}" not in makefile():
            return f"{name} is no variable of the Makefile"
        if words[0] == "bench" and name == "NAME" and value not in MODULES and not PLACEHOLDER.fullmatch(value):
            return f"{value} is no benchmark"
    return None


def no_module(module: str, arguments: list[str]) -> str | None:
    """Return what a module's own command line has against these arguments."""
    place = ROOT.joinpath(*module.split("."))
    main = place / "__main__.py" if place.is_dir() else place.with_suffix(".py")
    if not main.exists():
        return f"there is no module {module}"
    beside = re.findall(rf"^from ((?:{'|'.join(OURS)})[\w.]*) import", main.read_text(), re.MULTILINE)
    files = [main, *(ROOT.joinpath(*each.split(".")).with_suffix(".py") for each in beside)]
    if not any(each.exists() and "parse_args(" in each.read_text() for each in files):
        return f"{module} takes no arguments" if arguments else None
    return refused(module, [STAND_IN.get(each, each) for each in arguments if not PLACEHOLDER.fullmatch(each)])


def refused(module: str, arguments: list[str]) -> str | None:
    """Return why a module does not take arguments, without doing what they say: reading them is where it ends."""
    read = ArgumentParser.parse_args

    def taken(self: ArgumentParser, *given: object, **named: object) -> None:
        read(self, *given, **named)  # type: ignore[arg-type]
        raise Taken

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArgumentParser, "parse_args", taken)
        patch.setattr(sys, "argv", [module, *arguments])
        try:
            run_module(module, run_name="__main__")
        except Taken:
            return None
        except SystemExit as stopped:
            return f"python -m {module} {shlex.join(arguments)} exits with {stopped.code}"
    return f"{module} reads no arguments"


@cache
def of_airflow() -> ArgumentParser:
    from airflow.cli.cli_parser import get_parser

    return get_parser()


def no_command_of_airflow(words: tuple[str, ...]) -> str | None:
    """Return whether Airflow has no such command; of one that stands alone its name is enough."""
    try:
        of_airflow().parse_args(words)
    except SystemExit:
        known = subparsers(of_airflow())
        for word in words:
            if word not in known:
                return f"Airflow does not take: airflow {shlex.join(words)}"
            known = subparsers(known[word])
    return None


def subparsers(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    """Return the commands behind one."""
    groups = parser._subparsers._group_actions if parser._subparsers else []
    return {name: each for group in groups for name, each in (group.choices or {}).items()}


@cache
def extras() -> frozenset[str]:
    return frozenset(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])


def extras_in(words: list[str]) -> list[str]:
    """Return the extras of this package that are asked for."""
    asked = (re.fullmatch(r"(?:\.|airflow-coordination)\[([\w,-]+)\]", word) for word in words)
    return [name for found in asked if found for name in found[1].split(",")]


@pytest.mark.parametrize("page", [*PAGES_TODAY, *MORE], ids=label)
def test_every_command_in_the_text_is_one(page: Path) -> None:
    found = [(shlex.join(words), problem(words)) for words in commands(page.read_text())]
    assert [each for each in found if each[1]] == []


@pytest.mark.parametrize("page", MORE, ids=label)
def test_so_is_every_command_of_ours_on_other_pages(page: Path, capsys) -> None:
    assert [told for told in (wrong(each, capsys) for each in commands_of(page.read_text())) if told] == []


def test_the_change_log_names_commands_that_there_are() -> None:
    names = [tuple(words_of(command)) for command in commands_of(CHANGES.read_text())]
    assert len(names) > 30
    assert [name for name in names if name[:1] not in NAMES and name[:2] not in NAMES and name[0] != "…"] == []


def test_pages_have_commands() -> None:
    """The check looks at something."""
    found = {words[0] for page in [*PAGES, *MORE] for words in commands(page.read_text())}
    assert {"make", "python", "airflow", "pip"} <= found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("`make tset`", "make tset is no target"),
        ("`make bench NAME=postgres`", "postgres is no benchmark"),
        ("`make matrix CELLS=x`", "CELLS is no variable"),
        ("`make bench NAME=sqlite QUICK=1`", None),
        ("`python -m tests.modell`", "there is no module tests.modell"),
        ("`python -m tests.model --ony H3`", "exits with 2"),
        ("```bash\n$ python -m tests.model --only H3 --traces   # one pair\n```", None),
        ("`airflow pols set spark 2 x`", "Airflow does not take"),
        ("`airflow pools set spark`", "Airflow does not take"),
        ("`airflow dags trigger`", None),
        ("`.venv/bin/python scripts/wlk.py --check`", "there is no scripts/wlk.py"),
        ("`pip install '.[airflow,sprak]'`", "there is no extra 'sprak'"),
    ],
)
def test_what_is_none_is_seen(text: str, told: str | None, capsys) -> None:
    """The check can fail."""
    [words] = commands(text)
    found = problem(words)
    assert (told in (found or "")) if told else found is None
