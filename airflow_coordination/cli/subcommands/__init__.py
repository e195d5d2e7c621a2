"""What the commands do, by what people want: look, act, count, move, look after."""
