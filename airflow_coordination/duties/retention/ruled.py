"""The rules of a dataset: those of its own, then those of all datasets, as documents with their history."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from airflow_coordination.leases.coordinator import SourceCoordinator
from airflow_coordination.planning.intervals import Interval
from airflow_coordination.planning.rules.choosing import choose
from airflow_coordination.planning.rules.lint import Finding, lint
from airflow_coordination.planning.rules.reading import read_rules
from airflow_coordination.planning.rules.rule import Rule, RuleType
from airflow_coordination.planning.view.view import View
from airflow_coordination.protocol.beside.documents import DEFAULT_RULES, RULES, VIEW, Document, said_in
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.input_errors import InvalidInputError
from airflow_coordination.values.names import check_users_name, everybody, name_under

KEEP: Final = (Rule(RuleType.LOAD_FOREVER),)
"""The default rules where nobody has said any: everything is kept (Druid: ``_default``)."""
_DEPTH: Final = 4


def rules_document(dataset: str) -> str:
    """Return the name of the document with the rules of a dataset.

    :raises InvalidKeyError: when no user's dataset has that name.
    """
    return f"{RULES}{check_users_name(dataset, 'dataset', MAX_DATASET_BYTES)}"


@dataclass(frozen=True, slots=True)
class Ruled:
    """The rules that decide about a dataset, in their order.

    :param rules: its own, then the default ones.
    :param own: how many are its own.
    :param document: with its own, ``None`` where there is none.
    """

    rules: tuple[Rule, ...]
    own: int
    document: Document | None = None

    def named(self, index: int) -> str:
        """Return how people find a rule: its place in its own list, from 1 on."""
        if index < self.own:
            return f"rule {index + 1}, {self.rules[index]}"
        return f"default rule {index - self.own + 1}, {self.rules[index]}"

    def dropping(self, interval: Interval, now: datetime) -> int | None:
        """Return the place of the rule that drops an interval; ``None`` when it stays."""
        choice = choose(self.rules, interval, now)
        return choice.index if choice.rule is not None and choice.rule.type.drops else None


def rules_of(coordinator: SourceCoordinator, dataset: str) -> Ruled:
    """Return the rules of a dataset; two reads.

    :raises InvalidKeyError: when no user's dataset has such a name.
    :raises InvalidInputError: when a document is corrupt: it is never taken for an empty one.
    """
    return rules_of_each(coordinator, [dataset])[dataset]


def rules_of_each(coordinator: SourceCoordinator, datasets: Iterable[str]) -> dict[str, Ruled]:
    """Return the rules of some datasets by their names; two reads for all of them.

    :raises InvalidKeyError: when no user's dataset has such a name.
    :raises InvalidInputError: when a document is corrupt: it is never taken for an empty one.
    """
    names = {dataset: rules_document(dataset) for dataset in datasets}
    if len(names) == 1:
        [name] = names.values()
        said = {name: coordinator.documents.newest(name)}
    else:
        said = {each.name: each for each in coordinator.documents.all()}
    default = coordinator.documents.newest(DEFAULT_RULES, everybody(coordinator.partition_prefix))
    last = KEEP if default is None else read_document(default)
    found = {}
    for dataset, name in names.items():
        document = said.get(name)
        own = read_document(document)
        found[dataset] = Ruled((*own, *last), len(own), document)
    return found


def read_document(document: Document | None) -> Sequence[Rule]:
    """Return the rules that a document says; none where there is no document.

    :raises InvalidInputError: when it is corrupt.
    """
    return () if document is None else parsed_rules(document.name, document.content)


def parsed_rules(name: str, text: str) -> list[Rule]:
    """Return the rules of Druid's JSON.

    :param name: how errors name it.
    :raises InvalidInputError: naming what is wrong, and what to write instead.
    """
    return read_rules(name, _parsed(name, text))


def _parsed(name: str, text: str) -> Any:
    return said_in(name, text, _DEPTH, 'Write such as [{"type": "loadByPeriod", "period": "P1Y"}]')


@dataclass(frozen=True, slots=True)
class Draft:
    """Rules that somebody wants to set.

    :param content: of the document.
    :param rules: what it says.
    :param findings: what is odd; with errors among them it is not set.
    """

    content: str
    rules: tuple[Rule, ...]
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """What keeps it from being set."""
        return tuple(each for each in self.findings if each.error)


def draft(name: str, text: str, now: datetime, tiers: Mapping[str, int] | None = None) -> Draft:
    """Return rules that somebody wants to set, with what is odd about them.

    :param name: how errors name them.
    :param text: Druid's JSON, a list.
    :raises InvalidInputError: when they are no rules.
    """
    said = _parsed(name, text)
    rules = tuple(read_rules(name, said))
    return Draft(json.dumps(said, separators=(",", ":"), ensure_ascii=False), rules, tuple(lint(rules, now, tiers)))


def set_rules(coordinator: SourceCoordinator, dataset: str | None, text: str, by: str, why: str) -> Document | None:
    """Write the rules of a dataset, or those of all, as the next version of their document, and return it.

    :param dataset: ``None`` for the default rules of all datasets of all sources.
    :param text: Druid's JSON, a list; an empty one leaves everything to the default rules.
    :param by: who sets them.
    :param why: the reason, kept in their history.
    :raises InvalidKeyError: when no user's dataset has that name.
    :raises InvalidInputError: when they are no rules, one of them never applies, or nobody or no reason is named.
    """
    name = DEFAULT_RULES if dataset is None else rules_document(dataset)
    found = draft("rules", text, coordinator.store.now())
    for error in found.errors:
        raise InvalidInputError(f"rules[{error.index}]", text[:200], error.problem, error.remedy)
    source = everybody(coordinator.partition_prefix) if dataset is None else None
    return coordinator.documents.change(name, lambda _: found.content, by, why, source)


def endangered(rules: Sequence[Rule], view: View, now: datetime) -> list[tuple[int, Interval]]:
    """Return which branches that have begun would publish what rules hide at once, with what of their interval.

    :param rules: the dataset's, then the default ones.
    """
    found = []
    for branch in (each for each in view.branches if each.begun and each.interval is not None):
        for rule in (each for each in rules if each.type.drops):
            part = rule.reach(now).cut(branch.interval) if branch.interval else None
            choice = choose(rules, part, now) if part else None
            if part and choice and choice.rule and choice.rule.type.drops:
                found.append((branch.number, part))
                break
    return found


def endangered_by_default(
    coordinator: SourceCoordinator, rules: Sequence[Rule], now: datetime
) -> Iterator[tuple[str, int, Interval]]:
    """Yield as :func:`endangered`, before them the source, what default rules would hide in all sources at once.

    It is so in datasets without rules of their own that decide before.

    :param coordinator: on their store, with their prefix.
    """
    for identifier, _ in coordinator.store.sources():
        source = name_under(coordinator.partition_prefix, identifier)
        if source is not None:
            view = View.said_by(coordinator.documents.newest(VIEW, identifier))
            for number, interval in endangered(rules, view, now):
                yield source, number, interval
