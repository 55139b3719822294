"""Which suite benchmarks an operator: one of its own, or what its folder declares."""

from kernels.benchmark.scene import Suite
from kernels.benchmark.suites import connected_components, distance_transform, lesion_loss
from kernels.benchmark.suites.foreign import suite_of_folder

BUNDLED = {
    suite.operator: suite
    for suite in (connected_components.SUITE, distance_transform.SUITE, lesion_loss.SUITE)
}


def find_suite(operator: str) -> Suite:
    """The suite of a bundled operator, or of the folder at a path.

    Raises:
        FileNotFoundError: neither; the message names the bundled ones.
    """
    return BUNDLED[operator] if operator in BUNDLED else suite_of_folder(operator)
