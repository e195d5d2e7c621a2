"""What a shell makes of a line that a person types."""

import subprocess


def words(line):
    """Return the words of a line that was typed into bash."""
    said = subprocess.run(
        ["bash", "-c", f"set -- {line}; printf '%s\\0' \"$@\""],
        capture_output=True,
        check=True,
        env={"LC_ALL": "C.UTF-8"},
    )
    return said.stdout.decode().split("\0")[:-1]
