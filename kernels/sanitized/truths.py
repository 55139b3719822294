"""Hold results to the truth; a slow reference is asked once for a case."""

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from kernels.folder import OperatorFolder
from kernels.operator import OperatorCase
from kernels.sanitized.calls import Truth, Variant, copy_inputs

Parts = tuple[torch.Tensor, ...]


class WrongResultError(Exception):
    """A call returned something else than it should."""


class Truths:
    """What one case must give, and what was found right before."""

    def __init__(self, operator: OperatorFolder, case: OperatorCase) -> None:
        self._operator = operator
        self._case = case
        self._truths: dict[Truth, Parts] = {}
        self._right: dict[Truth, Parts] = {}
        """The last right results: most later ones are the same to the bit."""

    def check(self, name: str, result: Any, variant: Variant) -> None:
        """Compare a result with the truth of its variant, under the tolerance of its dtype.

        Raises:
            WrongResultError: another number of parts, another shape or value.
        """
        if variant.truth is None:
            return
        parts = _parts(result)
        if _are_same(parts, self._right.get(variant.truth)):
            return
        if variant.truth not in self._truths:
            self._truths[variant.truth] = self._ask(variant)
        dtype = str(variant.inputs[0][0].dtype).removeprefix("torch.")
        tolerances = self._operator.spec.tolerances
        tolerance = tolerances.get(dtype, tolerances["default"])
        try:
            torch.testing.assert_close(
                [part.double() for part in parts],
                [part.double() for part in self._truths[variant.truth]],
                atol=tolerance.absolute,
                rtol=tolerance.relative,
                equal_nan=True,
            )
        except AssertionError as error:
            raise WrongResultError(f"{name}: {error}") from error
        self._right[variant.truth] = parts

    def _ask(self, variant: Variant) -> Parts:
        if variant.truth == "reference":
            args, options = self._case.make()
            return _parts(self._operator.reference(*args, **options))
        args, options = copy_inputs(variant.inputs)
        return _parts(self._operator.custom(*args, **options))


def _parts(result: Any) -> Parts:
    return tuple(torch.as_tensor(part).detach() for part in tree_leaves(result))


def _are_same(parts: Parts, right: Parts | None) -> bool:
    return (
        right is not None
        and len(parts) == len(right)
        and all(
            part.dtype == other.dtype and torch.equal(part, other)
            for part, other in zip(parts, right, strict=True)
        )
    )
