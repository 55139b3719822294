"""The same number of threads for everyone who is timed.

edt is told with each call, SciPy and cc3d have one thread, and kornia and MONAI stand on torch.
"""

import sys
import time

import torch

_LOOK_S = 0.002
_MOST_LOOKS = 50
_AT_REST = 0.1
"""Share of a processor that this process may use while it waits for its threads to rest."""


def use_threads(count: int) -> None:
    """Set the number of threads, and have those that are new started before anything is timed."""
    previous = torch.get_num_threads()
    torch.set_num_threads(count)
    if "cv2" in sys.modules:
        sys.modules["cv2"].setNumThreads(count)
    if count > previous:
        torch.zeros(1 << 20).add_(1)
    elif count < previous:
        _let_threads_rest()


def _let_threads_rest() -> None:
    """Threads of the larger team spin a while for more work, and would go on our bill."""
    for _ in range(_MOST_LOOKS):
        wall, cpu = time.perf_counter(), time.process_time()
        time.sleep(_LOOK_S)
        if time.process_time() - cpu < _AT_REST * (time.perf_counter() - wall):
            return
