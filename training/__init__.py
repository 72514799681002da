"""How the models of recollect[local] are made: data, questions by rule, training, export.

No part of the package. `python -m training --help` tells what it needs; README.md how it goes.
"""
