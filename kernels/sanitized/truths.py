"""Hold results to the truth; a slow reference is asked once for each case."""

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
    """What each case must give, and what was found right before."""

    def __init__(self, operator: OperatorFolder) -> None:
        self._operator = operator
        self._truths: dict[tuple[str, Truth | None], Parts] = {}
        self._right: dict[tuple[str, Truth | None], Parts] = {}
        """The last right results: most later ones are the same to the bit."""

    def check(self, name: str, result: Any, case: OperatorCase, variant: Variant) -> None:
        """Compare a result with the truth of the case, under the tolerance of its dtype.

        Raises:
            WrongResultError: another number of parts, another shape or value.
        """
        key, parts = (case.name, variant.truth), _parts(result)
        if _are_same(parts, self._right.get(key)):
            return
        if key not in self._truths:
            self._truths[key] = self._ask(case, variant)
        dtype = str(variant.inputs[0][0].dtype).removeprefix("torch.")
        tolerances = self._operator.spec.tolerances
        tolerance = tolerances.get(dtype, tolerances["default"])
        try:
            torch.testing.assert_close(
                [part.detach().double() for part in parts],
                [part.detach().double() for part in self._truths[key]],
                atol=tolerance.absolute,
                rtol=tolerance.relative,
                equal_nan=True,
            )
        except AssertionError as error:
            raise WrongResultError(f"{name}: {error}") from error
        self._right[key] = parts

    def _ask(self, case: OperatorCase, variant: Variant) -> Parts:
        if variant.truth == "reference":
            args, options = case.make()
            return _parts(self._operator.reference(*args, **options))
        args, options = copy_inputs(variant.inputs)
        return _parts(self._operator.custom(*args, **options))


def _parts(result: Any) -> Parts:
    return tuple(torch.as_tensor(part) for part in tree_leaves(result))


def _are_same(parts: Parts, right: Parts | None) -> bool:
    return (
        right is not None
        and len(parts) == len(right)
        and all(
            part.dtype == other.dtype and torch.equal(part, other)
            for part, other in zip(parts, right, strict=True)
        )
    )
