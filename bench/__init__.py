"""The measurements of `make bench`. Numerical libraries keep to one thread, ours and theirs."""

import os

for _library in ("OPENBLAS", "MKL", "OMP", "VECLIB_MAXIMUM", "BLIS"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"

#: Vectors are given, so that what is measured is the memory and not the model.
os.environ["RECOLLECT_EMBEDDER"] = "none"
