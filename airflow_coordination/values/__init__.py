"""What everything speaks in: names, fences, times, JSON, errors. Text from outside becomes a value by a check."""
