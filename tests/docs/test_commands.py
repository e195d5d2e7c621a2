"""Every command that we tell people to type is one, in today's form: on pages, in alerts, in errors."""

from __future__ import annotations

import ast
import json
import re
import shlex
from argparse import ArgumentParser
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from airflow_coordination.cli.airflow_commands import CONNECTION
from airflow_coordination.cli.command import STORE
from airflow_coordination.cli.commands import COMMANDS, GROUPS
from airflow_coordination.cli.standalone import parser
from tests.docs.pages import PAGES, ROOT, label
from tests.house.tree import PACKAGE

PROGRAM = re.compile(r"(?:airflow coordination|python -m airflow_coordination)(?= [a-z])")
PAGES_TODAY = [page for page in PAGES if page.parent.name != "decisions"]
"""A decision has the words of its day."""
WATCHED = sorted((ROOT / "docs/operate").glob("*.yaml")) + sorted((ROOT / "docs/operate").glob("*.json"))
FENCED = re.compile(r"^ *```(\w*)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SHELLS = {"", "bash", "console", "sh", "text"}
NAMES = {(command.name,) for command in COMMANDS}
NAMES |= {(group, command.name) for group, (_, those) in GROUPS.items() for command in those}
HOLES = {"TYPED": "airflow coordination", "WHY": "w", "role": "worker"}
"""What a name in one of our sentences stands for; any other is a word."""
STAND_IN = {"N": "1", "NUMBER": "1", "ROLE": "worker", "$role": "worker"}
"""Of words that stand for others, those that the command line is particular about."""


@cache
def reader() -> ArgumentParser:
    """Return the command line."""
    return parser((STORE, CONNECTION))


def commands_of(text: str) -> Iterator[str]:
    """Yield the commands in a page: in its code, and between backticks, on one line or more."""
    blocks = [block for kind, block in FENCED.findall(text) if kind in SHELLS]
    for line in whole_lines("\n".join(blocks).replace("\\\n", " ")):
        yield from (line[found.start() :] for found in PROGRAM.finditer(line))
    for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", FENCED.sub("", text)):
        found = PROGRAM.match(code)
        if found:
            yield " ".join(code.replace("\\|", "|").split())


def whole_lines(text: str) -> Iterator[str]:
    """Yield lines, those together over which a quotation goes."""
    begun = ""
    for line in text.splitlines():
        begun += line
        if begun.count("'") % 2 and PROGRAM.search(begun):
            continue
        yield begun
        begun = ""


def words_of(command: str) -> list[str]:
    """Return the words behind the program, up to a pipe or the like; nothing where the end is left to the reader."""
    lexer = shlex.shlex(re.sub(r"\d>.*", "", PROGRAM.sub("", command, count=1)), posix=True, punctuation_chars="|;&<>")
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if set(word) <= set("|;&<>"):
            break
        words.append(STAND_IN.get(word, word))
    return words


def wrong(command: str, capsys) -> str | None:
    """Return what the command line has against a command: that it is none, or is not in today's form."""
    words = words_of(command)
    if tuple(words) in NAMES or "…" in words[-1:]:
        return None  # only its name, in a sentence; or its beginning
    capsys.readouterr()
    try:
        reader().parse_args(words)
    except SystemExit as stopped:
        if not stopped.code:
            return None
        return f"{command}: {capsys.readouterr().err.strip().splitlines()[-1]}"
    said = capsys.readouterr().err
    return f"{command}: {said}" if said else None


@pytest.mark.parametrize("page", [*PAGES_TODAY, *WATCHED], ids=label)
def test_every_command_on_a_page_is_one(page: Path, capsys) -> None:
    text = page.read_text()
    if page.suffix == ".json":
        text = "\n".join(each for each in strings(json.loads(text)) if isinstance(each, str))
    assert [told for told in (wrong(each, capsys) for each in commands_of(text)) if told] == []


def strings(value: object) -> Iterator[object]:
    """Yield all there is in a JSON value."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)
    else:
        yield value


def sentences(tree: ast.AST) -> Iterator[str]:
    """Yield the texts of a module, each of its f-strings whole."""
    parts = {id(each) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for each in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(map(filled, node.values))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value


def filled(part: ast.expr) -> str:
    """Return a piece of an f-string, with a word in each hole."""
    if isinstance(part, ast.FormattedValue):
        return HOLES.get(ast.unparse(part.value).rpartition(".")[2], "1")
    return str(part.value) if isinstance(part, ast.Constant) else ""


def test_every_command_in_our_sentences_is_one(capsys) -> None:
    """What names a source is made by ``protocol/remedies.py``; the others stand as text."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for text in sentences(ast.parse(path.read_text())):
            ends = "`" if "`" in text else ".,;:()\n'\""
            for begin in PROGRAM.finditer(text):
                command = re.split(f"[{re.escape(ends)}]", text[begin.start() :])[0].strip()
                found.append((path.name, wrong(command, capsys)))
    assert len(found) > 10
    assert [each for each in found if each[1]] == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("`airflow coordination nonsense flights`", "invalid choice"),
        ("`airflow coordination list --source flights`", "Deprecated"),
        ("```bash\nairflow coordination explain flights | cat\n```", "required: KEY"),
        ("```\n$ airflow coordination list flights --nothing x\n```", "--nothing"),
        ("`airflow coordination list\n   flights`; `airflow coordination reopen`; `airflow coordination status`", ""),
    ],
)
def test_a_command_that_is_none_is_seen(text: str, told: str, capsys) -> None:
    """The check can fail."""
    said = [each for each in (wrong(each, capsys) for each in commands_of(text)) if each]
    assert (len(said) == 1 and told in said[0]) if told else said == []
