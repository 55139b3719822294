"""wdice(p, t, w): the weighted soft Dice loss as the published contract states it.

1 - (2 sum(w p t) + 1) / (sum(w (p^2 + t^2)) + 1), sums in double, a scalar of the dtype of p; w
broadcasts to p; differentiable in p, t and w.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from kernels.operator import Tolerance
from stages.numerics.probe import Probe, dtype_name
from stages.numerics.promise import Promise

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
SHAPES = (
    (1,),
    (7,),
    (1, 1),
    (3, 5),
    (16, 16),
    (31, 33),
    (2, 3, 4),
    (5, 1, 7),
    (2, 3, 4, 5),
    (1, 2, 3, 4, 5),
    (2, 1, 2, 3, 2, 2),
    (3, 2, 1, 2, 3),
    (1023,),
    (1024,),
    (1025,),
    (64, 65),
)
LAST_STEP_ROUNDINGS = 4


def promise(seed: int) -> Promise:
    """What a weighted Dice loss is held to; the seed varies what is random."""
    generator = torch.Generator().manual_seed(seed)
    return Promise(
        reference=weighted_dice,
        probes=tuple(_probes(generator)),
        tolerance=_tolerance,
        refused=tuple(_refused()),
        empty=tuple(_empty()),
        special=tuple(_special()),
        stress=tuple(_stress(generator)),
        gradient=tuple(_gradient(generator)),
        is_twice_differentiable=True,
        may_refuse_twice=True,
        has_steady_bits=False,
        result_dtypes=lambda probe: (probe.args[0].dtype,),
        orders=ORDERS,
        sized=lambda size: _probe(
            _fields((size,), torch.float32, torch.Generator().manual_seed(seed + size)), "sized"
        ),
    )


def weighted_dice(p: Tensor, t: Tensor, w: Tensor) -> Tensor:
    """The truth in float64, differentiable.

    Raises:
        ValueError: shapes or dtypes do not fit.
    """
    if p.shape != t.shape:
        raise ValueError(f"p and t must have one shape, got {tuple(p.shape)} and {tuple(t.shape)}")
    if not p.is_floating_point() or {t.dtype, w.dtype} != {p.dtype}:
        raise ValueError(
            f"p, t, w must share a floating dtype, got {p.dtype}, {t.dtype}, {w.dtype}"
        )
    weight = w.expand_as(p)
    a, b, c = p.double(), t.double(), weight.double()
    return 1 - (2 * (c * a * b).sum() + 1) / ((c * (a * a + b * b)).sum() + 1)


def _in_order(p: Tensor, t: Tensor, w: Tensor, arrange: str) -> Tensor:
    """The standard form in double sums, with the terms in another order."""
    a, b = p.double().reshape(-1), t.double().reshape(-1)
    c = w.expand_as(p).double().reshape(-1)
    terms = torch.stack((c * a * b, c * (a * a + b * b)))
    if arrange == "shuffled":
        order = torch.randperm(terms.shape[1], generator=torch.Generator().manual_seed(1))
        terms = terms[:, order]
    sums = terms.cumsum(1)[:, -1] if arrange != "pairwise" and terms.shape[1] else terms.sum(1)
    return (1 - (2 * sums[0] + 1) / (sums[1] + 1)).to(p.dtype)


ORDERS = {
    "in sequence": lambda p, t, w: _in_order(p, t, w, "in sequence"),
    "shuffled": lambda p, t, w: _in_order(p, t, w, "shuffled"),
    "pairwise": lambda p, t, w: _in_order(p, t, w, "pairwise"),
}


def _tolerance(probe: Probe) -> Tolerance:
    eps = torch.finfo(probe.args[0].dtype).eps
    roundings = LAST_STEP_ROUNDINGS if eps > 1e-10 else 64
    return Tolerance(
        absolute=roundings / 2 * eps,
        relative=roundings / 2 * eps,
        reason="sums in double; the quotient near 1 is subtracted from 1 and rounded to the dtype",
    )


def _fields(
    shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator
) -> tuple[Tensor, Tensor, Tensor]:
    p = torch.rand(shape, generator=generator, dtype=torch.float64).to(dtype)
    t = (torch.rand(shape, generator=generator) < 0.4).to(dtype)
    w = (torch.rand(shape, generator=generator, dtype=torch.float64) + 0.1).to(dtype)
    return p, t, w


def _probe(fields: tuple[Tensor, Tensor, Tensor], values: str) -> Probe:
    p, _, w = fields
    weight = "of full shape" if w.numel() == p.numel() else "broadcast"
    return Probe(
        tuple(tensor.contiguous() for tensor in fields),
        {},
        {"dtype": dtype_name(p.dtype), "axes": str(p.dim()), "weight": weight, "values": values},
    )


def _probes(generator: torch.Generator) -> Iterator[Probe]:
    for shape in SHAPES:
        for dtype in DTYPES:
            p, t, w = _fields(shape, dtype, generator)
            yield _probe((p, t, w), "in [0, 1]")
            for weight in _broadcasts(w):
                yield _probe((p, t, weight), "in [0, 1]")
            yield _probe((torch.zeros_like(p), torch.zeros_like(t), w), "zeros")
            yield _probe((torch.ones_like(p), torch.ones_like(t), torch.ones_like(w)), "ones")
            yield _probe((p, t, torch.zeros_like(w)), "zero weights")
            if p.numel() > 5:
                yield _probe((p, t, w - 0.3), "some negative weights")
            yield _probe((4 * p - 2, 3 * t - 1, w), "outside of [0, 1]")
            yield _probe((p * 100, t * 50, w), "large")
            yield _probe((p * 1e-3, t * 1e-3, w), "small")
            yield _probe((p, torch.rand(shape, generator=generator).to(dtype), w), "soft target")
    scalar = torch.tensor(0.3), torch.tensor(1.0), torch.tensor(0.5)
    yield _probe(scalar, "scalars")


def _broadcasts(weight: Tensor) -> Iterator[Tensor]:
    """The same weights, given for fewer axes."""
    shape = weight.shape
    if weight.numel() < 2:
        return
    yield weight.reshape(-1)[0].clone()
    yield weight.reshape(-1)[:1].clone()
    if len(shape) > 1:
        yield weight[:1].clone()
        yield weight[0].clone()
        yield weight[..., :1].clone()


def _refused() -> Iterator[Probe]:
    p, t, w = _fields((3, 4), torch.float32, torch.Generator().manual_seed(0))
    yield Probe((p, t[:2].clone(), w), {}, {"fault": "t of another shape"})
    yield Probe((p, t, w[:2].clone()), {}, {"fault": "w does not broadcast"})
    yield Probe((p, t, w[..., :3].clone()), {}, {"fault": "w does not broadcast"})
    yield Probe((p, t, w.expand(2, 3, 4).clone()), {}, {"fault": "w has more axes than p"})
    yield Probe((p[:1].clone(), t[:1].clone(), w), {}, {"fault": "w is larger than p"})
    yield Probe((p, t.double(), w), {}, {"fault": "t of another dtype"})
    yield Probe((p, t, w.double()), {}, {"fault": "w of another dtype"})
    yield Probe((p.long(), t.long(), w.long()), {}, {"fault": "whole numbers"})


def _empty() -> Iterator[Probe]:
    for shape in ((0,), (0, 3), (3, 0), (2, 0, 4)):
        for dtype in (torch.float32, torch.float64, torch.float16):
            p, t, w = _fields(shape, dtype, torch.Generator().manual_seed(0))
            yield _probe((p, t, w), "empty")
            yield _probe((p, t, torch.ones((), dtype=dtype)), "empty")


def _special() -> Iterator[Probe]:
    """NaN and infinities in any argument reach the result as the formula lets them."""
    generator = torch.Generator().manual_seed(3)
    for dtype in DTYPES:
        for place, argument in enumerate("ptw"):
            for name, value in (
                ("NaN", float("nan")),
                ("+inf", float("inf")),
                ("-inf", -float("inf")),
            ):
                for index in (0, 7, 11):
                    fields = [field.clone() for field in _fields((3, 4), dtype, generator)]
                    fields[place].view(-1)[index] = value
                    probe = _probe((fields[0], fields[1], fields[2]), "one special value")
                    yield probe.noting(value=name, argument=argument)
                    for other in range(3):
                        if other != place:  # 0 times what is not finite is NaN
                            beside = fields[other].clone()
                            beside.view(-1)[index] = 0
                            yield probe.with_tensor(other, beside).noting(
                                value=name, argument=argument, beside="a zero"
                            )


def _stress(generator: torch.Generator) -> Iterator[Probe]:
    """Sizes at which sums in the dtype of the input lose digits, or stop growing."""
    for size in (4_099, 70_001, 1_000_003):
        for dtype in DTYPES:
            yield _probe(_fields((size,), dtype, generator), "many")
    for dtype in DTYPES:
        p, t, w = _fields((70_001,), dtype, generator)
        w = w.clone()
        w[0] = 3000.0  # one large term first: small ones vanish beside it in a narrow sum
        yield _probe((p, t, w), "one large weight")
        p, t, w = _fields((2, 3, 33, 41, 17), dtype, generator)
        for weight in (w, *_broadcasts(w)):
            yield _probe((p, t, weight), "many")
    for dtype in (torch.float32, torch.bfloat16):
        p, t, w = _fields((1_000_003,), dtype, generator)
        w = w.clone()
        w[0] = 1e8  # sums of whole blocks vanish beside it in float32
        yield _probe((p, t, w), "one huge weight")


def _gradient(generator: torch.Generator) -> Iterator[Probe]:
    for shape in ((5,), (2, 3), (2, 2, 3), (4, 5)):
        p, t, w = _fields(shape, torch.float64, generator)
        p, t = 2 * p - 0.5, t + 0.25 * p
        yield _probe((p, t, w), "gradient")
        for weight in _broadcasts(w):
            yield _probe((p, t, weight), "gradient")
    yield _probe(_fields((33, 65), torch.float64, generator), "gradient")
