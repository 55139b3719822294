"""Compositions of standard PyTorch operators, all differentiable by autograd.

Only a few sums over the background, over each lesion and over each region are needed.
"""

from kernels.lesion_loss.by_index import all_voxels, lesion_voxels
from kernels.lesion_loss.by_loop import lesion_loop
from kernels.operator import Composition

COMPOSITIONS = (
    Composition(
        "lesion_voxels",
        lesion_voxels,
        "lesion voxels by nonzero + index_add, the rest densely or by index_add into a short table",
    ),
    Composition("all_voxels", all_voxels, "scatter_add of every voxel into a table of fixed width"),
    Composition("lesion_loop", lesion_loop, "one masked loss for each lesion"),
)
