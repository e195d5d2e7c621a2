"""What nobody reads any more: what may be marked so, and what may be deleted."""
