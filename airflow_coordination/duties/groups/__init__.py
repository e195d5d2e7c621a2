"""Groups of duties: what happens by itself, in an order and at times of its own, by the names that Druid gives it."""
