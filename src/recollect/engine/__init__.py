"""The use-cases: what remembering, recalling, correcting and forgetting mean.

Written once, async. Engine code awaits ports and nothing else, so that it can also be stepped
through without a loop when every port is local.
"""
