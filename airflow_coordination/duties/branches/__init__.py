"""Branches as people use them: partitions that run again aside, are looked at, and show together."""
