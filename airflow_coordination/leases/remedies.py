"""The commands that messages tell people to type; a test parses each with the command line's own parser."""

from __future__ import annotations

import shlex

from airflow_coordination.leases.names import split_source

WHY = "…"
"""Stands where people say why they act."""
_PROGRAM = ("airflow", "coordination")
_NEEDS_WHY = frozenset({"finish", "park", "pause", "release", "reopen", "reset", "resume", "retract"})


def command(name: str, source: str, *keys: str, prefix: str | None = None) -> str:
    """Return a command of ours as a person types it into a shell, with all that it requires.

    :param name: of the command, ``"reopen"`` for example; may be two words.
    :param source: the source's name.
    :param keys: the partitions it is about.
    :param prefix: the deployment's partition prefix, if it has one.
    """
    prefixed = () if prefix is None else _option("--partition-prefix", prefix)
    why = ("--why", WHY) if name in _NEEDS_WHY else ()
    options = (*_option("--source", source), *prefixed, *why)
    # A key that looks like an option is none behind the two dashes.
    like_an_option = any(key.startswith("-") for key in keys)
    words = (*options, "--", *keys) if like_an_option else (*keys, *options)
    return " ".join(map(quoted, (*_PROGRAM, *name.split(), *words)))


def listing(source: str, prefix: str | None = None, **filters: str | None) -> str:
    """Return the command that lists what filters find.

    :param filters: the options of ``list`` by name, such as ``error_like``; what is ``None`` is left out.
    """
    given = [(f"--{name.replace('_', '-')}", value) for name, value in filters.items() if value is not None]
    options = [word for name, value in given for word in _option(name, value)]
    return " ".join([command("list", source, prefix=prefix), *map(quoted, options)])


def about(name: str, identifier: str, *keys: str) -> str:
    """Return :func:`command` for partitions that know their source by its stored identifier."""
    prefix, source, _ = split_source(identifier)
    return command(name, source, *keys, prefix=prefix)


def _option(name: str, value: str) -> tuple[str, ...]:
    return (f"{name}={value}",) if value.startswith("-") else (name, value)


def quoted(word: str) -> str:
    """Return ``word`` as one word for a shell; what cannot be printed as an escape of bash and zsh."""
    if word.isprintable():
        return f"'{word}'" if word == WHY else shlex.quote(word)
    escaped = "".join(char if char.isprintable() else _escape(char) for char in word.replace("\\", "\\\\"))
    return "$'" + escaped.replace("'", "\\'") + "'"


def _escape(char: str) -> str:
    return f"\\U{ord(char):08x}" if ord(char) > 0x7F else f"\\x{ord(char):02x}"
