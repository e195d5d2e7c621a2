"""For tests of coordinated work: ours and yours."""
