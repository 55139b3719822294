"""The same number of threads for everyone who is timed.

edt is told with each call, SciPy and cc3d have one thread, and kornia and MONAI stand on torch.
"""

import sys
import time

import torch

_SETTLING_S = 0.002
"""Threads of the larger team may still be spinning, on our bill."""


def use_threads(count: int) -> None:
    """Set the number of threads, and have those that are new started before anything is timed."""
    previous = torch.get_num_threads()
    torch.set_num_threads(count)
    if "cv2" in sys.modules:
        sys.modules["cv2"].setNumThreads(count)
    if count > previous:
        torch.zeros(1 << 20).add_(1)
    elif count < previous:
        time.sleep(_SETTLING_S)
