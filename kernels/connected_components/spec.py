"""Plain facts on connected-component labelling."""

from kernels.operator import OperatorSpec, Tolerance

SPEC = OperatorSpec(
    name="connected_components",
    summary="Number the components of a mask from 1, in raster order of their first voxels.",
    schemas=(
        "breakeven::connected_components(Tensor mask, int connectivity, int spatial_dims)"
        " -> Tensor",
        "breakeven::connected_components.out(Tensor mask, int connectivity, int spatial_dims,"
        " *, Tensor(a!) out) -> Tensor(a!)",
        "breakeven::component_count(Tensor mask, int connectivity, int spatial_dims) -> Tensor",
        "breakeven::component_table(Tensor mask, Tensor[] values, int connectivity,"
        " int spatial_dims) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)",
    ),
    contexts=("inference_graph",),
    claim="latency",
    is_differentiable=False,
    dtypes=("bool", "uint8", "int32", "int64", "float32", "float64"),
    num_spatial_dims=(1, 2, 3),
    tolerances={
        "default": Tolerance(
            absolute=0.0, relative=0.0, reason="labels are integers with one canonical numbering"
        )
    },
    bytes_per_voxel=5.0,
    flops_per_voxel=0.0,
    source=(
        "Rosenfeld and Pfaltz, Sequential operations in digital picture processing, J. ACM 13 "
        "(1966); connectivity as in scikit-image's skimage.measure.label"
    ),
)
