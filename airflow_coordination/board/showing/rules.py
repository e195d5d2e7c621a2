"""The rules that decide about a dataset, in their order, for people to look at: two documents, and no head records."""

from __future__ import annotations

from airflow.api_fastapi.auth.managers.models.base_user import BaseUser

from airflow_coordination.board.reading import Read
from airflow_coordination.board.showing.models import RulesPage, RuleView
from airflow_coordination.board.visibility import coordinator_of, open_visible
from airflow_coordination.duties.retention.ruled import Ruled, rules_of
from airflow_coordination.protocol import remedies
from airflow_coordination.values.blocks import MAX_DATASET_BYTES
from airflow_coordination.values.names import check_users_name


def rules_page(user: BaseUser, connection: str, source: str, dataset: str) -> Read[RulesPage]:
    """Return the rules of a dataset: its own, then the default ones of all datasets.

    :raises NotVisibleError: when the user does not see such a source.
    :raises InvalidKeyError: when no user's dataset has that name.
    :raises StoreDoesNotAnswerError: when the store does not.
    """
    check_users_name(dataset, "dataset", MAX_DATASET_BYTES)
    with open_visible(user, connection, source) as (store, seen):
        now, found = store.now(), rules_of(coordinator_of(user, store, seen), dataset)
        typed = remedies.about(remedies.shell_of(store), "rules get", source, options=["--dataset", dataset])
        rules = [_rule(found, index) for index in range(len(found.rules))]
        return Read(RulesPage(rules=rules, version=found.version, typed=typed), now)


def _rule(found: Ruled, index: int) -> RuleView:
    rule = found.rules[index]
    copies = dict(rule.tiers) if rule.type.loads else {}
    return RuleView(named=found.named(index), own=index < found.own, drops=rule.type.drops, copies=copies)
