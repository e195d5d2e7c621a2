"""Links from a task instance to where its work can be watched."""
