"""What is watched while others work: the loss of many of them at once."""
