"""What the sensor's waiting does in the triggerer."""
