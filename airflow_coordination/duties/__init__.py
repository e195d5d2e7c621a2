"""Duties, which are done by themselves: one small class each, one runner for sensor, operator and command line."""
