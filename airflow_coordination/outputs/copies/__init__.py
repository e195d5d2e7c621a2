"""Copies of what is published: where they may lie, what is copied, and how readers find it there."""
