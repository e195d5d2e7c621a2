"""The subcommands, by what people want: look, act, count, move, look after."""
