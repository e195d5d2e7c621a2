"""What runs by itself, and how: the dynamic configuration, and groups of duties from Druid's properties."""
