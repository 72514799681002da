"""The words of Recollect as values: records, scopes, filters, operations, and the pure rules over them.

Standard library only. Nothing here reads a clock, draws a random number or touches a disk.
"""
