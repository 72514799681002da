"""The models room: what turns text into numbers or more text. Sees only ports and domain."""
