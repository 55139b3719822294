"""Plain facts on the lesion-wise loss."""

from kernels.operator import OperatorSpec, Tolerance

SPEC = OperatorSpec(
    name="lesion_loss",
    summary=(
        "Soft Dice loss of each lesion against background, or Dice and cross-entropy of each in "
        "its own region; mean over lesions, then samples."
    ),
    schemas=(
        "breakeven::lesion_loss(Tensor logits, Tensor target, str kind, Tensor? regions,"
        " Tensor? ignore, Tensor? sample_weights) -> (Tensor loss, Tensor coefficients)",
        "breakeven::lesion_loss_backward(Tensor grad, Tensor logits, Tensor target, str kind,"
        " Tensor? regions, Tensor? ignore, Tensor coefficients) -> Tensor",
        "breakeven::lesion_regions(Tensor target, Tensor nearest) -> Tensor",
    ),
    contexts=("training_step",),
    claim="accuracy",
    is_differentiable=True,
    dtypes=("float32", "float64", "float16", "bfloat16"),
    num_spatial_dims=(2, 3),
    tolerances={
        "float64": Tolerance(
            absolute=1e-12, relative=1e-12, reason="sums of up to 1e8 voxels in another order"
        ),
        "default": Tolerance(
            absolute=2e-7,
            relative=1e-6,
            reason="float32 probabilities, sums in double, a float32 result; half inputs are exact",
        ),
    },
    # Of kind "blob": forward reads float32 logits and int32 labels; backward reads both again and
    # writes the gradient.
    bytes_per_voxel=20.0,
    # An exponential of 15 and a division, twice, and a few more.
    flops_per_voxel=40.0,
    source=(
        "Kofler et al., blob loss: instance imbalance aware loss functions for semantic "
        "segmentation, IPMI 2023, arXiv:2205.08209; Bouteille et al., Learning to look closer: a "
        "new instance-wise loss for small cerebral lesion segmentation (CC-DiceCE), 2025, "
        "arXiv:2511.17146, after Jaus et al., Every component counts (CC-Metrics), "
        "arXiv:2410.18684; differences are listed in reference.py"
    ),
)
