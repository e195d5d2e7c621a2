"""The table itself: made, checked, permitted, and taken over from Data Prepper."""
