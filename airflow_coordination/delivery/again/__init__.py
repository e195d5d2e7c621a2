"""Dead letters, delivered again: which of them are whose work, and the balance of the partition that set them aside."""
