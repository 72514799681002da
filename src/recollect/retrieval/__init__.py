"""How questions are understood and answers ranked: pure functions over texts and columns."""
