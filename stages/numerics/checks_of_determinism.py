"""Checks of determinism: the same bits, call after call and whatever the number of threads."""

from typing import Any

import torch

from stages.contract import NumericsCheck
from stages.numerics.comparison import Inputs, are_same_bits
from stages.numerics.subject import Subject, copy_inputs, failed, passed, poison_memory

NUM_REPEATS = 5
THREAD_COUNTS = (1, 2, 3, 4)


def check_repeats(subject: Subject) -> NumericsCheck:
    """The same inputs give the same bits, over garbage left in freed memory; gradients too."""
    cases = subject.some_cases(5, most=1_000_000)
    for count, (case, inputs) in enumerate(cases, start=1):
        first = _results(subject, inputs)
        for _ in range(NUM_REPEATS - 1):
            poison_memory(first)
            if not are_same_bits(_results(subject, inputs), first):
                return failed("repeats", count, f"{case}: two calls gave different bits")
    return passed("repeats", len(cases), f"{NUM_REPEATS} calls each, the same bits")


def check_threads(subject: Subject) -> NumericsCheck:
    """The number of threads does not change a bit."""
    cases = subject.some_cases(5, most=1_000_000)
    threads_before = torch.get_num_threads()
    try:
        for count, (case, inputs) in enumerate(cases, start=1):
            torch.set_num_threads(THREAD_COUNTS[0])
            first = _results(subject, inputs)
            for threads in THREAD_COUNTS[1:]:
                torch.set_num_threads(threads)
                if not are_same_bits(_results(subject, inputs), first):
                    detail = f"{case}: {threads} threads gave other bits than {THREAD_COUNTS[0]}"
                    return failed("threads", count, detail)
    finally:
        torch.set_num_threads(threads_before)
    counts = ", ".join(map(str, THREAD_COUNTS))
    return passed("threads", len(cases), f"the same bits on {counts} threads")


def _results(subject: Subject, inputs: Inputs) -> Any:
    """The output, and the gradient where there is one."""
    args, kwargs = copy_inputs(inputs)
    if not subject.operator.spec.is_differentiable:
        return subject.call((args, kwargs))
    first = args[0].requires_grad_()
    output = subject.operator.custom(first, *args[1:], **kwargs)
    return output.detach(), torch.autograd.grad(output.sum(), first)[0]
