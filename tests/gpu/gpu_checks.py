"""Is what the operators answer on a GPU right? It needs torch, NumPy and this repository."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from kernels.folder import OperatorFolder, open_operator

NAMES = ("connected_components", "distance_transform", "lesion_loss")
MAX_NUMEL = 10_000
"""Of cases that are converted to every dtype and layout; the large ones add nothing there."""
NUM_REPEATS = 5
NOISE_SHAPE = (2, 97, 61, 83)
GRADIENT_SLACK = 1e-5
"""Of the largest gradient: float32 logits give float32 probabilities, each rounded by 6e-8."""


@dataclass(frozen=True)
class Check:
    """One claim; calling `run` raises where it does not hold."""

    name: str
    run: Callable[[], None]


def all_checks(device: torch.device) -> Iterator[Check]:
    """Every case, dtype and layout of every operator, and what the operators do beyond a call."""
    for name in NAMES:
        operator = open_operator(name)
        for case in operator.cases:
            yield _check(f"{name}: {case.name}", _equals_reference, operator, case, device)
        for dtype in operator.spec.dtypes:
            yield _check(f"{name}: {dtype}", _takes_dtype, operator, dtype, device)
        yield _check(f"{name}: same bits at every run", _is_deterministic, operator, device)
        yield _check(f"{name}: layouts", _takes_layouts, operator, device)
        yield _check(f"{name}: current stream", _runs_on_current_stream, operator, device)
    for connectivity in (1, 2, 3):
        yield _check(f"labels of noise, {connectivity}", _labels_equal, device, connectivity)
        yield _check(f"table of noise, {connectivity}", _tables_equal, device, connectivity)
    for spacing in ((1.0, 1.0, 1.0), (2.5, 1.0, 0.8), (0.7, 1.3, 2.1)):
        for signed in (False, True):
            name = f"distances of noise, {spacing}, signed {signed}"
            yield _check(name, _distances_equal, device, spacing, signed)
    yield _check("out= of both operators", _writes_to_out, device)
    for case in open_operator("lesion_loss").cases:
        yield _check(f"gradient: {case.name}", _gradient_is_right, case, device)


def on_device(value: Any, device: torch.device) -> Any:
    """A tensor on the device; anything else as it is."""
    return value.to(device) if isinstance(value, Tensor) else value


def _check(name: str, run: Callable[..., None], *args: Any) -> Check:
    return Check(name, lambda: run(*args))


def _call(operator: OperatorFolder, arguments: Any, device: torch.device) -> tuple[Tensor, ...]:
    args, keywords = arguments
    moved = [on_device(value, device) for value in args]
    options = {name: on_device(value, device) for name, value in keywords.items()}
    return _parts(operator.custom(*moved, **options))


def _parts(result: Any) -> tuple[Tensor, ...]:
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def _hold(operator: OperatorFolder, arguments: Any, device: torch.device) -> None:
    args, keywords = arguments
    found = _call(operator, arguments, device)
    expected = _parts(operator.reference(*args, **keywords))
    tolerances = operator.spec.tolerances
    dtype = str(args[0].dtype).removeprefix("torch.")
    tolerance = tolerances.get(dtype, tolerances["default"])
    assert len(found) == len(expected)
    for part, truth in zip(found, expected, strict=True):
        assert part.device.type == device.type
        torch.testing.assert_close(
            part.detach().cpu().double(),
            truth.detach().double(),
            atol=tolerance.absolute,
            rtol=tolerance.relative,
            equal_nan=True,
        )


def _equals_reference(operator: OperatorFolder, case: Any, device: torch.device) -> None:
    _hold(operator, case.make(), device)


def _small_cases(operator: OperatorFolder) -> list[Any]:
    return [case for case in operator.cases if 0 < case.make()[0][0].numel() <= MAX_NUMEL]


def _takes_dtype(operator: OperatorFolder, dtype: str, device: torch.device) -> None:
    for case in _small_cases(operator):
        (first, *rest), keywords = case.make()
        _hold(operator, ((first.to(getattr(torch, dtype)), *rest), keywords), device)


def _takes_layouts(operator: OperatorFolder, device: torch.device) -> None:
    for case in _small_cases(operator):
        (first, *rest), keywords = case.make()
        expected = _call(operator, ((first, *rest), keywords), device)
        order = tuple(reversed(range(first.dim())))
        transposed = first.permute(order).contiguous().permute(order)
        shifted = torch.cat([first.new_zeros(1), first.reshape(-1)])[1:].view(first.shape)
        for other in (transposed, shifted):
            # `to` a device may keep strides; what arrives there is what is meant.
            found = _call(operator, ((other, *rest), keywords), device)
            _assert_same(found, expected)


def _assert_same(found: tuple[Tensor, ...], expected: tuple[Tensor, ...]) -> None:
    for one, two in zip(found, expected, strict=True):
        assert torch.equal(one.double().nan_to_num(nan=-1.0), two.double().nan_to_num(nan=-1.0))


def _is_deterministic(operator: OperatorFolder, device: torch.device) -> None:
    for case in operator.cases:
        first = _call(operator, case.make(), device)
        for _ in range(NUM_REPEATS):
            _assert_same(_call(operator, case.make(), device), first)


def _runs_on_current_stream(operator: OperatorFolder, device: torch.device) -> None:
    """What a stream computes before is what the operator reads, without a wait in between."""
    (first, *rest), keywords = _small_cases(operator)[0].make()
    expected = _call(operator, ((first, *rest), keywords), device)
    moved = first.to(device)
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        late = torch.zeros_like(moved)
        torch.cuda._sleep(100_000_000)  # cycles: longer than the launches take
        late.copy_(moved)
        found = _call(operator, ((late, *rest), keywords), device)
    stream.synchronize()
    _assert_same(found, expected)


def noise(probability: float, seed: int = 3) -> Tensor:
    """bool, volumes that are no multiple of a word, a bundle or a block."""
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(NOISE_SHAPE, generator=generator) < probability


def _labels_equal(device: torch.device, connectivity: int) -> None:
    from kernels.connected_components import connected_components

    for probability in (0.02, 0.2, 0.32, 0.5, 0.8):
        mask = noise(probability)
        found = connected_components(mask.to(device), connectivity, spatial_dims=3)
        assert torch.equal(found.cpu(), connected_components(mask, connectivity, spatial_dims=3))


def _tables_equal(device: torch.device, connectivity: int) -> None:
    from kernels.connected_components import component_count, component_table

    mask = noise(0.2)
    generator = torch.Generator().manual_seed(5)
    values = [torch.randn(mask.shape, generator=generator) for _ in range(2)]
    expected = component_table(mask, values, connectivity, spatial_dims=3)
    moved = [value.to(device) for value in values]
    found, again = (
        component_table(mask.to(device), moved, connectivity, spatial_dims=3) for _ in range(2)
    )
    _assert_same(tuple(found), tuple(again))
    for name, one, two in zip(expected._fields, found, expected, strict=True):
        if name in ("volumes", "voxels", "boxes", "minima"):
            assert torch.equal(one.cpu(), two), name
        else:
            torch.testing.assert_close(one.cpu(), two, rtol=1e-12, atol=1e-12)
    counts = component_count(mask.to(device), connectivity, spatial_dims=3)
    assert torch.equal(counts.cpu(), component_count(mask, connectivity, spatial_dims=3))


def _distances_equal(
    device: torch.device, spacing: tuple[float, float, float], signed: bool
) -> None:
    from kernels.distance_transform import distance_transform

    for probability in (0.05, 0.5, 0.999):
        mask = noise(probability)
        options = {"signed": signed, "return_nearest": True, "spatial_dims": 3}
        found, places = distance_transform(mask.to(device), spacing, **options)
        expected, nearest = distance_transform(mask, spacing, **options)
        torch.testing.assert_close(found.cpu(), expected, rtol=1.2e-7, atol=0)
        # Ties in steps that are no ratio of whole numbers are decided by rounding.
        if spacing != (0.7, 1.3, 2.1):
            assert torch.equal(places.cpu(), nearest)


def _writes_to_out(device: torch.device) -> None:
    from kernels.connected_components import connected_components
    from kernels.distance_transform import distance_transform

    mask = noise(0.3).to(device)
    labels = torch.full(mask.shape, -7, dtype=torch.int32, device=device)
    assert connected_components(mask, spatial_dims=3, out=labels) is labels
    assert torch.equal(labels, connected_components(mask, spatial_dims=3))
    wide = torch.full(mask.shape, -7, dtype=torch.int64, device=device)
    assert torch.equal(connected_components(mask, spatial_dims=3, out=wide).int(), labels)
    distances = torch.full(mask.shape, -7.0, device=device)
    assert distance_transform(mask, spatial_dims=3, out=distances) is distances
    assert torch.equal(distances, distance_transform(mask, spatial_dims=3))


def _gradient_is_right(case: Any, device: torch.device) -> None:
    operator = open_operator("lesion_loss")
    (logits, target), keywords = case.make()
    options = {name: on_device(value, device) for name, value in keywords.items()}
    leaf = logits.detach().clone().to(device).requires_grad_()
    operator.custom(leaf, target.to(device), **options).backward()
    truth = logits.detach().double().requires_grad_()
    operator.reference(truth, target, **keywords).backward()
    assert leaf.grad is not None
    assert truth.grad is not None
    size = float(truth.grad.abs().max()) if truth.numel() else 0.0
    # Half precision rounds the gradient itself.
    half = {torch.float16: 1e-3, torch.bfloat16: 1e-2}
    slack = half.get(logits.dtype, GRADIENT_SLACK)
    torch.testing.assert_close(
        leaf.grad.cpu().double(), truth.grad, rtol=slack, atol=slack * size, equal_nan=True
    )
