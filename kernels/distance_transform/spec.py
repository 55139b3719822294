"""Plain facts on the distance transform."""

from kernels.operator import OperatorSpec, Tolerance

SPEC = OperatorSpec(
    name="distance_transform",
    summary=(
        "Euclidean distance of every nonzero voxel to the nearest zero voxel, in units of the "
        "spacing, which may differ between axes; 0 at zero voxels, +inf without any zero voxel; "
        "on request signed, and with the flat index of the nearest voxel"
    ),
    schemas=(
        "breakeven::distance_transform(Tensor mask, float[] spacing, int spatial_dims, "
        "bool signed=False) -> Tensor",
        "breakeven::distance_transform.out(Tensor mask, float[] spacing, int spatial_dims, "
        "bool signed=False, *, Tensor(a!) out) -> Tensor(a!)",
        "breakeven::distance_transform_nearest(Tensor mask, float[] spacing, int spatial_dims, "
        "bool signed=False) -> (Tensor, Tensor)",
    ),
    contexts=("inference_graph",),
    claim="latency",
    is_differentiable=False,
    dtypes=(
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
    ),
    num_spatial_dims=(1, 2, 3),
    tolerances={
        "default": Tolerance(
            absolute=0.0,
            relative=1e-6,
            reason=(
                "float32 results: in a composition squared spacing, two sums of squares, root and "
                "scale round once each, by 2**-24, and the root halves what came before it; the "
                "operator itself is within one unit in the last place, 2**-23"
            ),
        ),
    },
    bytes_per_voxel=5.0,
    flops_per_voxel=6.0,
    source=(
        "Felzenszwalb and Huttenlocher, Distance Transforms of Sampled Functions, "
        "Theory of Computing 8 (2012), doi:10.4086/toc.2012.v008a019; "
        "conventions of scipy.ndimage.distance_transform_edt"
    ),
)
