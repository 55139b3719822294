"""Every bundled operator, every case, held to its reference through the folder's contract alone."""

import inspect
import io
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernels.build import build, undefined_torch_symbols
from kernels.folder import BUNDLED, OperatorFolder, open_operator
from kernels.form import exporting_for_a_compiler
from kernels.operator import Implementation, OperatorCase, takes_options

Arguments = tuple[tuple[Any, ...], dict[str, Any]]

OPERATORS = tuple(open_operator(spec.parent.name) for spec in sorted(BUNDLED.glob("*/spec.py")))
MAX_GRADCHECK_NUMEL = 300
MAX_OPCHECK_NUMEL = 10_000
# Libraries compete in time; the truth is the reference, and theirs are other sums in float32.
LIBRARY_SLACK = 10

# Inductor, on its first import.
pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script_method` is deprecated:DeprecationWarning"
)


def _name(value: object) -> str:
    return str(getattr(value, "name", None) or getattr(value, "path", value)).rsplit("/", 1)[-1]


def _over(pairs: Iterator[tuple[Any, ...]], names: str) -> pytest.MarkDecorator:
    values = [pytest.param(*value, id="-".join(map(_name, value))) for value in pairs]
    return pytest.mark.parametrize(names, values)


every_case = _over(((op, case) for op in OPERATORS for case in op.cases), "operator,case")
every_composition = _over(
    ((op, case, way) for op in OPERATORS for case in op.cases for way in op.compositions),
    "operator,case,composition",
)
every_library = _over(
    ((op, case, library) for op in OPERATORS for case in op.cases for library in op.libraries),
    "operator,case,library",
)
every_dtype = _over(((op, dtype) for op in OPERATORS for dtype in op.spec.dtypes), "operator,dtype")
every_operator = _over(((op,) for op in OPERATORS), "operator")
every_of_the_libraries = _over(
    ((op, library) for op in OPERATORS for library in op.libraries), "operator,library"
)
every_compiled = _over(
    ((op, way) for op in OPERATORS for way in op.compositions), "operator,composition"
)


def _parts(result: Any) -> tuple[torch.Tensor, ...]:
    parts = result if isinstance(result, tuple | list) else (result,)
    return tuple(torch.as_tensor(part) for part in parts)


def _dtype_name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _check(
    operator: OperatorFolder, call: Implementation, arguments: Arguments, slack: float = 1
) -> None:
    """Hold a call to the reference: same structure, same shapes, values within the tolerance."""
    args, keywords = arguments
    actual = _parts(call(*args, **keywords))
    expected = _parts(operator.reference(*args, **keywords))
    assert len(actual) == len(expected)
    tolerances = operator.spec.tolerances
    tolerance = tolerances.get(_dtype_name(args[0]), tolerances["default"])
    for part, truth in zip(actual, expected, strict=True):
        torch.testing.assert_close(
            part.detach().double(),
            truth.detach().double(),
            atol=slack * tolerance.absolute,
            rtol=slack * tolerance.relative,
            equal_nan=True,
            check_device=False,
        )


def _as_dtype(arguments: Arguments, dtype: str) -> Arguments:
    (first, *rest), keywords = arguments
    return (first.to(getattr(torch, dtype)), *rest), keywords


def _layouts(tensor: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """The same values in other memory layouts."""
    order = tuple(reversed(range(tensor.dim())))
    yield "transposed", tensor.permute(order).contiguous().permute(order)
    wide = tensor.new_zeros([2 * size for size in tensor.shape])
    strided = wide[tuple(slice(None, None, 2) for _ in tensor.shape)]
    strided.copy_(tensor)
    yield "strided", strided
    shifted = torch.cat([tensor.new_zeros(1), tensor.reshape(-1)])[1:].view(tensor.shape)
    yield "shifted", shifted


def _small_cases(operator: OperatorFolder, limit: int) -> list[OperatorCase]:
    return [case for case in operator.cases if 0 < case.make()[0][0].numel() <= limit]


def _served_cases(operator: OperatorFolder, call: Implementation) -> list[OperatorCase]:
    """The small cases whose options the implementation takes; there must be some."""
    small = _small_cases(operator, MAX_OPCHECK_NUMEL)
    served = [case for case in small if takes_options(call, case.make()[1])]
    assert served, f"{operator.path}: no small case has only options that {call} takes"
    return served


@every_case
def test_operator_equals_its_reference(operator: OperatorFolder, case: OperatorCase) -> None:
    """The registered operator is right on every case, the empty ones included."""
    _check(operator, operator.custom, case.make())


@every_dtype
def test_operator_takes_every_declared_dtype(operator: OperatorFolder, dtype: str) -> None:
    """A case converted to another dtype is a case too; the large ones add nothing here."""
    for case in _small_cases(operator, MAX_OPCHECK_NUMEL):
        _check(operator, operator.custom, _as_dtype(case.make(), dtype))


@every_composition
def test_composition_equals_the_reference(
    operator: OperatorFolder, case: OperatorCase, composition: Any
) -> None:
    """Every standard composition is right on every case that it takes: a wrong one proves nothing
    by its time."""
    _check(operator, composition.call, _taken_by(composition.call, case))


@every_library
def test_library_equals_the_reference(
    operator: OperatorFolder, case: OperatorCase, library: Any
) -> None:
    """Every library that is installed answers as its adapter promises."""
    adapter = _load(library)
    _check(operator, adapter, _taken_by(adapter, case), slack=LIBRARY_SLACK)


def _load(library: Any) -> Implementation:
    try:
        call: Implementation = library.load()
    except ImportError as error:
        pytest.skip(f"{library.distribution} is not installed: {error}")
    return call


def _taken_by(call: Implementation, case: OperatorCase) -> Arguments:
    """The case's arguments; skips where the implementation has not all of its options."""
    args, keywords = case.make()
    if not takes_options(call, keywords):
        pytest.skip(f"it does not take all of {', '.join(keywords)}")
    return args, keywords


@every_case
def test_memory_layout_does_not_matter(operator: OperatorFolder, case: OperatorCase) -> None:
    """Transposed, strided and shifted inputs give the very result of contiguous ones."""
    args, keywords = case.make()
    expected = _parts(operator.custom(*args, **keywords))
    for name, first in _layouts(args[0]):
        result = _parts(operator.custom(first, *args[1:], **keywords))
        for part, truth in zip(result, expected, strict=True):
            assert torch.equal(part.nan_to_num(nan=-1.0), truth.nan_to_num(nan=-1.0)), name


@every_case
def test_expanded_input_is_read_correctly(operator: OperatorFolder, case: OperatorCase) -> None:
    """An axis of stride 0 gives what its copy gives."""
    args, keywords = case.make()
    first = args[0]
    if first.numel():
        args = (first[:1].expand(first.shape), *args[1:])
    copied = operator.custom(args[0].contiguous(), *args[1:], **keywords)
    for part, truth in zip(_parts(operator.custom(*args, **keywords)), _parts(copied), strict=True):
        assert torch.equal(part.nan_to_num(nan=-1.0), truth.nan_to_num(nan=-1.0))


@every_case
def test_operator_is_deterministic_and_leaves_its_input_alone(
    operator: OperatorFolder, case: OperatorCase
) -> None:
    """Two runs agree to the bit, and the arguments are as before."""
    args, keywords = case.make()
    first, second = (_parts(operator.custom(*args, **keywords)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.nan_to_num(nan=-1.0), other.nan_to_num(nan=-1.0))
    untouched = case.make()[0]
    for before, after in zip(untouched, args, strict=True):
        if isinstance(before, torch.Tensor):
            torch.testing.assert_close(after, before, rtol=0, atol=0, equal_nan=True)


@every_operator
def test_cases_include_an_empty_input(operator: OperatorFolder) -> None:
    """Emptiness is a case like any other."""
    assert any(case.make()[0][0].numel() == 0 for case in operator.cases)


@every_operator
def test_registered_schemas_equal_the_spec(operator: OperatorFolder) -> None:
    """What spec.py declares is what the library registered."""
    assert operator.custom is not None
    for schema in operator.spec.schemas:
        namespace, name = schema.split("(", 1)[0].split("::")
        packet = getattr(getattr(torch.ops, namespace), name.split(".", 1)[0])
        registered = [str(getattr(packet, overload)._schema) for overload in packet.overloads()]
        assert schema in registered


@every_operator
def test_library_keeps_to_the_stable_abi(operator: OperatorFolder) -> None:
    """It compiles without a warning, and needs no ATen or c10 symbol: later torches load it."""
    if not operator.sources:
        pytest.skip(f"{operator.spec.name} has no C++ sources")
    built = build(operator)
    assert undefined_torch_symbols(built.library) == ()
    assert built.num_warnings == 0


@every_operator
def test_operator_passes_opcheck(operator: OperatorFolder) -> None:
    """Schema, fake and autograd registration agree with what the operator does."""
    cases = _small_cases(operator, MAX_OPCHECK_NUMEL)[:6]
    calls = [call for case in cases for call in _registered_calls(operator, case)]
    assert calls or not operator.spec.schemas
    for overload, args, keywords in calls:
        torch.library.opcheck(overload, args, keywords)


def _registered_calls(
    operator: OperatorFolder, case: OperatorCase
) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """The registered calls that the public function makes, with their arguments."""
    names = {schema.split("(", 1)[0] for schema in operator.spec.schemas}
    calls = []

    class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func._schema.name in names:
                calls.append((func, args, kwargs or {}))
            return func(*args, **(kwargs or {}))

    args, keywords = case.make()
    with Recorder():  # type: ignore[no-untyped-call]
        operator.custom(*args, **keywords)
    return calls


@every_operator
def test_compiled_operator_equals_the_eager_one(operator: OperatorFolder) -> None:
    """The operator works in a compiled graph."""
    for case in _spread(_small_cases(operator, MAX_OPCHECK_NUMEL)):
        _check(operator, _compiled(operator, operator.custom), case.make())


@every_compiled
def test_compiled_composition_equals_the_reference(
    operator: OperatorFolder, composition: Any
) -> None:
    """A composition compiles, and is timed in this form too."""
    for case in _spread(_served_cases(operator, composition.call)):
        _check(operator, _compiled(operator, composition.call), case.make())


@every_compiled
@pytest.mark.parametrize("is_for_a_compiler", [False, True], ids=["interpreted", "for-a-compiler"])
def test_exported_composition_is_right_after_reload(
    operator: OperatorFolder, composition: Any, is_for_a_compiler: bool
) -> None:
    """Either form, saved, loaded and interpreted, is right on other masks of that shape too."""
    if "inference_graph" not in operator.spec.contexts:
        pytest.skip(f"{operator.spec.name} takes no place in an exported graph")
    for case in _spread(_served_cases(operator, composition.call)):
        (first, *rest), keywords = case.make()
        call = partial(_on_first, composition.call, rest, keywords)
        torch._dynamo.reset()
        with exporting_for_a_compiler() if is_for_a_compiler else nullcontext():
            program = _reloaded(torch.export.export(_Graph(call), (first,), strict=False))
        for mask in (first, first.flip(-1), torch.zeros_like(first)):
            _check(operator, partial(_ignoring_the_rest, program), ((mask, *rest), keywords))


def _ignoring_the_rest(program: Implementation, first: Any, *_: Any, **__: Any) -> Any:
    return program(first)


class _Graph(torch.nn.Module):
    """A graph of one call."""

    def __init__(self, call: Implementation) -> None:
        super().__init__()
        self._call = call

    def forward(self, first: torch.Tensor) -> Any:
        return self._call(first)


def _reloaded(program: torch.export.ExportedProgram) -> Implementation:
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file).module()


def _spread(cases: list[OperatorCase]) -> list[OperatorCase]:
    """First, middle and last: compiling every case would take minutes."""
    return [cases[0], cases[len(cases) // 2], cases[-1]]


def _compiled(operator: OperatorFolder, call: Implementation) -> Implementation:
    """Compiled afresh; without a break where the result has to fit an exported graph."""
    torch._dynamo.reset()
    compiled: Implementation = torch.compile(
        call, fullgraph="inference_graph" in operator.spec.contexts
    )
    return compiled


@every_operator
def test_gradients_are_right_or_absent(operator: OperatorFolder) -> None:
    """Differentiable: float64 gradcheck. Otherwise no result claims to require a gradient."""
    cases = _small_cases(operator, MAX_GRADCHECK_NUMEL)
    assert cases, f"{operator.path}: cases.py has no case of at most {MAX_GRADCHECK_NUMEL} elements"
    for case in cases:
        (first, *rest), keywords = _as_dtype(case.make(), "float64")
        call = partial(_on_first, operator.custom, rest, keywords)
        leaf = first.detach().clone().requires_grad_()
        if operator.spec.is_differentiable:
            assert torch.autograd.gradcheck(call, (leaf,))
        else:
            assert not any(part.requires_grad for part in _parts(call(leaf)))


def _on_first(
    call: Implementation, rest: list[Any], keywords: dict[str, Any], first: torch.Tensor
) -> Any:
    return call(first, *rest, **keywords)


@every_operator
def test_all_implementations_take_the_same_parameters(operator: OperatorFolder) -> None:
    """Any implementation can stand in for any other, as far as it serves the options.

    The custom operator may take further options, such as `out`; the reference takes all but `out`.
    """
    custom, options = _parameters(operator.custom)
    assert _parameters(operator.reference) == (custom, [name for name in options if name != "out"])
    for way in operator.compositions:
        _assert_stands_in(way.name, way.call, custom, options)


@every_operator
def test_every_option_has_a_default(operator: OperatorFolder) -> None:
    """A call by position alone reaches every implementation."""
    for call in (operator.custom, operator.reference, *(w.call for w in operator.compositions)):
        named = inspect.signature(call).parameters.values()
        assert all(p.default is not p.empty for p in named if p.kind is p.KEYWORD_ONLY), call


@every_of_the_libraries
def test_libraries_take_the_same_parameters(operator: OperatorFolder, library: Any) -> None:
    """An adapter stands in for the operator, as far as it serves the options."""
    _assert_stands_in(library.name, _load(library), *_parameters(operator.custom))


def _assert_stands_in(
    name: str, call: Implementation, custom: list[str], options: list[str]
) -> None:
    """Its leading parameters are the operator's; its options are some of them, in their order."""
    leading, named = _parameters(call)
    assert leading == custom, name
    assert named == [option for option in options if option in named], name


def _parameters(call: Implementation) -> tuple[list[str], list[str]]:
    """Names of the parameters that may be given by position, and of those by keyword alone."""
    parameters = inspect.signature(call).parameters.values()
    by_name = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    return [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY], by_name
