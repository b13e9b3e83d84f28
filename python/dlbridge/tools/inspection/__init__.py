"""dlbridge.inspect and its command: the model (what was observed and concluded), and renderings."""
