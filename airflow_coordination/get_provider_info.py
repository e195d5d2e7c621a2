"""The package as Airflow reads it: connection type, configuration section, command line, classes."""

from __future__ import annotations

from typing import Any

_INTEGRATION = "Coordination"
_SQL_PLACEHOLDER = "postgresql+psycopg://coordination@db.example:5432/coordination"


def _option(
    description: str, kind: str, default: str, example: str | None = None, since: str = "0.1.0"
) -> dict[str, Any]:
    return {"description": description, "version_added": since, "type": kind, "example": example, "default": default}


def _modules(room: str, *names: str) -> list[dict[str, Any]]:
    return [
        {"integration-name": _INTEGRATION, "python-modules": [f"airflow_coordination.{room}.{name}" for name in names]}
    ]


def _field(label: str, description: str, **schema: Any) -> dict[str, Any]:
    return {"label": label, "description": description, "schema": {"type": ["string", "null"], **schema}}


_OPTIONS = {
    "ownership_timeout": _option("Seconds a lease lasts without renewal.", "float", "600"),
    "reassign_grace": _option(
        "Seconds more in which only the next try of its task gets the work of an owner that does not renew.",
        "float",
        "0",
        since="0.2.0",
    ),
    "renewals_per_lease": _option(
        "How often a lease is renewed while it lasts, at least twice.", "integer", "10", since="0.2.0"
    ),
    "max_failures": _option("So many failures in a row park a partition until a person acts.", "integer", "5"),
    "max_lost_leases": _option("So many leases lost in a row, without an ending, park a partition.", "integer", "5"),
    "retry_delay": _option("Seconds until a failed partition can be tried again; doubles each time.", "float", "30"),
    "max_retry_delay": _option("The longest such wait, in seconds.", "float", "3600"),
    "no_progress_timeout": _option(
        "Work of a @partition_application that shows no progress for so many seconds is cancelled; empty = never.",
        "string",
        "3600",
    ),
    "brake_after": _option(
        "So many partitions that fail one after the other of one error pause the source (at most 100); 0 = never.",
        "integer",
        "10",
        since="0.2.0",
    ),
    "request_deadline": _option("Seconds one call to the store may take with all its repetitions.", "float", "30"),
    "acknowledgment_timeout": _option("Seconds one delivery (lease.deliver) may take.", "float", "7200", since="0.2.0"),
    "on_negative": _option(
        "What becomes of a partition of which not every record was delivered: fail or give up.",
        "string",
        "fail",
        since="0.2.0",
    ),
    "sweep_interval": _option(
        "Seconds between two passes of reopening and reclaiming in a PartitionsSensor.", "float", "30"
    ),
    "output_root": _option(
        "Where partitions publish their blocks when neither operator nor connection says so; empty = nowhere.",
        "string",
        "",
        example="s3a://bucket/published",
    ),
    "airflow_id": _option(
        "The name of this Airflow where several work on one store; empty = one that its first task makes and keeps "
        "as the Variable coordination_airflow_id.",
        "string",
        "",
        example="production",
        since="0.2.0",
    ),
    "board_connections": _option(
        "The connections whose stores the page Partitions shows, separated by commas.",
        "string",
        "coordination_default",
        example="coordination_default,team_b",
        since="0.2.0",
    ),
    "duties_properties": _option(
        "A file with Druid's properties druid.coordinator.*, its own runtime.properties for example: which groups of "
        "duties there are, and when they run; empty = the built-in ones.",
        "string",
        "",
        example="/etc/druid/coordinator/runtime.properties",
        since="0.2.0",
    ),
}

_CONNECTION_TYPE = {
    "connection-type": "coordination",
    "hook-name": "Coordination store",
    "hook-class-name": "airflow_coordination.hooks.coordination.CoordinationHook",
    "ui-field-behaviour": {
        "hidden-fields": ["schema", "login", "port"],
        "relabeling": {"host": "Store URL (without password)", "password": "Password of the store"},
        "placeholders": {"host": _SQL_PLACEHOLDER},
    },
    "conn-fields": {
        "source_coordination": _field(
            "source_coordination",
            "Instead of a store URL: Data Prepper's source_coordination object as JSON or YAML, verbatim.",
            format="multiline",
        ),
        "aws_conn_id": _field(
            "AWS connection",
            "The connection of type aws for a store in DynamoDB and for a Spark driver's S3; "
            "without it what boto3 finds on the machine.",
        ),
        "driver_secret": _field(
            "Secret for drivers on Kubernetes",
            "NAME:KEY of the secret, in the driver's namespace, that holds the store, for drivers on Kubernetes.",
        ),
        "partition_prefix": _field("Partition prefix", "Keeps deployments that share a store apart."),
        "output_root": _field("Output root", "Where partitions publish their blocks."),
        "ownership_timeout": _field(
            "Ownership timeout", "Seconds a lease lasts without renewal.", type=["number", "null"]
        ),
        "reassign_grace": _field(
            "Grace before others",
            "Seconds more in which only the next try of its task gets the work of an owner that does not renew.",
            type=["number", "null"],
        ),
    },
}


def get_provider_info() -> dict[str, Any]:
    """Return the provider's description, in the form of Airflow's ``provider_info.schema.json``."""
    return {
        "package-name": "airflow-coordination",
        "name": _INTEGRATION,
        "description": "Leased, partitioned Spark work: nothing is lost, nothing counts twice.",
        "integrations": [{"integration-name": _INTEGRATION, "tags": ["software"]}],
        "operators": _modules(
            "operators", "branches", "create_partitions", "duties", "plan_compaction", "pyspark", "spark_submit"
        ),
        "task-decorators": [
            {"name": "leased_pyspark", "class-name": "airflow_coordination.decorators.pyspark.leased_pyspark_task"}
        ],
        "sensors": _modules("sensors", "dataset", "partitions"),
        "triggers": _modules("triggers", "claimable", "dataset", "partitions"),
        "hooks": _modules("hooks", "coordination"),
        "connection-types": [_CONNECTION_TYPE],
        "extra-links": [
            "airflow_coordination.links.partitions.PartitionsLink",
            "airflow_coordination.links.spark_ui.SparkUILink",
        ],
        "cli": ["airflow_coordination.cli.airflow_commands.get_cli_commands"],
        "config": {
            "coordination": {
                "description": "Defaults; a connection goes before them, an operator's argument before that.",
                "options": _OPTIONS,
            }
        },
    }
