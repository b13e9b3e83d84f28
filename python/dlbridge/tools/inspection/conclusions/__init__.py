"""What follows from an observation: differences, verdicts and oddities."""
