"""D: does the operator compile here, for which devices, against which symbols?"""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from stages.contract import (
    BuildResult,
    BuildStatus,
    BuildVerdict,
    DeviceBuild,
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

if TYPE_CHECKING:
    from kernels.build import Built
    from kernels.folder import OperatorFolder


def build_operator(settings: Settings) -> BuildResult:
    """Compile the operator's sources into `reports/build_operator/<name>.so`.

    A build that fails for the job's device is an answer: the path goes on with the best standard
    form. One for another device is told and changes nothing.
    """
    operator = open_chosen(settings.algorithm.operator)
    name = operator.spec.name
    pilot = read_if_taken(Stage.pilot_accuracy, PilotResult)
    standard = (pilot or read(Stage.check_support, SupportResult)).implementation
    if not operator.sources:
        return _in_python(name, standard)
    cpu, built = _build_cpu(operator)
    devices = (cpu, _build_cuda(operator, built))
    runs_on_cuda = settings.infrastructure.device.startswith("cuda") and operator.cuda_sources
    wanted = devices[1] if runs_on_cuda else cpu
    if built is None or not wanted.is_in_library:
        return _failed(name, cpu if built is None else wanted, devices, standard)
    target = folder(Stage.build_operator) / f"{name}.so"
    target.parent.mkdir(parents=True, exist_ok=True)
    _replace(target, built.library)
    return _succeeded(name, target, built, devices, standard)


def _build_cpu(operator: "OperatorFolder") -> "tuple[DeviceBuild, Built | None]":
    from kernels.build import BuildFailed, build

    try:
        built = build(operator)
    except BuildFailed as error:
        failed = DeviceBuild(
            device="cpu", status=BuildStatus.failed, detail=str(error), errors=error.errors
        )
        return failed, None
    made = DeviceBuild(
        device="cpu",
        status=BuildStatus.built,
        detail=f"in {built.compile_s:.1f} s, {_count(built.num_warnings, 'warning')}",
        is_in_library=True,
        compiler=built.compiler,
        num_warnings=built.num_warnings,
    )
    return made, built


def _build_cuda(operator: "OperatorFolder", built: "Built | None") -> DeviceBuild:
    """What became of the CUDA sources; where they cannot be linked they are compiled all the same,
    so that a fault in them shows on a machine without a GPU."""
    from kernels.build import CudaBuilt, CudaNotBuilt, compile_cuda

    linked = built.cuda if built is not None else None
    is_settled = isinstance(linked, CudaBuilt) or (linked is not None and linked.was_tried)
    answer = linked if linked is not None and is_settled else compile_cuda(operator)
    if isinstance(answer, CudaNotBuilt):
        status = BuildStatus.failed if answer.was_tried else BuildStatus.not_tried
        return DeviceBuild(device="cuda", status=status, detail=answer.reason, errors=answer.errors)
    detail = f"for {', '.join(f'sm_{number}' for number in answer.architectures)}"
    if isinstance(linked, CudaNotBuilt):
        detail += f", not linked: {linked.reason}"
    return DeviceBuild(
        device="cuda",
        status=BuildStatus.built,
        detail=detail,
        is_in_library=answer is linked,
        compiler=answer.compiler,
        num_warnings=answer.num_warnings,
    )


def _succeeded(
    operator: str,
    target: Path,
    built: "Built",
    devices: tuple[DeviceBuild, ...],
    standard: Implementation,
) -> BuildResult:
    from kernels.build.store import digest_of

    symbols, audit = _audit(target)
    cuda = devices[1]
    return BuildResult(
        stage=Stage.build_operator,
        next=Stage.validate_numerics,
        reason=f"{operator} was compiled by {built.compiler} {devices[0].detail}; {audit}. "
        f"CUDA: {_say(cuda)}.",
        verdict=BuildVerdict.built,
        form="compiled",
        library=target.name,
        library_hash=digest_of(target),
        build_s=known(built.compile_s),
        compiler=built.compiler,
        devices=devices,
        undefined_symbols=symbols,
        error=None,
        implementation=standard,
    )


def _audit(library: Path) -> tuple[tuple[str, ...], str]:
    """Undefined ATen and c10 symbols, and what they mean: a binary that has some is built, and
    serves as long as torch is the same; it is the upkeep that they cost."""
    import torch

    from kernels.build import undefined_torch_symbols

    try:
        symbols = undefined_torch_symbols(library)
    except RuntimeError as error:  # nm is absent
        return (), f"symbols not audited ({error})"
    if not symbols:
        return (), "no undefined ATen or c10 symbol: it loads in every torch from 2.10 on"
    return symbols, (
        f"not on the stable ABI, {_count(len(symbols), 'undefined ATen or c10 symbol')}, such as "
        f"{symbols[0]}: it is tied to torch {torch.__version__} and must be rebuilt with each other"
    )


def _failed(
    operator: str,
    wanted: DeviceBuild,
    devices: tuple[DeviceBuild, ...],
    standard: Implementation,
) -> BuildResult:
    first = wanted.detail.splitlines()[0]
    where = "here" if wanted.device == "cpu" else f"here for {wanted.device}"
    return BuildResult(
        stage=Stage.build_operator,
        next=Stage.probe_budget,
        reason=f"{operator} does not build {where}, so the path goes on with {standard.rung} "
        f"{standard.name}: {first}",
        verdict=BuildVerdict.failed,
        form="compiled",
        library=None,
        library_hash=None,
        build_s=unknown("the build failed"),
        compiler=None,
        devices=devices,
        undefined_symbols=(),
        error=wanted.detail,
        implementation=standard,
    )


def _in_python(operator: str, standard: Implementation) -> BuildResult:
    return BuildResult(
        stage=Stage.build_operator,
        next=Stage.validate_numerics,
        reason=f"{operator} has no C++ sources: there is nothing to compile.",
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


def _say(device: DeviceBuild) -> str:
    """One device in a clause, such as "not tried, nvcc was not found"."""
    separator = " " if device.status is BuildStatus.built else ", "
    return f"{device.status.replace('_', ' ')}{separator}{device.detail.splitlines()[0]}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _replace(target: Path, library: Path) -> None:
    """Put a copy in place at once: another process may have the one before in its memory."""
    fresh = target.with_suffix(".new")
    shutil.copyfile(library, fresh)
    fresh.replace(target)


def main() -> None:
    """Run as `python -m stages.build_operator`."""
    execute(Stage.build_operator, build_operator)


if __name__ == "__main__":
    main()
