"""The dynamic configuration of the duties as a document with its history: read, changed and compared.

Two people who change different keys at once have both changed them. Of two who change the same key one wins, and the
other is told what was set meanwhile, by whom and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.duties.configuration import KEYS, Difference, DynamicConfig, differences
from airflow_coordination.protocol.beside.documents import (
    ABSENT,
    CONFIGURATION,
    Document,
    Looked,
    said_in,
)
from airflow_coordination.values.errors import ConfigurationChangedError
from airflow_coordination.values.input_errors import InvalidInputError, SettingsError
from airflow_coordination.values.names import everybody
from airflow_coordination.values.program import TYPED

_DEPTH: Final = 3


@dataclass(frozen=True, slots=True)
class Configured:
    """The configuration as somebody has set it.

    :param config: what it says.
    :param version: 0 where nobody has set any: it is the default one then, and has no author.
    :param author: who has set it.
    :param comment: why.
    :param at: when, by the store's clock.
    """

    config: DynamicConfig
    version: int = ABSENT
    author: str | None = None
    comment: str | None = None
    at: datetime | None = None

    @classmethod
    def said_by(cls, document: Document | None) -> Configured:
        """Return what a version of the document says; the defaults where there is none.

        :raises InvalidInputError: when it is corrupt, or has a key of newer code: it is never taken for an empty one.
        """
        if document is None:
            return cls(DynamicConfig())
        config = DynamicConfig.from_json(_said(document))
        return cls(config, document.version, document.author, document.comment, document.at)


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the configuration, and what was other than in the one before.

    :param configured: the version.
    :param changes: ``None`` where it, or the one before, cannot be read, or that one is not kept any more.
    :param problem: why it cannot be read; its ``configured`` names its author then, and its keys say nothing.
    """

    configured: Configured
    changes: tuple[Difference, ...] | None
    problem: str | None = None


def read_config(coordinator: SourceCoordinator) -> Configured:
    """Return the configuration of now; one read.

    :param coordinator: on the store, with the prefix; its source does not matter.
    :raises InvalidInputError: when it is corrupt.
    """
    return Configured.said_by(coordinator.documents.newest(CONFIGURATION, everybody(coordinator.partition_prefix)))


def config_in_force(coordinator: SourceCoordinator) -> DynamicConfig | None:
    """Return the configuration of now, ``None`` while it pauses all duties: for who acts on what was read before.

    :param coordinator: of any source with their prefix; one read.
    :raises InvalidInputError: when it is corrupt.
    """
    config = read_config(coordinator).config
    return None if config.pause_coordination else config


def config_at(coordinator: SourceCoordinator, version: int) -> Configured:
    """Return a version of the configuration; 0 is the one before anybody has set any.

    :raises SettingsError: when there is no such version, or it is not kept any more.
    """
    if version == ABSENT:
        return Configured(DynamicConfig())
    source = everybody(coordinator.partition_prefix)
    found = coordinator.documents.history(CONFIGURATION, version + 1, 1, source) if version > ABSENT else []
    if not found or found[0].version != version:
        problem = "is no version of the configuration that is kept"
        raise SettingsError("version", version, problem, f"See `{TYPED} config history`")
    return Configured.said_by(found[0])


def set_config(
    coordinator: SourceCoordinator, changes: Mapping[str, object], by: str, why: str, seen: int | None = None
) -> Configured:
    """Change some keys of the configuration, and return it as it is then; in force from the next run of each group.

    It is made anew on the newest version when others were faster, so that changes of different keys all count.

    :param changes: by Druid's names; null makes a key the default again.
    :param by: who changes it.
    :param why: the reason, kept in the history.
    :param seen: the version that whoever decided this had seen; without it, the newest one at this call.
    :raises ConfigurationChangedError: when somebody has set one of these keys otherwise since that version.
    :raises SettingsError: for a key that is unknown or means nothing here, or a version that is not kept.
    :raises InvalidInputError: for a value that cannot be, or when nobody or no reason is named.
    """
    wanted = DynamicConfig().updated(changes).to_json()
    base = None if seen is None else config_at(coordinator, seen)

    def changed(looked: Looked) -> str:
        nonlocal base
        newest = Configured.said_by(looked.document)
        base = base or newest
        _refuse_what_was_set(coordinator, {key: wanted[key] for key in changes}, base, newest)
        said = {**_said(looked.document), **changes}
        return _written(DynamicConfig.from_json(said), said)

    source = everybody(coordinator.partition_prefix)
    return Configured.said_by(coordinator.documents.change(CONFIGURATION, changed, by, why, source))


def replace_config(
    coordinator: SourceCoordinator, said: Mapping[str, object], by: str, why: str, seen: int
) -> Configured:
    """Write the whole configuration anew, and return it: keys that are not named are the default again.

    It is the one way out where the newest version cannot be read: what that says is not looked at. It stays in the
    history, with who has written it.

    :param said: by Druid's names; null is the default.
    :param by: who replaces it.
    :param why: the reason, kept in the history.
    :param seen: the version that is replaced, as somebody has looked at it.
    :raises ConfigurationChangedError: when there is a newer one than that.
    :raises SettingsError: for a key that is unknown or means nothing here.
    :raises InvalidInputError: for a value that cannot be, or when nobody or no reason is named.
    """
    content = _written(DynamicConfig().updated(said), said)

    def changed(looked: Looked) -> str:
        newest = looked.document
        version = ABSENT if newest is None else newest.version
        if version != seen:
            who = "nobody" if newest is None else f"{newest.author} ({newest.comment})"
            raise ConfigurationChangedError((f"version {version} is there, by {who}, and not {seen}",), version)
        return content

    source = everybody(coordinator.partition_prefix)
    return Configured.said_by(coordinator.documents.change(CONFIGURATION, changed, by, why, source))


def newest_version(coordinator: SourceCoordinator) -> Version:
    """Return the newest version of the configuration, without its changes; with its problem where it is corrupt."""
    document = coordinator.documents.newest(CONFIGURATION, everybody(coordinator.partition_prefix))
    return Version(Configured(DynamicConfig()), None) if document is None else _read(document)


def _refuse_what_was_set(
    coordinator: SourceCoordinator, wanted: Mapping[str, Any], base: Configured, newest: Configured
) -> None:
    """Refuse to write over what somebody else has set since; what is as it is wanted hurts nobody."""
    if base.version == newest.version:
        return
    since = {each.key for each in differences(base.config, newest.config) if each.key in wanted}
    contested = {key for key in since if newest.config.to_json()[key] != wanted[key]}
    told = []
    for version in _since(coordinator, base.version, newest.version):
        for each in version.changes or ():
            if each.key in contested:
                contested.remove(each.key)
                told.append(f"{each}, by {_who(version.configured)}")
    if told:
        raise ConfigurationChangedError(tuple(told), newest.version)


def _since(coordinator: SourceCoordinator, base: int, newest: int) -> Iterator[Version]:
    for version in versions(coordinator, newest + 1):
        if version.configured.version <= base:
            return
        yield version


def _who(found: Configured) -> str:
    when = found.at.isoformat(timespec="seconds") if found.at else ""
    return f"{found.author} at {when} (version {found.version}: {found.comment})"


def versions(coordinator: SourceCoordinator, before: int | None = None) -> Iterator[Version]:
    """Yield all versions of the configuration that are kept, the newest first, each with what it changed.

    One that is corrupt has its problem instead.

    :param before: only those older than this version.
    """
    source = everybody(coordinator.partition_prefix)
    later: Version | None = None
    for document in coordinator.documents.versions(CONFIGURATION, before, source):
        earlier = _read(document)
        if later is not None:
            yield _version(later, earlier)
        later = earlier
    if later is not None:
        yield _version(later, Version(Configured(DynamicConfig()), None))


def _read(document: Document) -> Version:
    try:
        return Version(Configured.said_by(document), None)
    except InvalidInputError as error:
        named = Configured(DynamicConfig(), document.version, document.author, document.comment, document.at)
        return Version(named, None, str(error))


def _version(later: Version, earlier: Version) -> Version:
    old, new = earlier.configured, later.configured
    follows = old.version == new.version - 1 and earlier.problem is None and later.problem is None
    return replace(later, changes=tuple(differences(old.config, new.config)) if follows else None)


def _written(config: DynamicConfig, said: Mapping[str, object]) -> str:
    """Return the document of a configuration: what somebody has said, and no default."""
    values = config.to_json()
    return json.dumps({key: values[key] for key in KEYS if said.get(key) is not None}, separators=(",", ":"))


def _said(document: Document | None) -> Any:
    """Return the keys that somebody has set; whatever else a corrupt one says is refused by who reads it."""
    if document is None:
        return {}
    remedy = "Look who has written it: this package writes none such"
    return said_in(f"document {document.name}", document.content, _DEPTH, remedy)
