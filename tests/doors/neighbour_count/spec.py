"""How many of the eight neighbours are foreground: an operator brought from outside, in Python."""

from kernels.operator import OperatorSpec, Tolerance

SPEC = OperatorSpec(
    name="neighbour_count",
    summary="number of foreground neighbours, 0 to 8",
    schemas=("breakeven_doors::neighbour_count(Tensor mask) -> Tensor",),
    contexts=("inference_graph",),
    claim="latency",
    is_differentiable=False,
    dtypes=("bool", "uint8"),
    num_spatial_dims=(2,),
    tolerances={
        "default": Tolerance(1e-5, 0.0, "small integers, exact but for the mean's rounding")
    },
    bytes_per_voxel=5,
    flops_per_voxel=8,
    source="definition of the 8-neighbourhood",
)
