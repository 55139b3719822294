"""D: is the operator right, in values, gradients, layouts, determinism and memory?"""

from stages.contract import (
    NumericsCheck,
    NumericsResult,
    NumericsVerdict,
    PilotResult,
    Settings,
    Stage,
    SupportResult,
    built_library,
    execute,
    open_chosen,
    read,
    read_if_taken,
)

CHECK_LIMIT_S = 60.0
"""A check takes a few seconds on a quiet machine of two cores."""
BATTERY_LIMIT_S = 1800.0
"""All of them take half a minute there; a busy machine is no fault of the operator."""


def validate_numerics(
    settings: Settings,
    check_limit_s: float = CHECK_LIMIT_S,
    battery_limit_s: float = BATTERY_LIMIT_S,
) -> NumericsResult:
    """Run the battery, in processes of its own; accepted only if every check passed."""
    from stages.numerics.growth import envelope_share, error_slope
    from stages.numerics.request import Request
    from stages.numerics.supervise import examine_folder

    operator = open_chosen(settings.algorithm.operator)
    pilot = read_if_taken(Stage.pilot_accuracy, PilotResult)
    standard = (pilot or read(Stage.check_support, SupportResult)).implementation
    library = built_library(operator)
    request = Request(
        folder=str(operator.path.resolve()),
        library=None if library is None else str(library.resolve()),
        device=settings.infrastructure.device,
        extent="quick",
        check_limit_s=check_limit_s,
        job_shape=read(Stage.check_support, SupportResult).input_shape,
    )
    checks = []
    for check in examine_folder(request, battery_limit_s):
        print(f"{check.name}: {'passed' if check.passed else 'FAILED'}, {check.detail}", flush=True)
        checks.append(check)
    growth = tuple(at for check in checks for at in check.growth)
    faults = [check for check in checks if not check.passed]
    if faults:
        verdict, following, reason = NumericsVerdict.rejected, Stage.probe_budget, _say_no(faults)
        reason += f" The path goes on with {standard.rung} {standard.name}."
    else:
        verdict, following = NumericsVerdict.accepted, Stage.embed_operator
        reason = _say_yes(operator.spec.name, tuple(checks))
    return NumericsResult(
        stage=Stage.validate_numerics,
        next=following,
        reason=reason,
        verdict=verdict,
        checks=tuple(checks),
        error_slope=error_slope(growth),
        envelope_share=envelope_share(growth),
        implementation=standard,
    )


def _say_no(faults: list[NumericsCheck]) -> str:
    first = faults[0]
    others = f" ({len(faults) - 1} more failed)" if len(faults) > 1 else ""
    return f"Rejected by the check of {first.name}: {first.detail}{others}."


def _say_yes(operator: str, checks: tuple[NumericsCheck, ...]) -> str:
    values = checks[0]
    error = values.largest_error.value
    largest = "" if error is None else f", largest error {error:.2g}"
    return (
        f"{operator} passed all {len(checks)} checks; values on {values.num_cases} inputs "
        f"against the float64 reference{largest}."
    )


def main() -> None:
    """Run as `python -m stages.validate_numerics`."""
    execute(Stage.validate_numerics, validate_numerics)


if __name__ == "__main__":
    main()
