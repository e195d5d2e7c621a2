"""Import every module of the package, and say which do not load and why: python load_modules.py [NEEDS_3_3 ...]."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import airflow_coordination

NOT_IMPORTED = ("__main__", ".versions.", ".env")
"""What Alembic runs by itself, and what would begin to work."""


def main(beyond: list[str]) -> None:
    """Import all of them but what this Airflow is too old for."""
    failed, names = {}, []
    for module in pkgutil.walk_packages(airflow_coordination.__path__, "airflow_coordination.", onerror=lambda _: None):
        if any(part in module.name for part in NOT_IMPORTED) or module.name in beyond:
            continue
        names.append(module.name)
        try:
            importlib.import_module(module.name)
        except Exception as error:
            failed[module.name] = error
    for name, error in failed.items():
        print(f"{name}: {type(error).__name__}: {error}")
    if failed:
        sys.exit(f"{len(failed)} of {len(names)} do not import")
    print(f"{len(names)} modules")


if __name__ == "__main__":
    main(sys.argv[1:])
