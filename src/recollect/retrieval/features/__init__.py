"""What counts when memories are ranked: one module for each feature, one formula in each."""
