"""Operators in Python with one planted fault each, and right ones; run as a script it examines all.

Two contracts: `energy`, a differentiable scalar sum(w x^2) with w broadcast, and `twice`.
"""

import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch._dynamo
import torch.export
import torch.testing._internal.optests
from torch import Tensor

from kernels.operator import Tolerance
from stages.numerics.battery import examine
from stages.numerics.checks import CHECKS
from stages.numerics.probe import Probe, dtype_name
from stages.numerics.promise import Promise
from stages.numerics.trial import Target

ROUNDING = Tolerance(1e-6, 2e-3, "a scalar in the dtype of x, halves included")
EXACT = Tolerance(0.0, 0.0, "doubling is exact")


def _energy_truth(x: Tensor, w: Tensor) -> Tensor:
    if not x.is_floating_point() or x.dtype != w.dtype:
        raise ValueError(f"x and w must share a floating dtype, got {x.dtype} and {w.dtype}")
    return (w.expand_as(x).double() * x.double() ** 2).sum()


def _fields(shape: tuple[int, ...], dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(sum(shape))
    x = torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1
    return x.to(dtype), (x.abs() + 0.5).to(dtype)


def _energy_probes() -> list[Probe]:
    probes = []
    for shape in ((3,), (2, 3), (4, 5), (2, 3, 4), (33, 7)):
        for dtype in (torch.float16, torch.float32, torch.float64):
            x, w = _fields(shape, dtype)
            for weight in (w, w.reshape(-1)[0].clone()):
                kind = "full" if weight.dim() else "scalar"
                traits = {"dtype": dtype_name(dtype), "weight": kind, "axes": str(len(shape))}
                probes.append(Probe((x, weight), {}, traits))
    return probes


def _energy_promise() -> Promise:
    special = []
    for value in (float("nan"), float("inf")):
        x, w = _fields((2, 3), torch.float32)
        x.view(-1)[4] = value
        special.append(Probe((x, w), {}, {"value": str(value)}))
    doubles = [p for p in _energy_probes() if p.tensors[0].dtype == torch.float64]
    x, w = _fields((3, 4), torch.float32)
    return Promise(
        reference=_energy_truth,
        probes=_energy_probes(),
        tolerance=lambda probe: ROUNDING,
        refused=[Probe((x.long(), w.long())), Probe((x, w.double()))],
        empty=[Probe((torch.zeros(0, 3), torch.ones(()))), Probe((torch.zeros(0), torch.zeros(0)))],
        special=special,
        stress=[Probe(_fields((70_001,), torch.float32), {}, {"size": "large"})],
        gradient=doubles,
        is_twice_differentiable=False,
        result_dtypes=lambda probe: (probe.tensors[0].dtype,),
        orders={"pairwise": lambda x, w: (w.double() * x.double() ** 2).sum().to(x.dtype)},
        sized=lambda size: Probe(_fields((size,), torch.float32)),
        sizes=(64, 1024, 65_536),
    )


def _twice_promise() -> Promise:
    probes = []
    for shape in ((1,), (2, 3), (4, 5), (3, 4, 5), (2, 3, 4, 5)):
        for dtype in (torch.uint8, torch.int64, torch.float32):
            values = torch.arange(1, 1 + torch.Size(shape).numel()).reshape(shape).to(dtype)
            traits = {"dtype": dtype_name(dtype), "axes": str(len(shape))}
            probes.append(Probe((values,), {}, traits))
    return Promise(
        reference=lambda x: (x.double() * 2).to(x.dtype).double(),
        probes=probes,
        tolerance=lambda probe: EXACT,
        empty=[Probe((torch.zeros(0, 3),)), Probe((torch.zeros(3, 0),))],
        stress=[Probe((torch.arange(70_001.0),))],
    )


def _checked(x: Tensor, w: Tensor) -> None:
    if not x.is_floating_point() or x.dtype != w.dtype:
        raise ValueError("x and w must share a floating dtype")


def _sum(x: Tensor, w: Tensor) -> Tensor:
    return (w.expand_as(x).double() * x.double() ** 2).sum().to(x.dtype)


Gradients = Callable[[Tensor, Tensor, Tensor], tuple[Any, Any]]


def _gradients(g: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    incoming = g.double()
    gx = incoming * 2 * w.double() * x.double()
    gw = (incoming * x.double() ** 2).sum_to_size(w.shape)
    return gx.to(x.dtype), gw.to(w.dtype)


def _refuse(ctx: Any, *_: Any) -> None:
    raise RuntimeError("energy: it is differentiable once, not twice")


def _energy(
    name: str,
    forward: Callable[[Tensor, Tensor], Tensor] = _sum,
    gradients: Gradients = _gradients,
    fake: Callable[[Tensor, Tensor], Tensor] | None = lambda x, w: x.new_empty(()),
    refuses: bool = True,
    is_twice: bool = False,
) -> Target:
    """Register `planted::<name>` with its backward as an operator of its own."""

    def call(x: Tensor, w: Tensor) -> Tensor:
        if refuses:
            _checked(x, w)
        return forward(x, w)

    operator = torch.library.custom_op(f"planted::{name}", call, mutates_args=())
    backward = torch.library.custom_op(
        f"planted::{name}_backward", _annotated(gradients), mutates_args=()
    )
    if fake is not None:
        operator.register_fake(fake)
    backward.register_fake(lambda g, x, w: (torch.empty_like(x), torch.empty_like(w)))
    backward.register_autograd(_refuse, setup_context=lambda ctx, inputs, output: None)

    def save(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def differentiate(ctx: Any, g: Tensor) -> Any:
        x, w = ctx.saved_tensors
        return gradients(g, x, w) if is_twice else backward(g, x, w)

    operator.register_autograd(differentiate, setup_context=save)
    packet = getattr(torch.ops.planted, name)
    return Target(
        packet, _energy_promise(), f"torch.ops.planted.{name}", schemas=(f"planted::{name}",)
    )


def _annotated(gradients: Gradients) -> Callable[..., Any]:
    def call(g: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
        gx, gw = gradients(g, x.contiguous(), w.contiguous())
        return gx, gw

    return call


def _twice(call: Callable[[Tensor], Any]) -> Target:
    """A plain function: it registers nothing, so that it can do what no schema allows."""
    return Target(call, _twice_promise(), "twice")


@dataclass(frozen=True)
class Planted:
    """An operator and the check that has to find its fault; None where it is right."""

    target: Target
    check: str | None


_cache: dict[str, Tensor] = {}
_leaked: list[bytes] = []
_noise = iter(range(10**9))


def _once(x: Tensor) -> Tensor:
    """The first result of a size, for ever."""
    return _cache.setdefault(str(tuple(x.shape)), x * 2).clone()


def _in_one_buffer(x: Tensor) -> Tensor:
    buffer = _cache.setdefault(f"buffer {x.dtype}", torch.zeros(100_000, dtype=x.dtype))
    result = buffer[: x.numel()].view(x.shape)
    result.copy_(x * 2)
    return result


def _through_shared(x: Tensor) -> Tensor:
    """Right alone; callers at once overwrite one another's input."""
    _cache["shared"] = x
    time.sleep(0.0005)
    return _cache["shared"] * 2


def _dense(x: Tensor) -> Tensor:
    strides = torch.empty(x.shape).stride()
    return x.as_strided(x.shape, strides, x.storage_offset()) * 2


def _read_on(x: Tensor) -> Tensor:
    """Reads eight bytes behind the last element."""
    ctypes.string_at(x.data_ptr() + x.numel() * x.element_size(), 8)
    return x * 2


def _half_written(x: Tensor) -> Tensor:
    result = torch.empty_like(x, memory_format=torch.contiguous_format)
    result.view(-1)[:-1] = x.reshape(-1)[:-1] * 2
    if x.numel() != 20:
        result.view(-1)[-1:] = x.reshape(-1)[-1:] * 2
    return result


def _leak(x: Tensor) -> Tensor:
    ctypes.CDLL(None).malloc(100)
    return x * 2


def _narrow(x: Tensor, w: Tensor) -> Tensor:
    """One running sum in float32, which loses the digits of small terms as it grows."""
    import numpy as np

    terms = (w.expand_as(x).float() * x.float() ** 2).reshape(-1).numpy()
    running = np.cumsum(terms, dtype=np.float32)
    return torch.tensor(float(running[-1]) if len(running) else 0.0, dtype=x.dtype)


def _by_threads(x: Tensor) -> Tensor:
    return x * 2 + (torch.get_num_threads() == 3)


def _dies(x: Tensor) -> Tensor:
    if x.numel() == 20:
        os.kill(os.getpid(), signal.SIGFPE)
    return x * 2


def _never_ends(x: Tensor) -> Tensor:
    while x.numel() == 60:
        time.sleep(0.01)
    return x * 2


def _seeds(x: Tensor) -> Tensor:
    torch.manual_seed(0)
    return x * 2


def _led(x: Tensor) -> Tensor:
    """Its factor is of whatever dtype the process has for fresh tensors."""
    return x * torch.full(x.shape, 2.0) if x.is_floating_point() else x * 2


def _ends_badly(x: Tensor) -> Tensor:
    """Has the program abort when it exits."""
    library = ctypes.CDLL(None)
    library["__cxa_atexit"](library.abort, None, None)
    return x * 2


def _keeping() -> Target:
    """Its backward holds on to the arguments themselves, of which autograd knows nothing."""
    target = _energy("keeping")

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.kept = [tensor.detach() for tensor in inputs]

    def differentiate(ctx: Any, g: Tensor) -> Any:
        return torch.ops.planted.keeping_backward(g, *ctx.kept)

    torch.library.register_autograd("planted::keeping", differentiate, setup_context=keep)
    return target


def _scaled(factor: float) -> Gradients:
    return lambda g, x, w: tuple(factor * gradient for gradient in _gradients(g, x, w))  # type: ignore[return-value]


def _mean_weight(g: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    gx, gw = _gradients(g, x, w)
    return gx, gw / (x.numel() // w.numel())


def _without_incoming(g: Tensor, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    return _gradients(torch.ones_like(g), x, w)


def planted() -> dict[str, Planted]:
    """All of them, by name."""
    wrong = {
        "one value": Planted(_twice(lambda x: x * 2 + (x == 14)), "values"),
        "only zeros": Planted(_twice(torch.zeros_like), "values"),
        "another dtype": Planted(_energy("wide", lambda x, w: _sum(x, w).double()), "values"),
        "NaN dropped": Planted(_energy("dropped", lambda x, w: _sum(x.nan_to_num(), w)), "nan"),
        "NaN of nothing": Planted(
            _energy("full", lambda x, w: _sum(x, w) / bool(x.numel())), "empty"
        ),
        "all accepted": Planted(_energy("lenient", refuses=False), "refusals"),
        "dense memory": Planted(_twice(_dense), "layout"),
        "read on": Planted(_twice(_read_on), "bounds"),
        "in place": Planted(_twice(lambda x: x.mul_(2).clone()), "mutation"),
        "its input": Planted(_twice(lambda x: x if not x.any() else x.mul_(2)), "aliasing"),
        "one buffer": Planted(_twice(_in_one_buffer), "aliasing"),
        "half written": Planted(_twice(_half_written), "unwritten"),
        "first result": Planted(_twice(_once), "stale"),
        "seeds": Planted(_twice(_seeds), "surroundings"),
        "led": Planted(_twice(_led), "settings"),
        "ends badly": Planted(_twice(_ends_badly), "ending"),
        "leak": Planted(_twice(_leak), "leak"),
        "varies": Planted(_twice(lambda x: x * 2 + next(_noise) % 2), "determinism"),
        "threads": Planted(_twice(_by_threads), "threads"),
        "shared": Planted(_twice(_through_shared), "concurrency"),
        "dies": Planted(_twice(_dies), "values"),
        "never ends": Planted(_twice(_never_ends), "values"),
        "scaled gradient": Planted(_energy("scaled", gradients=_scaled(0.5)), "gradient"),
        "mean of weights": Planted(_energy("mean", gradients=_mean_weight), "gradcheck"),
        "no incoming": Planted(_energy("ungated", gradients=_without_incoming), "gradient"),
        "arguments kept": Planted(_keeping(), "backward"),
        "twice silently": Planted(_energy("silent", is_twice=True), "second gradient"),
        "narrow sum": Planted(_energy("narrow", _narrow), "envelope"),
        "no fake": Planted(_energy("unknown", fake=None), "fake"),
        "fake of another dtype": Planted(
            _energy("wrong_fake", fake=lambda x, w: x.new_empty((), dtype=torch.float32)), "fake"
        ),
        "claims a gradient": Planted(
            Target(
                lambda x: x * 2,
                Promise(
                    lambda x: x.double() * 2,
                    [Probe((torch.ones(3),))],
                    lambda probe: EXACT,
                    claims_no_gradient=True,
                ),
                "twice",
            ),
            "no gradient",
        ),
    }
    right = {
        "right, registered": Planted(_energy("right"), None),
        "right, a function": Planted(_twice(lambda x: x * 2), None),
    }
    return {**wrong, **right}


def main() -> None:
    """One JSON line an operator: name, and fault by check. Wrong ones are asked by their check
    alone."""
    torch.set_num_threads(1)  # until the fork
    for name, one in planted().items():
        checks = [
            replace(check, trial_limit_s=0.5) if name == "never ends" else check
            for check in CHECKS
            if check.name == one.check or (one.check is None and not check.is_slow)
        ]
        answers = list(examine(one.target, checks, check_limit_s=10.0))
        line = {
            "name": name,
            "faults": {a.check: a.fault for a in answers if not a.has_passed},
            "example": next((a.counter_example for a in answers if not a.has_passed), None),
            "asked": sum(bool(a.num_trials) for a in answers),
        }
        print(json.dumps(line), flush=True)
        _cache.clear()


if __name__ == "__main__":
    sys.setswitchinterval(0.0005)
    assert threading.active_count() == 1, "threads do not survive the forks of the battery"
    main()
