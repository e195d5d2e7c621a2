"""Topics of Kafka: one standing partition for each of their partitions."""
