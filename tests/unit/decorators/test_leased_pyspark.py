"""What ``@task.leased_pyspark`` makes of a function while a DAG file is parsed, and how it calls it."""

import inspect
import warnings

import pytest
from airflow.sdk import DAG, task

from airflow_coordination.hooks.policies import POLICIES
from airflow_coordination.leases import SettingsError
from airflow_coordination.operators import LeasedPySparkOperator
from airflow_coordination.operators.pyspark import server_url
from airflow_coordination.submission.arguments import PartitionCallable, RunDateWarning


def first(spark, lease, month, *, day=1):
    return spark, lease, month, day


def last(month, day=1, *rest, lease, spark=None):
    return spark, lease, month, day, rest


def everything(spark, lease, **context):
    return spark, lease, context


def of_many(spark, leases, month):
    return spark, leases, month


def hinted(spark, lease, hint):
    return spark, lease, hint


@pytest.mark.parametrize(
    ("function", "shown"),
    [
        (first, "(month, *, day=1, hint=None)"),
        (last, "(month, day=1, *rest, hint=None)"),
        (everything, "(*, hint=None, **context)"),
        (of_many, "(month, *, hint=None)"),
        (hinted, "(hint)"),
    ],
)
def test_the_authors_of_a_dag_see_their_own_arguments_and_the_hint(function, shown):
    assert str(inspect.signature(PartitionCallable(function))) == shown


@pytest.mark.parametrize(
    ("function", "arguments", "named", "called"),
    [
        (first, [5], {"hint": "a"}, ("S", "L", 5, 1)),
        (first, [], {"month": 5, "day": 2}, ("S", "L", 5, 2)),
        (last, [5, 2, 3], {}, ("S", "L", 5, 2, (3,))),
        (everything, [], {"ds": "x"}, ("S", "L", {"ds": "x"})),
        (of_many, [5], {}, ("S", "L", 5)),
        (hinted, [], {"hint": "a"}, ("S", "L", "a")),
    ],
)
def test_spark_and_lease_come_by_name(function, arguments, named, called):
    assert PartitionCallable(function)(*arguments, spark="S", lease="L", **named) == called


async def coroutine(spark, lease):
    pass


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda spark: None, "has no parameter 'lease'. Write def <lambda>(spark, lease): …"),
        (lambda **names: None, "has no parameter 'spark' and no parameter 'lease'."),
        (lambda spark, lease, /: None, "has no parameter 'spark' and no parameter 'lease'."),
        (coroutine, "is a coroutine. Write def coroutine(…) without async"),
    ],
)
def test_functions_that_cannot_be_called_so_are_refused(function, message):
    with pytest.raises(SettingsError) as refused:
        task.leased_pyspark(source="flights")(function)
    assert message in str(refused.value)


def test_it_maps_over_hints_and_takes_arguments_beside_them():
    decorated = task.leased_pyspark(source="flights", max_leases=2)(first)
    with DAG("mapped", schedule=None) as dag:
        decorated.partial(month=5).expand(hint=["a", "b"])
        decorated.override(task_id="one")(6, hint="c")
    mapped, one = dag.get_task("first"), dag.get_task("one")
    assert mapped.is_mapped
    assert mapped.operator_class.custom_operator_name == "@task.leased_pyspark"
    assert isinstance(one, LeasedPySparkOperator)
    assert (one.op_args, one.op_kwargs, one.max_leases) == ((6,), {"hint": "c"}, 2)
    assert (getattr(one, "retry_policy", None) is not None) is POLICIES
    with pytest.raises(TypeError, match="unexpected keyword argument 'hints'"):
        decorated.expand(hints=["a"])


def test_its_templates_are_the_leases_the_sessions_and_the_functions():
    fields = {"source", "hint", "partition_prefix", "output_root", "conn_id", "config_kwargs", "op_args", "op_kwargs"}
    assert fields <= set(task.leased_pyspark(source="flights")(first).operator_class.template_fields)


def test_run_dates_on_a_standing_source_are_warned_of():
    def operator(**arguments):
        return LeasedPySparkOperator(task_id="t", python_callable=first, **arguments)

    with pytest.warns(RunDateWarning, match="op_kwargs follow this run's date, but source 'flights' is standing"):
        operator(source="flights", op_kwargs={"month": "{{ ds }}"})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RunDateWarning)
        operator(source="flights-{{ ds }}", op_kwargs={"month": "{{ ds }}"})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on_empty": "fail"}, "on_empty='fail': is not a choice. Give one of success, skip"),
        ({"on_clear": "maybe"}, "on_clear='maybe': is not a choice. Give one of explain, reset"),
        ({"max_leases": 0}, "max_leases=0: is not a whole number above zero. Give 1 or more"),
    ],
)
def test_bad_arguments_are_told_at_once(arguments, message):
    with pytest.raises(SettingsError) as refused:
        LeasedPySparkOperator(task_id="t", python_callable=first, source="flights", **arguments)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (None, "conn_id='server': is not a defined Airflow connection. Create it with the type spark_connect"),
        ('{"conn_type": "spark", "host": "local"}', "conn_id='server': is a connection of type spark. Create it with"),
        ('{"conn_type": "spark_connect"}', "conn_id='server': is a connection without a host. Create it with"),
    ],
)
def test_a_connection_that_names_no_server_is_refused(said, message, monkeypatch):
    if said is not None:
        monkeypatch.setenv("AIRFLOW_CONN_SERVER", said)
    with pytest.raises(SettingsError) as refused:
        server_url("server")
    assert message in str(refused.value)


def test_a_token_with_a_slash_stays_one(monkeypatch):
    """Base64 has slashes; the provider's hook leaves them, and pyspark would quote the token in its error."""
    said = '{"conn_type": "spark_connect", "host": "h", "port": 1, "login": "a/b", "password": "c/d+e= f"}'
    monkeypatch.setenv("AIRFLOW_CONN_SERVER", said)
    assert server_url("server") == "sc://h:1/;user_id=a%2Fb;token=c%2Fd%2Be%3D%20f"
