"""What every standard implementation is held against: the operator's cases and the job's calls."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kernels.folder import OperatorFolder
from kernels.operator import Tolerance
from stages.evidence.scene import Scene
from stages.measuring.attempts import Attempt, attempt
from stages.measuring.capture import Call
from stages.numerics.comparison import compare, tolerance_for
from stages.numerics.correctness import Truth, find_right_implementation, find_truths
from stages.numerics.exporting import Outcome
from stages.numerics.standing import Standing, check_tracing, find_standing

Implementation = Callable[..., Any]
TRUTHS_LIMIT_S = 15.0
"""The reference is slow by intent; a quiet machine needs a few seconds."""


@dataclass(frozen=True)
class Yardstick:
    """Inputs with right results, small ones from the cases and real ones from the job."""

    operator: OperatorFolder
    truths: tuple[Truth, ...]
    """What the float64 reference says on the named cases."""
    calls: tuple[Call, ...]
    """The operator's inputs and outputs in one run of the real job; at least one."""
    device: str

    def examine(self, implementation: Implementation) -> Standing:
        """Right, differentiable, exportable, on the named cases."""
        like = self.calls[0].args[0]
        return find_standing(implementation, self.operator, self.truths, like, self.device)

    def trace(self, implementation: Implementation) -> Outcome:
        """Whether the compiler's tracer takes it, and what it makes of it is right."""
        like = self.calls[0].args[0]
        return check_tracing(implementation, self.operator, self.truths, like, self.device)

    def attempt(self, implementation: Implementation) -> Attempt:
        """Call it once with everything that the real job asks for."""
        return attempt([implementation] * len(self.calls), self.calls)

    def confirm(self, standing: Standing, tried: Attempt) -> Standing:
        """The same standing, or that of a wrong one where the results at the real size are."""
        wrong = self._find_difference(tried)
        return replace(standing, is_right=False, detail=wrong) if wrong else standing

    def _find_difference(self, tried: Attempt) -> str | None:
        """What differs from the recorded run, beyond the tolerance of either."""
        for call, result in zip(self.calls, tried.results, strict=False):
            expected = call.output if call.gradient is None else call.gradient
            one = tolerance_for(self.operator.spec.tolerances, (call.args, call.kwargs))
            both = Tolerance(
                2 * one.absolute, 2 * one.relative, "each of the two may use up its own"
            )
            found = compare(result, expected, both)
            if not found.is_within:
                return f"at the real size: {found.detail}"
        return None


def make_yardstick(operator: OperatorFolder, scene: Scene, device: str) -> Yardstick:
    """Ask the reference about the cases, and record the job with the first right implementation.

    Libraries are asked first: they are quickest.
    """
    truths = find_truths(operator, TRUTHS_LIMIT_S)
    implementation = find_right_implementation(operator, truths, device)
    calls = scene.record(operator.spec.name, implementation)
    return Yardstick(operator, truths, calls, device)
