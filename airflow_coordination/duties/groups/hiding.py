"""The duty ``runRules``: what rules drop is hidden in all sources, and what they drop no more comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Final

from airflow_coordination.duties.copies.group import load_copies
from airflow_coordination.duties.duty import ENDS_ALL
from airflow_coordination.duties.groups.marks import Marks, digest, seen_once
from airflow_coordination.duties.groups.round import Ran, Round, in_each
from airflow_coordination.duties.retention.applying import Applied, apply_rules
from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.protocol.beside.documents import DEFAULT_RULES, RULES, VIEW
from airflow_coordination.values.input_errors import CoordinationError, SettingsError

_WHY: Final = "the rules, applied by their duty"
_HIDING, _LOADING = "hiding", "loading"
"""What each half of the duty has left."""


@dataclass(frozen=True, slots=True)
class RunRules:
    """Applies rules where something was published, they or the view were changed, or time lets another one decide.

    What they drop is hidden first; then the copies that they want are asked for (:func:`~.copies.group.load_copies`).

    Where nothing of that is so, a source costs two requests. What people do to head records is in no history
    (retracts, another interval), so each source is looked at once a day.

    Source: Druid, ``RunRules``.
    """

    name: ClassVar[str] = "runRules"

    def run(self, round: Round) -> Ran:
        """Apply them source by source; what keeps it from one, such as corrupt rules, keeps it from no other."""
        before = round.remembered if isinstance(round.remembered, Mapping) else {}
        hidden = self._hide(replace(round, remembered=before.get(_HIDING)))
        loaded = _loaded(replace(round, remembered=before.get(_LOADING)))
        return Ran(
            said=hidden.said if loaded.idle else f"{hidden.said}; {loaded.said}",
            counts={**hidden.counts, **loaded.counts},
            warnings=(*hidden.warnings, *loaded.warnings),
            left={_HIDING: hidden.left, _LOADING: loaded.left},
            idle=hidden.idle and loaded.idle,
            errors=(*hidden.errors, *loaded.errors),
        )

    def _hide(self, round: Round) -> Ran:
        marks, applied, told = Marks(round.remembered), dict[str, list[Applied]](), list[str]()
        default = _default_version(round)

        def hide(coordinator: SourceCoordinator) -> None:
            history, said = seen_once(round.cluster, coordinator)
            seen = None if history is None else _digest(history, said, default)
            if not marks.is_news(coordinator.source, seen, round.now):
                return
            found, refused = _apply(coordinator, dry_run=round.dry_run)
            if refused:
                told.append(refused)
                return
            applied[coordinator.source] = found
            if history is not None and not round.dry_run:
                marks.put(coordinator.source, _after(history, said, default, found), round.now, _until(found))

        errors = in_each(round.sources, hide)
        ran = _ran(applied, marks, dry_run=round.dry_run)
        return replace(ran, warnings=(*told, *ran.warnings), errors=errors)


def _loaded(round: Round) -> Ran:
    """Ask for copies; what is the matter with them leaves what was hidden as it is."""
    try:
        return load_copies(round)
    except ENDS_ALL:
        raise
    except CoordinationError as error:
        said = f"{type(error).__name__}: {error}"
        return Ran(said="no copies were asked for", left=round.remembered, errors=(said,))


def _apply(coordinator: SourceCoordinator, *, dry_run: bool) -> tuple[list[Applied], str]:
    """Apply the rules of a source, and return what that did, and why it could not where there was something to do.

    As long as code may work with the store that knows of no hidden interval, nothing is hidden. Rules that only say
    where copies lie hide nothing, and need no such store.
    """
    try:
        return apply_rules(coordinator, by=RunRules.name, why=_WHY, dry_run=dry_run), ""
    except SettingsError as error:
        found = apply_rules(coordinator, dry_run=True)
        changes = any(each.made or each.ended for each in found)
        return found, f"the rules of source {coordinator.source} hide nothing: {error}" if changes else ""


def _default_version(round: Round) -> int | None:
    found = round.cluster.documents.get(DEFAULT_RULES)
    return found.version if found else None


def _digest(history: str, said: dict[str, int], default: int | None) -> str:
    ruling = {name: version for name, version in said.items() if name == VIEW or name.startswith(RULES)}
    return digest(history, ruling, default)


def _after(history: str, said: dict[str, int], default: int | None, found: list[Applied]) -> str:
    """Return the digest of what is there after the run, if nobody else has changed the view meanwhile."""
    changed = any(each.made or each.ended for each in found)
    return _digest(history, {**said, VIEW: said.get(VIEW, 0) + 1} if changed else said, default)


def _until(found: list[Applied]) -> datetime | None:
    return min((each.changes_at for each in found if each.changes_at is not None), default=None)


def _ran(applied: dict[str, list[Applied]], marks: Marks, *, dry_run: bool) -> Ran:
    found = [(source, each) for source, row in applied.items() for each in row]
    hidden, back = sum(each.vanished.partitions for _, each in found), sum(each.back.partitions for _, each in found)
    counts = {
        "segment/hidden/count": hidden,
        "segment/restored/count": back,
        "segment/unruled/count": sum(each.unruled for _, each in found),
    }
    changed = sorted({f"{source}/{each.dataset}" for source, each in found if each.made or each.ended})
    done = "would hide {} partition(s), {} would come back" if dry_run else "hid {} partition(s), {} came back"
    said = f"{done.format(hidden, back)}, in {', '.join(changed)}" if changed else "nothing to hide"
    if not applied:
        said = "nothing is new"
    warnings = tuple(
        f"no rule applies to {each.unruled} partition(s) of {source}/{each.dataset}: they are left as they are"
        for source, each in found
        if each.unruled
    )
    return Ran(said=said, counts=counts, warnings=warnings, left=marks.to_json(), idle=not changed)
