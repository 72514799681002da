"""What a text must not bring into the memory: secrets, personal data, orders from strangers."""
