"""D: does the operator compile here, against which symbols?"""

import shutil

from stages.contract import (
    BuildResult,
    BuildVerdict,
    Implementation,
    PilotResult,
    Settings,
    Stage,
    SupportResult,
    execute,
    folder,
    known,
    open_chosen,
    read,
    read_if_taken,
    unknown,
)


def build_operator(settings: Settings) -> BuildResult:
    """Compile the operator's C++ sources into `reports/build_operator/<name>.so`.

    A build that fails is an answer: the path goes on with the best standard form.
    """
    from kernels.build import BuildFailed, build

    operator = open_chosen(settings.algorithm.operator)
    pilot = read_if_taken(Stage.pilot_accuracy, PilotResult)
    standard = (pilot or read(Stage.check_support, SupportResult)).implementation
    if not operator.sources:
        return BuildResult(
            stage=Stage.build_operator,
            next=Stage.validate_numerics,
            reason=f"{operator.spec.name} has no C++ sources: there is nothing to compile.",
            verdict=BuildVerdict.built,
            form="python",
            library=None,
            library_hash=None,
            build_s=unknown("there is nothing to compile"),
            compiler=None,
            undefined_symbols=(),
            error=None,
            implementation=standard,
        )
    try:
        built = build(operator)
    except BuildFailed as error:
        return _failed(operator.spec.name, str(error), standard)
    name = f"{operator.spec.name}.so"
    target = folder(Stage.build_operator) / name
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(built.library, target)
    return _describe_build(operator.spec.name, name, built.seconds, built.compiler, standard)


def _describe_build(
    operator: str, library: str, seconds: float, compiler: str, standard: Implementation
) -> BuildResult:
    import hashlib

    from kernels.build import undefined_torch_symbols

    path = folder(Stage.build_operator) / library
    try:
        symbols = undefined_torch_symbols(path)
        audit = "no undefined ATen or c10 symbol: it loads in every torch from 2.10 on"
        if symbols:
            audit = (
                f"{len(symbols)} undefined ATen or c10 symbols, such as {symbols[0]}: "
                f"it is tied to this torch"
            )
    except RuntimeError as error:  # nm is absent
        symbols, audit = (), f"symbols not audited ({error})"
    return BuildResult(
        stage=Stage.build_operator,
        next=Stage.validate_numerics,
        reason=f"{operator} was compiled by {compiler}; {audit}.",
        verdict=BuildVerdict.built,
        form="compiled",
        library=library,
        library_hash=hashlib.sha256(path.read_bytes()).hexdigest(),
        build_s=known(seconds),
        compiler=compiler,
        undefined_symbols=symbols,
        error=None,
        implementation=standard,
    )


def _failed(operator: str, error: str, standard: Implementation) -> BuildResult:
    return BuildResult(
        stage=Stage.build_operator,
        next=Stage.probe_budget,
        reason=f"{operator} does not build here, so the path goes on with {standard.rung} "
        f"{standard.name}: {error.splitlines()[0]}",
        verdict=BuildVerdict.failed,
        form="compiled",
        library=None,
        library_hash=None,
        build_s=unknown("the build failed"),
        compiler=None,
        undefined_symbols=(),
        error=error,
        implementation=standard,
    )


def main() -> None:
    """Run as `python -m stages.build_operator`."""
    execute(Stage.build_operator, build_operator)


if __name__ == "__main__":
    main()
