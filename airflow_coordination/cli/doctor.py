"""The command that looks whether all is well: a list of small looks, each in the file of its subject."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict

from airflow_coordination.cli.context import CommandContext
from airflow_coordination.cli.doctor_follow_ups import look_at_follow_ups
from airflow_coordination.cli.doctor_installation import look_at_installation
from airflow_coordination.cli.doctor_output import look_at_output_root
from airflow_coordination.cli.doctor_published import look_at_published
from airflow_coordination.cli.doctor_store import look_at_store
from airflow_coordination.cli.output import print_rows
from airflow_coordination.stores.diagnostics import Verdict, looked


def doctor(context: CommandContext, args: Namespace) -> int:
    """Print what is found; return 1 when something is wrong."""
    findings = [
        *look_at_installation(),
        *context.look_around(),
        *(looked("output root", lambda: look_at_output_root(args.output_root)) if args.output_root else ()),
        *looked("store", lambda: look_at_store(context.store, args.role)),
        *looked("published output", lambda: look_at_published(context.store, args.source)),
        *look_at_follow_ups(context),
    ]
    print_rows([asdict(finding) for finding in findings], args.output)
    return int(any(finding.verdict is Verdict.WRONG for finding in findings))
