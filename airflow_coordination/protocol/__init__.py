"""The lease protocol as values and rules: partition, writes, the operation table, and what a store must do."""
