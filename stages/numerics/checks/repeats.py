"""The same bits: call after call, on any number of threads, and from several threads at once."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from stages.numerics.apart import brief
from stages.numerics.checks.differentiation import takers
from stages.numerics.checks.samples import sample
from stages.numerics.comparison import are_same_bits, compare, tensors
from stages.numerics.probe import Probe
from stages.numerics.trial import Check, Seen, Target

MOST_REPEATS = 200
REPEATS_WITH_GRADIENT = 5
REPEAT_LIMIT_S = 3.0
THREAD_COUNTS = (1, 2, 3, 4, 7, 16, 33)
NUM_CALLERS, NUM_ROUNDS = 4, 12


def results(target: Target, probe: Probe) -> list[torch.Tensor]:
    """The outputs, and the gradients where there are any."""
    if target.promise.is_twice_differentiable is None:
        return tensors(target.answer(probe))
    args, kwargs = probe.inputs()
    leaves = takers(target, (args, kwargs))
    for leaf in leaves:
        leaf.requires_grad_()
    outputs = tensors(target.call(*args, **kwargs))
    reached = [output for output in outputs if output.requires_grad]
    if not reached:
        return outputs
    total = torch.stack([output.double().sum() for output in reached]).sum()
    gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    return [t.detach() for t in outputs] + [g for g in gradients if g is not None]


def _test_repeats(target: Target, probe: Probe) -> Seen:
    with disturbance():
        found, count = _distinct(lambda: results(target, probe), REPEATS_WITH_GRADIENT)
        if len(found) == 1:
            found, count = _distinct(lambda: tensors(target.answer(probe)), MOST_REPEATS)
    if len(found) == 1:
        return Seen()
    return Seen(f"{len(found)} different results in {count} calls on one input{_spread(found)}")


def _distinct(
    call: Callable[[], list[torch.Tensor]], most: int
) -> tuple[list[list[torch.Tensor]], int]:
    """The results that differ, and how many calls were made; at least three, while time allows."""
    until = time.monotonic() + REPEAT_LIMIT_S
    found = [call()]
    count = 1
    while count < most and (count < 3 or time.monotonic() < until):
        result = call()
        count += 1
        if not any(are_same_bits(result, other) for other in found):
            found.append(result)
    return found, count


@contextlib.contextmanager
def disturbance() -> Iterator[None]:
    """Other threads at work by fits and starts, so that an operator's own threads end in another
    order each time."""
    is_over = threading.Event()

    def work() -> None:
        field = torch.rand(30_000)
        while not is_over.is_set():
            for _ in range(5):
                torch.sin(field)
            time.sleep(0.001)

    workers = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        is_over.set()
        for worker in workers:
            worker.join()


def _spread(found: list[list[torch.Tensor]]) -> str:
    firsts = [result[0].double().nan_to_num() for result in found if result]
    if any(first.shape != firsts[0].shape or not first.numel() for first in firsts):
        return ""
    stacked = torch.stack(firsts)
    spread = float((stacked.amax(0) - stacked.amin(0)).max())
    return f", up to {spread:.3g} apart"


def _test_threads(target: Target, probe: Probe) -> Seen:
    before = torch.get_num_threads()

    def ask() -> list[torch.Tensor]:
        if target.promise.has_steady_gradient:
            return results(target, probe)
        return tensors(target.answer(probe))

    try:
        torch.set_num_threads(THREAD_COUNTS[0])
        first = ask()
        for count in THREAD_COUNTS[1:]:
            torch.set_num_threads(count)
            result = ask()
            if target.promise.has_steady_bits and not are_same_bits(result, first):
                return Seen(f"{count} threads give other bits than {THREAD_COUNTS[0]}")
            found = compare(result, first, target.promise.tolerance(probe))
            if not found.is_within:
                return Seen(f"{found.detail} on {count} threads (than on {THREAD_COUNTS[0]})")
    finally:
        torch.set_num_threads(before)
    return Seen()


def _test_callers(target: Target, probe: Probe) -> Seen:
    """Several Python threads at once, each on its own variation of the input."""
    variations = [probe, *(_varied(probe, count) for count in range(1, NUM_CALLERS))]
    expected: list[Any] = []
    for variation in variations:
        try:
            expected.append(target.answer(variation))
        except Exception:  # a variation that is refused is refused from a thread as well
            expected.append(None)
    faults: list[str] = []
    start = threading.Barrier(NUM_CALLERS)

    def work(index: int) -> None:
        start.wait()
        try:
            for _ in range(NUM_ROUNDS):
                if expected[index] is None:
                    return
                if not are_same_bits(target.answer(variations[index]), expected[index]):
                    faults.append(f"{NUM_CALLERS} callers at once: a result is another's or torn")
                    return
        except Exception as error:
            faults.append(f"{NUM_CALLERS} callers at once: {brief(error)}")

    callers = [threading.Thread(target=work, args=(index,)) for index in range(NUM_CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return Seen(faults[0] if faults else None)


def _varied(probe: Probe, count: int) -> Probe:
    """Flipped, shorter by one along the last axis, or rolled: other values, and another shape."""
    last = probe.tensors[0].shape[-1:] if probe.tensors else ()

    def change(tensor: torch.Tensor) -> torch.Tensor:
        if not tensor.dim():
            return tensor
        if count == 1:
            return tensor.flip(0).contiguous()
        if count == 2 and tensor.shape[-1:] == last and tensor.shape[-1] > 1:
            return tensor[..., :-1].contiguous()
        return tensor.roll(count, -1).contiguous()

    return probe.with_tensors(change)


def _for_repeats(target: Target) -> list[Probe]:
    return [
        *sample(target.promise.probes, 8, least=2, most=20_000),
        *sorted(target.promise.stress, key=lambda probe: probe.num_elements)[-4:],
    ]


DETERMINISM = Check(
    "determinism",
    "the same bits, call after call",
    _for_repeats,
    _test_repeats,
    can_shrink=False,
)
THREADS = Check(
    "threads",
    "the same result on any number of threads, to the bit where that is promised",
    _for_repeats,
    _test_threads,
    can_shrink=False,
)
CONCURRENCY = Check(
    "concurrency",
    "several callers at once do not disturb one another",
    lambda target: [
        *sample(target.promise.probes, 6, least=8, most=20_000),
        *sample(target.promise.stress, 2, most=300_000),
    ],
    _test_callers,
    can_shrink=False,
)
