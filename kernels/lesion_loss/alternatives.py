"""Open-source libraries that compute this loss: none.

MONAI 1.6 has no instance-wise loss. The code published with blob loss has other semantics (see
`reference.py`), and so do losses per Voronoi region. The plain Dice of a library is another
function: a baseline of the pilot, not an implementation of this one.
"""

from kernels.operator import Library

LIBRARIES: tuple[Library, ...] = ()
