"""How much memory this process has held."""

import resource


def peak_memory_bytes(device: str) -> int:
    """Most bytes held since the process started: allocated on the GPU, or resident on the CPU."""
    if device.startswith("cuda"):
        import torch

        return int(torch.cuda.max_memory_allocated(device))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
