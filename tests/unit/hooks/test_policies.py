"""Who gives operators a retry policy, and where Airflow knows none."""

import inspect
from types import SimpleNamespace

from airflow.sdk import BaseOperator

from airflow_coordination.hooks import policies
from airflow_coordination.operators import CreatePartitionsOperator


def test_policies_are_known_where_airflow_takes_them():
    """Airflow's own operator says whether there is such an argument."""
    assert policies.POLICIES is ("retry_policy" in inspect.signature(BaseOperator.__init__).parameters)


def test_our_operators_have_a_policy_where_there_is_one():
    operator = CreatePartitionsOperator(task_id="c", source="s", supplier=list)
    assert (getattr(operator, "retry_policy", None) is not None) is policies.POLICIES


def test_an_operator_is_left_as_it_is_before_airflow_3_3(monkeypatch):
    """Setting what Airflow does not know would end in its serialized DAGs."""
    monkeypatch.setattr(policies, "POLICIES", False)
    operator = SimpleNamespace()
    policies.give_retry_policy(operator)
    assert vars(operator) == {}
