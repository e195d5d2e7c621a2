"""Compaction, planned: what is merged next and why, and the groups that are made claimable for it."""
