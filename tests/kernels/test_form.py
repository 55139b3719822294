"""Which form is traced where."""

import pytest
import torch

from kernels.form import exporting_for_a_compiler, wants_fused_loops


class Marked(torch.nn.Module):
    """Adds 1 where loops are to be fused."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + int(wants_fused_loops())


ZERO = torch.zeros(2)


def test_eager_mode_fuses_nothing() -> None:
    """Not even while an export for a compiler is on its way."""
    assert Marked()(ZERO).sum() == 0
    with exporting_for_a_compiler():
        assert Marked()(ZERO).sum() == 0


def test_compiled_code_wants_fused_loops() -> None:
    """A backend of `torch.compile` sees the fused form."""
    assert torch.compile(Marked(), backend="eager", fullgraph=True)(ZERO).sum() == 2


@pytest.mark.parametrize("strict", [False, True])
def test_export_wants_fused_loops_for_a_compiler_alone(strict: bool) -> None:
    """A plain export is interpreted, before and after one for a compiler."""
    plain = torch.export.export(Marked(), (ZERO,), strict=strict)
    with exporting_for_a_compiler():
        fused = torch.export.export(Marked(), (ZERO,), strict=strict)
    again = torch.export.export(Marked(), (ZERO,), strict=strict)
    assert [int(way.module()(ZERO).sum()) for way in (plain, fused, again)] == [0, 2, 0]


def test_failed_export_leaves_no_trace() -> None:
    """The flag is put back when the export raises."""
    with pytest.raises(ValueError, match="within"), exporting_for_a_compiler():
        raise ValueError("within")
    assert torch.export.export(Marked(), (ZERO,)).module()(ZERO).sum() == 0
