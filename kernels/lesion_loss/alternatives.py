"""Open-source libraries that compute this loss: none on the package index.

MONAI 1.6 and kornia 0.9 have no instance-wise loss. The code published with blob loss is a file in
a repository (github.com/neuronflow/blob_loss), that of CC-DiceCE a fork of nnU-Net that needs a GPU
and CuPy; `reference.py` says where their semantics differ. `ccmetrics` computes CC-Metrics through
NumPy: a metric, without a gradient. The plain Dice of a library is another function: a baseline of
the pilot, not an implementation of this one.
"""

from kernels.operator import Library

LIBRARIES: tuple[Library, ...] = ()
