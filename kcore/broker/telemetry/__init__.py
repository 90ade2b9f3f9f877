"""Client telemetry (KIP-714), the broker's half: what clients are asked for, what they pushed."""
