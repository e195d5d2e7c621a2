"""What happens by itself, on the board: groups of duties, their configuration, and what people do to them."""
