"""What charts of the board need."""
