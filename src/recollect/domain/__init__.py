"""The words of Recollect as values: records, scopes, filters, operations, and rules over them.

Standard library only. Nothing here reads a clock, draws a random number or touches a disk.
"""
