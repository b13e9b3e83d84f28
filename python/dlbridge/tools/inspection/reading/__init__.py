"""What an object exports by each protocol: the observation."""
