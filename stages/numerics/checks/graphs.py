"""The operator in graphs: opcheck, compiled, exported and reloaded, packaged, batched."""

import os
import tempfile
from pathlib import Path
from typing import Any

import torch

from stages.numerics.apart import brief
from stages.numerics.checks.differentiation import takers
from stages.numerics.checks.fakes import is_missing_fake, no_schema
from stages.numerics.checks.samples import sample
from stages.numerics.comparison import compare, map_tensors, tensors
from stages.numerics.exporting import CallModule, export_and_reload, quietly
from stages.numerics.listener import registered_calls
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target


def _few(target: Target, count: int, most: int = 5_000) -> list[Probe]:
    """Calls with more than one element in every axis, so that nothing is specialised, if any."""
    with_tensors = [probe for probe in target.promise.probes if probe.tensors]
    fitting = [p for p in with_tensors if min(p.tensors[0].shape, default=0) > 1]
    return sample(fitting or with_tensors, count, least=4, most=most)


def _test_opcheck(target: Target, probe: Probe) -> Seen:
    names = set(target.schemas)
    inputs = probe.inputs()
    has_gradient = target.promise.is_twice_differentiable is not None
    leaves = takers(target, inputs) if has_gradient else []
    calls = registered_calls(target.call, inputs, names, leaves)
    if not calls:
        return Seen(f"the call never reaches {', '.join(sorted(names))}")
    for operator, args, kwargs in calls:
        try:
            with quietly():
                torch.library.opcheck(operator, args, kwargs)
        except Exception as error:  # opcheck raises its own kinds, by test
            return Seen(f"opcheck: {brief(error)}")
    return Seen()


def _held(target: Target, probe: Probe, result: Any, how: str) -> Seen:
    found = compare(result, target.answer(probe), target.promise.tolerance(probe))
    return Seen(
        None if found.is_within else f"{how} differs from eager: {found.detail}", found.largest
    )


def _test_compiled(target: Target, probe: Probe) -> Seen:
    module = CallModule(target.call, probe.plain())
    torch._dynamo.reset()
    try:
        with torch.no_grad(), quietly():
            compiled = torch.compile(module, fullgraph=True, dynamic=False, backend="aot_eager")
            result = compiled(*module.tensors)
    except Exception as error:
        return Seen(_say_graph_fault("torch.compile", error))
    return _held(target, probe, result, "compiled")


def _test_dynamic(target: Target, probe: Probe) -> Seen:
    """One graph for several sizes: compiled for one, called with a smaller one."""
    torch._dynamo.reset()
    smaller = probe.with_tensors(lambda t: t[..., :-1].contiguous() if _is_cut(t, probe) else t)
    compiled = torch.compile(target.call, fullgraph=True, dynamic=True, backend="aot_eager")
    for shown in (probe, smaller):
        try:
            expected = target.answer(shown)
        except Exception:
            return Seen()
        args, kwargs = shown.plain()
        try:
            with torch.no_grad(), quietly():
                result = compiled(*args, **kwargs)
        except Exception as error:
            return Seen(_say_graph_fault("torch.compile with dynamic shapes", error))
        found = compare(result, expected, target.promise.tolerance(shown))
        if not found.is_within:
            return Seen(f"compiled for other sizes it differs from eager: {found.detail}")
    return Seen()


def _is_cut(tensor: torch.Tensor, probe: Probe) -> bool:
    return tensor.dim() > 0 and tensor.shape[-1] == probe.tensors[0].shape[-1] > 2


def _test_exported(target: Target, probe: Probe) -> Seen:
    """Exported, saved, loaded; held on the inputs, and on them reversed."""
    module = CallModule(target.call, probe.plain())
    try:
        with torch.no_grad():
            reloaded = export_and_reload(module, module.tensors)
    except Exception as error:
        return Seen(_say_graph_fault("torch.export", error))
    for shown in (probe, probe.with_tensors(_reversed)):
        try:
            expected = target.answer(shown)
        except Exception:
            continue
        with torch.no_grad():
            result = reloaded(*tensors(shown.plain()))
        found = compare(result, expected, target.promise.tolerance(shown))
        if not found.is_within:
            return Seen(f"exported and reloaded it differs: {found.detail}")
    return Seen()


def _reversed(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.flip(-1).contiguous() if tensor.dim() else tensor


def _test_packaged(target: Target, probe: Probe) -> Seen:
    """Through AOTInductor: right where it answers, and inputs of another shape, order or dtype are
    refused or answered rightly, as its own input check promises when it is asked for."""
    os.environ["AOTI_RUNTIME_CHECK_INPUTS"] = "1"
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    module = CallModule(target.call, probe.plain())
    with tempfile.TemporaryDirectory(prefix="breakeven-package-") as scratch:
        package = str(Path(scratch) / "operator.pt2")
        try:
            with torch.no_grad(), quietly():
                program = torch.export.export(module, module.tensors)
                torch._inductor.aoti_compile_and_package(program, package_path=package)
                runner = torch._inductor.aoti_load_package(package)
        except Exception as error:
            return Seen(_say_graph_fault("AOTInductor", error))
        for name, shown in _offered(probe):
            seen = _run_packaged(target, runner, name, shown)
            if seen.fault is not None:
                return seen
    return Seen()


def _offered(probe: Probe) -> list[tuple[str, Probe]]:
    from dataclasses import replace

    offered = [("as compiled", probe), ("reversed", probe.with_tensors(_reversed))]
    first = probe.tensors[0]
    if first.dim() > 1:
        offered.append(("in Fortran order", replace(probe, layouts={0: "transposed"})))
    offered.append(
        (
            "of a smaller size",
            probe.with_tensors(lambda t: t[..., :-1].contiguous() if _is_cut(t, probe) else t),
        )
    )
    return offered


def _run_packaged(target: Target, runner: Any, name: str, probe: Probe) -> Seen:
    try:
        expected = target.answer(probe)
    except Exception:
        return Seen()
    try:
        result = runner(*tensors(probe.inputs()))
    except Exception as error:
        if name in ("as compiled", "reversed"):
            return Seen(f"the package refuses inputs {name}: {brief(error)}")
        return Seen()
    outputs = list(result) if isinstance(result, list | tuple) else [result]
    found = compare(outputs, tensors(expected), target.promise.tolerance(probe))
    if found.is_within:
        return Seen(None, found.largest)
    return Seen(f"the package answers inputs {name} wrongly, without an error: {found.detail}")


def _test_vmap(target: Target, probe: Probe) -> Seen:
    args, kwargs = probe.plain()
    batched = map_tensors(lambda t: torch.stack((t, t.flip(-1) if t.dim() else t)), args)
    places = tuple(0 if isinstance(value, torch.Tensor) else None for value in args)
    result = torch.vmap(lambda *given: target.call(*given, **kwargs), in_dims=places)(*batched)
    expected = torch.stack([target.answer(probe), target.answer(probe.with_tensors(_reversed))])
    found = compare(result, expected, target.promise.tolerance(probe))
    return Seen(None if found.is_within else f"under vmap it differs: {found.detail}")


def _say_graph_fault(way: str, error: Exception) -> str:
    if is_missing_fake(error):
        return f"{way} fails, since there is no fake kernel: {brief(error, 160)}"
    return f"{way} fails: {brief(error)}"


def _without_batching(target: Target) -> str | None:
    return None if target.promise.has_batching_rule else "no batching rule is declared"


OPCHECK = Check(
    "opcheck",
    "schema, autograd and fake registrations agree, says torch.library.opcheck",
    lambda target: _few(target, 4),
    _test_opcheck,
    no_schema,
)
COMPILED = Check(
    "compiled",
    "compiled into one graph it gives what it gives eagerly",
    lambda target: _few(target, 6),
    _test_compiled,
    no_schema,
    can_shrink=False,
)
DYNAMIC = Check(
    "dynamic",
    "one compiled graph serves several sizes",
    lambda target: _few(target, 3),
    _test_dynamic,
    no_schema,
    can_shrink=False,
)
EXPORTED = Check(
    "exported",
    "exported, saved and loaded it gives what it gives eagerly",
    lambda target: _few(target, 4),
    _test_exported,
    no_schema,
    can_shrink=False,
)
PACKAGED = Check(
    "packaged",
    "through AOTInductor it is right, or refuses",
    lambda target: _few(target, 1),
    _test_packaged,
    no_schema,
    trial_limit_s=110.0,
    can_shrink=False,
    is_slow=True,
)
VMAP = Check(
    "vmap",
    "under vmap it gives what it gives one by one",
    lambda target: _few(target, 3),
    _test_vmap,
    _without_batching,
)
