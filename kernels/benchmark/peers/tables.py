"""Counts and tables of components, as one makes them with libraries or standard operators."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from kernels.benchmark.peers.components import num_neighbours
from kernels.benchmark.scene import Call, Entrant, Inputs


def _cc3d_count(inputs: Inputs) -> Call:
    import cc3d

    mask, neighbours = inputs.args[0].numpy(), num_neighbours(inputs)
    return lambda: cc3d.connected_components(mask, connectivity=neighbours, return_N=True)[1]


def _scipy_count(inputs: Inputs) -> Call:
    from scipy import ndimage

    mask = inputs.args[0].numpy()
    structure = ndimage.generate_binary_structure(mask.ndim, mask.ndim)
    return lambda: ndimage.label(mask, structure)[1]


def _cc3d_table(inputs: Inputs) -> Call:
    import cc3d
    import numpy as np

    mask, neighbours = inputs.args[0].numpy(), num_neighbours(inputs)
    weights = [value.numpy() for value in inputs.keywords.get("values", ())]

    def measure() -> Any:
        labels = cc3d.connected_components(mask, connectivity=neighbours)
        counts = cc3d.statistics(labels, no_slice_conversion=True)["voxel_counts"]
        flat = labels.ravel()
        sums = [np.bincount(flat, weight.ravel(), len(counts)) for weight in weights]
        return counts[1:], np.stack(sums, 1)[1:] if sums else None

    return measure


def _labelled_by(label: Callable[..., Tensor]) -> Callable[[Inputs], Call]:
    """Label, then sum over the foreground by index in float64, in standard operators."""

    def prepare(inputs: Inputs) -> Call:
        mask = inputs.args[0]
        values = inputs.keywords.get("values", ())

        def measure() -> tuple[Tensor, Tensor]:
            labels = label(mask).reshape(-1)
            places = labels.nonzero().squeeze(1)
            row = labels[places].to(torch.int64) - 1
            voxels = torch.bincount(row)
            coordinates = torch.stack(torch.unravel_index(places, mask.shape), 1).double()
            lowest = coordinates.new_full((len(voxels), mask.ndim), torch.inf)
            index = row[:, None].expand_as(coordinates)
            lowest.scatter_reduce(0, index, coordinates, "amin")
            (-lowest).scatter_reduce(0, index, coordinates, "amax")
            coordinates.new_zeros(lowest.shape).index_add(0, row, coordinates)
            inside = torch.stack([value.reshape(-1)[places].double() for value in values], 1)
            least = inside.new_full((len(voxels), len(values)), torch.inf)
            least.scatter_reduce(0, row[:, None].expand_as(inside), inside, "amin")
            return voxels, inside.new_zeros(least.shape).index_add(0, row, inside)

        return measure

    return prepare


def _our_labels(mask: Tensor) -> Tensor:
    from kernels.connected_components import connected_components

    return connected_components(mask)


def _composed_labels(mask: Tensor) -> Tensor:
    from kernels.connected_components.by_runs import label_by_runs

    return label_by_runs(mask)


COUNT_PEERS = (
    Entrant("cc3d", "library", _cc3d_count, "connected-components-3d", uses_threads=False),
    Entrant("SciPy", "library", _scipy_count, "scipy", uses_threads=False),
)
TABLE_PEERS = (
    Entrant(
        "cc3d statistics + bincount",
        "library",
        _cc3d_table,
        "connected-components-3d",
        uses_threads=False,
    ),
    Entrant("our labels + torch operators", "composition", _labelled_by(_our_labels)),
    Entrant("runs + torch operators", "composition", _labelled_by(_composed_labels)),
)
