"""Dead letters, delivered again by the driver of another partition: in the name of the one that has set them aside."""
