"""Share groups (KIP-932), the client's half: the core, its options, and what it is made of."""
