"""The probes of consumers, C-01 to C-16: what they make of capsules that are made by hand."""
