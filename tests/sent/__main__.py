"""Write what each engine is sent, text by text, for a review: ``make sent``.

usage: python -m tests.sent FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.sent.counting import everywhere


def main(folder: Path) -> None:
    """Write a file for each engine."""
    folder.mkdir(parents=True, exist_ok=True)
    with everywhere() as records:
        for name, record in records.items():
            (folder / f"{name}.txt").write_text(record.tape.text())
            print(f"written: {folder / name}.txt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
