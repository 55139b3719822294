"""The checks, in the order in which they are put: what is cheap and telling first."""

from stages.numerics.checks.backward import BACKWARD
from stages.numerics.checks.bounds import BOUNDS
from stages.numerics.checks.ending import ENDING
from stages.numerics.checks.fakes import FAKE, SYMBOLS
from stages.numerics.checks.gradients import CLAIM, GRADCHECK, GRADIENT, GRADIENT_OF_NAN, SUBSETS
from stages.numerics.checks.graphs import COMPILED, DYNAMIC, EXPORTED, OPCHECK, PACKAGED, VMAP
from stages.numerics.checks.leaks import LEAK
from stages.numerics.checks.memory import ALIASING, LAYOUT, MUTATION, STALE, UNWRITTEN
from stages.numerics.checks.repeats import CONCURRENCY, DETERMINISM, THREADS
from stages.numerics.checks.second_gradients import TWICE
from stages.numerics.checks.sums import ENVELOPE
from stages.numerics.checks.surroundings import LED, SURROUNDINGS
from stages.numerics.checks.values import (
    EMPTY,
    HALF_PRECISION,
    JOB,
    NAN,
    REFUSALS,
    STRESS,
    VALUES,
)
from stages.numerics.trial import Check

CHECKS: tuple[Check, ...] = (
    VALUES,
    HALF_PRECISION,
    NAN,
    EMPTY,
    REFUSALS,
    LAYOUT,
    BOUNDS,
    MUTATION,
    ALIASING,
    UNWRITTEN,
    STALE,
    SURROUNDINGS,
    LED,
    LEAK,
    ENDING,
    DETERMINISM,
    THREADS,
    CONCURRENCY,
    GRADIENT,
    GRADIENT_OF_NAN,
    GRADCHECK,
    TWICE,
    SUBSETS,
    BACKWARD,
    CLAIM,
    ENVELOPE,
    STRESS,
    JOB,
    FAKE,
    SYMBOLS,
    OPCHECK,
    COMPILED,
    DYNAMIC,
    EXPORTED,
    VMAP,
    PACKAGED,
)
