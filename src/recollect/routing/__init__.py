"""Which model answers: code goes to the code model, reasoning to the reasoning model.

Decides from the words of a request alone, so that it costs no call and works without a key. It
does not call a model, and does not know what a model can do or costs.
"""

from recollect.routing.router import Decision, Evidence, Router

__all__ = ["Decision", "Evidence", "Router"]
