"""The arguments that every implementation takes, and their checks."""

import torch
from torch import Tensor

KINDS = ("blob",)
MAX_LABEL = 16383
"""kMaxLabel of csrc/lesion_loss.h."""
LOGIT_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
LABEL_DTYPES = (torch.int32, torch.int64, torch.uint8)


def check_arguments(logits: Tensor, labels: Tensor, kind: str) -> None:
    """Check kind, dtypes and shapes; no value is read.

    Raises:
        ValueError: one of them is not as `reference` describes it.
    """
    if kind not in KINDS:
        supported = ", ".join(map(repr, KINDS))
        raise ValueError(f"lesion_loss: kind must be one of {supported}, got {kind!r}")
    if logits.dtype not in LOGIT_DTYPES:
        raise ValueError(
            f"lesion_loss: logits must be float32, float64, float16 or bfloat16, got {logits.dtype}"
        )
    if labels.dtype not in LABEL_DTYPES:
        raise ValueError(f"lesion_loss: labels must be int32, int64 or uint8, got {labels.dtype}")
    if logits.ndim not in (4, 5) or logits.shape[1] != 1:
        raise ValueError(
            "lesion_loss: logits must be (N, 1, H, W) or (N, 1, D, H, W), got "
            f"{tuple(logits.shape)}"
        )
    if labels.shape != logits.shape:
        raise ValueError(
            f"lesion_loss: labels must have the shape of logits, got {tuple(labels.shape)} for "
            f"{tuple(logits.shape)}"
        )


def check_label_range(smallest: int, largest: int) -> None:
    """Check the extreme labels.

    Raises:
        ValueError: a label is negative or above MAX_LABEL.
    """
    for label in (smallest, largest):
        if not 0 <= label <= MAX_LABEL:
            raise ValueError(
                f"lesion_loss: labels must be 0 (background) to {MAX_LABEL}, got {label}"
            )


def result_dtype(logits: Tensor) -> torch.dtype:
    """float64 for float64 logits, float32 for all others."""
    return torch.float64 if logits.dtype == torch.float64 else torch.float32
