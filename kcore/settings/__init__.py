"""Options as users give them: names, parsers, and what consumers and producers have in common."""
