"""What happens by itself: one small class each, one runner for sensor, operator and command line."""
