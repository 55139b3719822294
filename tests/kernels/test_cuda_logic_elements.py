"""How CUDA code reads and writes single elements, executed on the CPU."""

from pathlib import Path

import numpy as np
import torch
from host_programs import build_program, case_bytes


def test_elements_are_read_and_written_as_torch_does(tmp_path: Path) -> None:
    """Every float16 and bfloat16 is read exactly; float32 is rounded to them, ties to even; the
    bits of a mask are set for all but 0 and -0.
    """
    random = np.random.default_rng(1)
    bits = random.integers(0, 2**32, 200_000, dtype=np.uint64).astype(np.uint32)
    # The edges: ties, subnormals of both, the largest ones, zeros, infinities, NaN.
    low = np.array([0x1000, 0x0FFF, 0x1001, 0x3000, 0x8000, 0x7FFF, 0x18000, 0], np.uint32)
    high = np.arange(0x200, dtype=np.uint32) << 23
    numbers = np.concatenate([bits, (high[:, None] | low).ravel()]).view(np.float32)
    program = build_program("elements", "connected_components", tmp_path)
    results = program.run([case_bytes([len(numbers)], numbers)])
    every = torch.arange(2**16, dtype=torch.int32).to(torch.int16)
    floats = torch.from_numpy(numbers)
    for dtype in (torch.float16, torch.bfloat16):
        found = torch.from_numpy(results.take("f4", 2**16).copy())
        truth = every.view(dtype).float()
        torch.testing.assert_close(found, truth, rtol=0, atol=0, equal_nan=True)
    for dtype in (torch.float16, torch.bfloat16):
        found = torch.from_numpy(results.take("i2", len(numbers)).copy()).view(dtype)
        torch.testing.assert_close(found, floats.to(dtype), rtol=0, atol=0, equal_nan=True)
    expected = np.packbits(numbers != 0, bitorder="little")
    for _ in ("float32", "float64"):
        words = results.take("u4", (len(numbers) + 31) // 32)
        np.testing.assert_array_equal(words.view(np.uint8)[: len(expected)], expected)
    results.assert_empty()
