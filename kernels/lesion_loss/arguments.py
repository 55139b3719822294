"""The arguments that every implementation takes, and their checks."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

KINDS = ("blob", "cc_dice_ce")
MAX_LABEL = 16383
"""kMaxLabel of csrc/lesion_loss.h."""
COEFFICIENT_ROWS = {"blob": 1, "cc_dice_ce": 3}
"""num_rows() of csrc/lesion_loss.h."""
LOGIT_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
LABEL_DTYPES = (torch.int32, torch.int64, torch.uint8)
REGION_DTYPES = (torch.int16, *LABEL_DTYPES)
WEIGHT_DTYPES = (torch.float32, torch.float64)


def check_arguments(
    logits: Tensor,
    target: Tensor,
    kind: str,
    regions: Tensor | None = None,
    spacing: Sequence[float] | None = None,
    ignore: Tensor | None = None,
    sample_weights: Tensor | None = None,
) -> None:
    """Check kind, dtypes, shapes and which options go together; no tensor's value is read.

    Raises:
        ValueError: one of them is not as `reference` describes it.
    """
    if kind not in KINDS:
        supported = ", ".join(map(repr, KINDS))
        raise ValueError(f"lesion_loss: kind must be one of {supported}, got {kind!r}")
    _check_dtype("logits", logits, LOGIT_DTYPES)
    if logits.ndim not in (4, 5) or logits.shape[1] != 1:
        raise ValueError(
            "lesion_loss: logits must be (N, 1, H, W) or (N, 1, D, H, W), got "
            f"{tuple(logits.shape)}"
        )
    _check_regions(logits, kind, regions, spacing)
    check_target(target, takes_mask=regions is not None)
    _check_shape("target", target, logits)
    if ignore is not None:
        _check_dtype("ignore", ignore, (torch.bool,))
        _check_shape("ignore", ignore, logits)
    if sample_weights is not None:
        _check_sample_weights(logits, sample_weights)


def check_target(target: Tensor, *, takes_mask: bool = False) -> None:
    """Check the dtype of component labels.

    Raises:
        ValueError: another dtype; a mask does not say which voxels form one lesion.
    """
    if target.dtype == torch.bool and not takes_mask:
        raise ValueError(
            "lesion_loss: target must be int32, int64 or uint8 component labels, got torch.bool: "
            "number the lesions of a mask with kernels.connected_components.connected_components"
        )
    _check_dtype("target", target, (*LABEL_DTYPES, torch.bool))


def check_spacing(spacing: Sequence[float], num_spatial_dims: int) -> None:
    """Check the size of a voxel along each spatial axis.

    Raises:
        ValueError: not one finite number above 0 for each axis.
    """
    if len(spacing) != num_spatial_dims or not all(math.isfinite(s) and s > 0 for s in spacing):
        raise ValueError(
            f"lesion_loss: spacing must be {num_spatial_dims} finite numbers > 0, one for each "
            f"spatial axis, got {tuple(spacing)}"
        )


def check_label_range(smallest: int, largest: int, name: str = "target") -> None:
    """Check the extreme labels.

    Raises:
        ValueError: a label is negative or above MAX_LABEL.
    """
    for label in (smallest, largest):
        if not 0 <= label <= MAX_LABEL:
            raise ValueError(
                f"lesion_loss: {name} must be 0 (background) to {MAX_LABEL}, got {label}"
            )


def result_dtype(logits: Tensor) -> torch.dtype:
    """float64 for float64 logits, float32 for all others."""
    return torch.float64 if logits.dtype == torch.float64 else torch.float32


def _check_regions(
    logits: Tensor, kind: str, regions: Tensor | None, spacing: Sequence[float] | None
) -> None:
    if kind == "blob" and (regions is not None or spacing is not None):
        raise ValueError(
            "lesion_loss: regions and spacing belong to kind 'cc_dice_ce'; leave them out for "
            "'blob'"
        )
    if regions is not None and spacing is not None:
        raise ValueError(
            "lesion_loss: expected regions or the spacing to compute them with, got both"
        )
    if regions is not None:
        _check_dtype("regions", regions, REGION_DTYPES)
        _check_shape("regions", regions, logits)
    if spacing is not None:
        check_spacing(spacing, logits.ndim - 2)


def _check_sample_weights(logits: Tensor, sample_weights: Tensor) -> None:
    _check_dtype("sample_weights", sample_weights, WEIGHT_DTYPES)
    if sample_weights.shape != logits.shape[:1]:
        raise ValueError(
            f"lesion_loss: sample_weights must be ({logits.shape[0]},), one for each sample, got "
            f"{tuple(sample_weights.shape)}"
        )
    if sample_weights.requires_grad:
        raise ValueError(
            "lesion_loss: sample_weights must not require a gradient, there is none with respect "
            "to them; pass sample_weights.detach()"
        )


def _check_dtype(name: str, tensor: Tensor, accepted: tuple[torch.dtype, ...]) -> None:
    if tensor.dtype not in accepted:
        *others, last = (str(dtype).removeprefix("torch.") for dtype in accepted)
        expected = f"{', '.join(others)} or {last}" if others else last
        raise ValueError(f"lesion_loss: {name} must be {expected}, got {tensor.dtype}")


def _check_shape(name: str, tensor: Tensor, logits: Tensor) -> None:
    if tensor.shape != logits.shape:
        raise ValueError(
            f"lesion_loss: {name} must have the shape of logits, got {tuple(tensor.shape)} for "
            f"{tuple(logits.shape)}"
        )
