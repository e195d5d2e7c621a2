"""The commands that messages tell people to type; a test parses each with the command line's own parser."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol

from airflow_coordination.protocol.port import PartitionStore
from airflow_coordination.values.names import split_source
from airflow_coordination.values.program import BY_PYTHON, PROGRAM

WHY = "…"
"""Stands where people say why they act."""
_NEEDS_WHY = frozenset({"finish", "park", "pause", "release", "reopen", "reset", "resume", "retract"}) | {
    f"branches {name}" for name in ("begin", "publish", "roll-back", "finalize", "retire")
}
_DEFAULT_CONNECTION: Final = "coordination_default"
_CONNECTION: Final = "airflow_connection"
"""An open store's attribute: the id of the Airflow connection that opened it."""


@dataclass(frozen=True, slots=True)
class Shell:
    """The program that a command is typed to, and how it names the store: pasted anywhere, it never finds another one.

    :param program: its words.
    :param store: the option that names the store; nothing where the program takes this one by itself.
    """

    program: tuple[str, ...] = PROGRAM
    store: tuple[str, ...] = ()


AIRFLOW: Final = Shell()
"""Airflow's command line, or what stands in for it, with the default connection."""


def opened_by(store: PartitionStore, connection: str) -> None:
    """Note on an open store which Airflow connection it was opened by."""
    with suppress(AttributeError):  # a store from elsewhere may have slots: then its address names it
        setattr(store, _CONNECTION, connection)


def shell_of(store: PartitionStore) -> Shell:
    """Return how commands reach a store: by its connection, otherwise by its address, which shows no password."""
    connection, address = getattr(store, _CONNECTION, None), store.reference or store.description
    if connection is None and "://" in address:
        return Shell(BY_PYTHON, _option("--store", address))
    if connection in (None, _DEFAULT_CONNECTION):
        return AIRFLOW
    return Shell(store=_option("--conn-id", connection))


def of_store(name: str, shell: Shell, options: Sequence[str] = ()) -> str:
    """Return a command that is about no source, as a person types it into a shell.

    :param name: its words, ``"store migrate"`` for example.
    :param options: more of them, each with its value.
    """
    return " ".join(map(quoted, (*shell.program, *name.split(), *shell.store, *options)))


class OfSource(Protocol):
    """Whoever works on one source of a store."""

    @property
    def store(self) -> PartitionStore:
        """The store."""

    @property
    def source(self) -> str:
        """The source's name."""

    @property
    def partition_prefix(self) -> str | None:
        """The deployment's prefix."""


def typed(coordinator: OfSource, name: str, *keys: str, options: Sequence[str] = ()) -> str:
    """Return :func:`command` for the source of a coordinator, on its store."""
    shell, prefix = shell_of(coordinator.store), coordinator.partition_prefix
    return command(name, coordinator.source, *keys, prefix=prefix, shell=shell, options=options)


def command(name: str, source: str, *keys: str, prefix: str | None, shell: Shell, options: Sequence[str] = ()) -> str:
    """Return a command of ours as a person types it into a shell, with all that it requires.

    :param name: of the command, ``"reopen"`` for example; may be two words.
    :param source: the source's name.
    :param keys: the partitions it is about, or what else stands behind the source.
    :param prefix: the deployment's partition prefix, if it has one.
    :param shell: the program, and what names the store: :func:`shell_of`.
    :param options: more of them, each with its value.
    """
    prefixed = () if prefix is None else _option("--partition-prefix", prefix)
    why = ("--why", WHY) if name in _NEEDS_WHY else ()
    said, given = (source, *keys), (*prefixed, *shell.store, *options, *why)
    # A source or a key that looks like an option is none behind the two dashes.
    like_an_option = any(word.startswith("-") for word in said)
    words = (*given, "--", *said) if like_an_option else (*said, *given)
    return " ".join(map(quoted, (*shell.program, *name.split(), *words)))


def listing(shell: Shell, source: str, prefix: str | None = None, **filters: str | None) -> str:
    """Return the command that lists what filters find.

    :param shell: the program, and what names the store.
    :param filters: the options of ``list`` by name, such as ``error_like``; what is ``None`` is left out.
    """
    given = [(f"--{name.replace('_', '-')}", value) for name, value in filters.items() if value is not None]
    options = [word for name, value in given for word in _option(name, value)]
    return command("list", source, prefix=prefix, shell=shell, options=options)


def triggering(dag_id: str, conf: Mapping[str, Any]) -> str:
    """Return Airflow's own command that triggers a run of a DAG.

    :param conf: the configuration of the run.
    """
    return f"airflow dags trigger {quoted(dag_id)} --conf {quoted(json.dumps(conf))}"


def about(shell: Shell, name: str, identifier: str, *keys: str, options: Sequence[str] = ()) -> str:
    """Return :func:`command` for partitions that know their source by its stored identifier."""
    prefix, source, _ = split_source(identifier)
    return command(name, source, *keys, prefix=prefix, shell=shell, options=options)


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
