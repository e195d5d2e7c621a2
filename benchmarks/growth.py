"""P14: what each operation costs in sources of 10,000 and 1,000,000 partitions, on PostgreSQL, SQLite and in memory.

The reading is that of the operation whose ratio is the greatest, so chance adds to it. On DynamoDB requests and write
units are counted (:mod:`benchmarks.dynamodb.growth`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from benchmarks.dynamodb import growth as in_dynamodb
from benchmarks.goals import Reading, Readings
from benchmarks.harness.figures import Ratio, Turn, cpu, ratio, typical
from benchmarks.harness.files import Files
from benchmarks.harness.postgres import Cluster
from benchmarks.harness.run import Run
from benchmarks.harness.systems import ROOT, Spec, Team
from benchmarks.harness.turns import WARM_CYCLES, Engine

FEW, MANY = 10_000, 1_000_000
ROUNDS, CYCLES, CREATED = 15, 30, 500
WAYS = {"queued": CYCLES, "hinted": CYCLES, "fused": CYCLES, "renewed": CYCLES, "closed": CYCLES, "created": CREATED}
OURS = Spec("ours", "benchmarks.ours:Ours", "ours", {"mode": "queued"})
IN_MEMORY = Spec("ours", "benchmarks.ours:InMemory", "memory")
Pairs = dict[str, tuple[list[Turn], list[Turn]]]
"""Of each operation, the turns among many rows and among few."""


def benchmark(run: Run) -> Readings:
    """Measure; there is nothing to count here."""
    if run.quick:
        return run.nothing_to_count()
    sizes = (run.scaled(MANY, 20_000), run.scaled(FEW, 5_000))
    readings = {}
    with ExitStack() as stack:
        cluster = stack.enter_context(Cluster())
        readings["P14 postgresql"] = _grown(run, "PostgreSQL", cluster, sizes, OURS)
    with Files(ROOT / ".work/bench") as files:
        readings["P14 sqlite"] = _grown(run, "SQLite", files, sizes, OURS)
        readings["P14 memory"] = _grown(run, "in memory", files, sizes, IN_MEMORY)
    return readings | in_dynamodb.readings(run)


def _grown(run: Run, title: str, engine: Cluster | Files, sizes: Sequence[int], spec: Spec) -> Reading:
    rounds = run.scaled(ROUNDS, 4)
    with ExitStack() as stack, run.progress(f"P14 {title}: rounds", rounds * len(WAYS)) as advance:
        teams = []
        for size in sizes:
            options = {"rows": size} if spec is IN_MEMORY else spec.options
            team = engine.team(replace(spec, name=f"{size:,}", options=options), 0 if spec is IN_MEMORY else size)
            teams.append(stack.enter_context(team))
        pairs: Pairs = {}
        for way in WAYS:
            pairs[way] = _in_turn(engine, teams, way, rounds)
            for _ in range(rounds):
                advance()
    return _shown(run, title, sizes, pairs)


def _in_turn(engine: Engine, teams: Sequence[Team], way: str, rounds: int) -> tuple[list[Turn], list[Turn]]:
    """Let both take turns in one operation."""
    turns: dict[str, list[Turn]] = {team.spec.name: [] for team in teams}
    order = list(teams)
    for team in teams:
        team.do(way=way)
        team.do(cycles=CYCLES)
    for _ in range(rounds):
        random.shuffle(order)
        for team in order:
            turns[team.spec.name].append(engine.measured(team, [{"cycles": WARM_CYCLES}], cycles=WAYS[way]))
    many, few = (turns[team.spec.name] for team in teams)
    return many, few


def _shown(run: Run, title: str, sizes: Sequence[int], pairs: Pairs) -> Reading:
    table = run.table(f"{title}: CPU µs each", "operation", *(f"{size:,} rows" for size in reversed(sizes)), "ratio")
    ratios: dict[str, Ratio] = {}
    for way, (many, few) in pairs.items():
        ratios[way] = ratio(many, few)
        table.add_row(way, f"{typical(few, cpu):,.0f}", f"{typical(many, cpu):,.0f}", str(ratios[way]))
    run.console.print(table)
    worst = max(ratios, key=lambda way: ratios[way].middle)
    many, few = (f"{typical(turns, cpu):,.0f} µs" for turns in pairs[worst])
    return Reading(ratios[worst].middle, str(ratios[worst]), f"{worst}: {many}", few)
