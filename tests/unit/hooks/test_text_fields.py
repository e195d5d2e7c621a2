"""Templated fields that are text, whatever they look like (A13)."""

from types import SimpleNamespace

import pytest
from airflow.sdk import DAG, task

from airflow_coordination.compaction import CompactionConfig
from airflow_coordination.leases import InvalidInputError
from airflow_coordination.operators import (
    BeginBranchOperator,
    CreatePartitionsOperator,
    LeasedPySparkOperator,
    LeasedSparkSubmitOperator,
    PlanCompactionOperator,
)
from airflow_coordination.sensors import PartitionsSensor
from airflow_coordination.values.hints import decode_hint, encode_hint

LIKE_LITERALS = ["2013", "1_000", "1e3", "True", "None", "['a']", "'a'", "0x10"]


def supplier(state):
    return []


def job(spark, lease, *args):
    return None


def job_of_month(spark, lease, month):
    return None


@pytest.mark.parametrize("text", LIKE_LITERALS)
def test_a13_our_fields_are_text_in_a_dag_with_native_objects(text):
    """A13: every templated field of ours; what is not ours, such as op_args, is rendered as the DAG says."""
    with DAG("native", schedule=None, render_template_as_native_obj=True):
        ours = {"source": "{{ text }}", "partition_prefix": "{{ text }}"}
        leased = {**ours, "hint": text, "output_root": "{{ text }}"}
        operators = [
            CreatePartitionsOperator(task_id="create", supplier=supplier, **ours),
            PartitionsSensor(task_id="ready", **ours),
            LeasedSparkSubmitOperator(task_id="spark", application="j.py", application_args=["{{ text }}"], **leased),
            LeasedPySparkOperator(task_id="py", python_callable=job, op_args=["{{ text }}"], **leased),
        ]
        plan = PlanCompactionOperator(
            task_id="plan", of="{{ text }}", configs=[CompactionConfig("clean")], partition_prefix="{{ text }}"
        )
        begin = BeginBranchOperator(
            task_id="begin", keys=["{{ text }}"], key_prefix="{{ text }}", why="{{ text }}", **ours
        )
    begin.render_template_fields({"text": text})
    assert (begin.keys, begin.key_prefix, begin.why, begin.source) == ([text], text, text, text)
    plan.render_template_fields({"text": text})
    assert (plan.of, plan.partition_prefix) == (text, text)
    for operator in operators:
        operator.render_template_fields({"text": text})
        fields = leased if "hint" in operator.template_fields else ours
        assert {name: getattr(operator, name) for name in fields} == dict.fromkeys(fields, text)
    assert operators[3].op_args[0] != text, "as the DAG says"


def test_the_arguments_of_a_function_may_be_a_task_s_output():
    """As those of ``PythonOperator``."""
    with DAG("of_a_task", schedule=None) as dag:
        given = task(lambda: {"month": "5"}, task_id="given")()
        operator = LeasedPySparkOperator(task_id="py", source="s", python_callable=job_of_month, op_kwargs=given)
    ti = SimpleNamespace(task_id="py", xcom_pull=lambda *_, **__: {"month": "5"})
    operator.render_template_fields({"ti": ti, "dag": dag, "run_id": "r"})
    assert operator.op_kwargs == {"month": "5"}


@pytest.mark.parametrize(("native", "keys"), [(True, ["2013", "2014"]), (False, "['2013', '2014']")])
def test_one_template_may_give_all_keys_where_the_dag_makes_objects(native, keys):
    """Elsewhere it is a text, which the operator refuses: taken apart into letters it would name other partitions."""
    with DAG("one_template", schedule=None, render_template_as_native_obj=native):
        begin = BeginBranchOperator(task_id="begin", source="s", why="w", keys="{{ which }}")
    begin.render_template_fields({"which": ["2013", "2014"]})
    assert begin.keys == keys


@pytest.mark.parametrize("text", LIKE_LITERALS)
def test_a13_the_hint_of_a_decorated_function_is_text(text):
    """A13: there the hint comes among the function's arguments, whose other values are rendered as the DAG says."""
    decorated = task.leased_pyspark(source="flights")(job_of_month)
    with DAG("native", schedule=None, render_template_as_native_obj=True) as dag:
        decorated("{{ text }}", hint=text)
        decorated.override(task_id="templated")("5", hint="{{ text }}")
        decorated.override(task_id="mapped").partial(month="5").expand(hint=[text])
    rendered = [dag.get_task(task_id) for task_id in ("job_of_month", "templated")]
    for operator in rendered:
        operator.render_template_fields({"text": text})
    ti, dag_run = SimpleNamespace(map_index=0, task_id="mapped"), SimpleNamespace(conf={})
    context = {"ti": ti, "dag": dag, "dag_run": dag_run, "run_id": "r"}
    dag.get_task("mapped").render_template_fields(context)
    rendered.append(context["task"])
    assert [operator.hint for operator in rendered] == [text] * 3
    assert [operator.op_kwargs["hint"] for operator in rendered] == [text] * 3
    assert rendered[0].op_args[0] != text, "as the DAG says"
    assert rendered[2].op_kwargs["month"] == 5


def test_a13_an_argument_that_is_no_hint_stays_what_the_dag_says():
    """A13."""
    with DAG("native", schedule=None, render_template_as_native_obj=True):
        operator = LeasedPySparkOperator(
            task_id="py", python_callable=job_of_month, source="flights", hint="2013", op_kwargs={"month": "5"}
        )
    operator.render_template_fields({})
    assert (operator.hint, operator.op_kwargs) == ("2013", {"month": 5})


@pytest.mark.parametrize("key", [2013, 1.5, None, [], b"a"])
def test_a13_a_hint_that_is_no_text_is_named(key):
    """A13: ``expand(hint=[2013])`` was an AttributeError."""
    with pytest.raises(InvalidInputError, match="hint="):
        decode_hint(key, "store")


def test_a13_the_longest_hint_is_still_one():
    """A13: a hint is longer than its key."""
    key = "é" * 1_024
    assert decode_hint(encode_hint("store", key, 7), "store").key == key
