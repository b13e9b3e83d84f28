"""What a producer says, by every road it offers: the parts of dlbridge.inspect and its command."""
