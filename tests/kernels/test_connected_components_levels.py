"""The labelling kernel at its limits: instruction sets, threads, layouts, shapes, `out`, size."""

from collections.abc import Sequence

import psutil
import pytest
import torch
from component_masks import at_each_level, by_scipy, layouts, with_threads
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from torch import Tensor

from kernels.connected_components import component_count, connected_components
from kernels.connected_components.cases import checkerboard, noise, snake

# Inductor, on its first import.
pytestmark = pytest.mark.filterwarnings(
    "ignore:`torch.jit.script_method` is deprecated:DeprecationWarning"
)

# Around the words of 64 columns that rows are packed to, and the chunks of 16 that are written.
WIDTHS = (1, 2, 3, 7, 8, 15, 16, 17, 31, 48, 63, 64, 65, 100, 127, 128, 129, 192, 200)
DTYPES = (
    torch.bool,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
)


def smooth(shape: Sequence[int], seed: int) -> Tensor:
    """bool, blobs of some voxels' width, half of all foreground."""
    generator = torch.Generator().manual_seed(seed)
    field = torch.rand(tuple(shape), generator=generator).numpy()
    return torch.from_numpy(ndimage.gaussian_filter(field, 1.5) > 0.5)


@st.composite
def masks(draw: st.DrawFn) -> Tensor:
    """Of 1 to 3 axes, any density, widths around every boundary."""
    shape = [draw(st.integers(1, 13)) for _ in range(draw(st.integers(0, 2)))]
    shape.append(draw(st.sampled_from(WIDTHS)))
    if draw(st.booleans()):
        shape = draw(st.permutations(shape))
    seed = draw(st.integers(0, 2**20))
    density = draw(st.sampled_from([0.0, 0.03, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 1.0, -1.0]))
    return smooth(shape, seed) if density < 0 else noise(shape, density, seed)


@settings(max_examples=4000, deadline=None, derandomize=True)
@given(masks(), st.sampled_from(DTYPES))
def test_equals_scipy_on_every_instruction_set(mask: Tensor, dtype: torch.dtype) -> None:
    """Equal to the last label at each connectivity, any dtype, int64 where `out` asks for it."""
    given_mask = mask.to(dtype)
    for connectivity in range(1, mask.ndim + 1):
        expected = by_scipy(mask, connectivity)
        for level in at_each_level():
            assert torch.equal(connected_components(given_mask, connectivity), expected), level
            wide = torch.full(mask.shape, -1, dtype=torch.int64)
            assert connected_components(given_mask, connectivity, out=wide) is wide
            assert torch.equal(wide, expected.long()), level


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.int64, torch.complex64])
def test_any_layout_is_read_by_index(dtype: torch.dtype) -> None:
    """Every order of axes, steps, crops and offsets, on every instruction set."""
    for shape in ((70, 9, 130), (3, 80, 66), (9, 70), (130, 3), (5, 1, 66)):
        mask = noise(shape, 0.3, 1)
        expected = by_scipy(mask, mask.ndim)
        for name, other in layouts(mask.to(dtype)):
            for level in at_each_level():
                assert torch.equal(connected_components(other), expected), (name, level)


def test_expanded_axes_are_read_by_index() -> None:
    """Strides of 0 along any axis, the batch included."""
    for shape in ((1, 66, 70), (9, 1, 70), (9, 66, 1), (1, 1, 70), (9, 1, 1)):
        mask = noise(shape, 0.4, 2).expand(9, 66, 70)
        for level in at_each_level():
            assert torch.equal(connected_components(mask), by_scipy(mask, 3)), level
    batch = noise((1, 6, 7), 0.4, 3).expand(5, 6, 7)
    expected = connected_components(batch[0]).expand(5, 6, 7)
    assert torch.equal(connected_components(batch, spatial_dims=2), expected)


def structures() -> dict[str, Tensor]:
    """Large enough for several threads; components that wind from slab to slab."""
    size = 72
    spiral = torch.zeros((300, 300), dtype=torch.bool)
    for ring in range(0, 140, 2):
        spiral[ring, ring : 300 - ring] = spiral[ring : 300 - ring, 299 - ring] = True
        spiral[299 - ring, ring : 300 - ring] = spiral[ring + 2 : 300 - ring, ring] = True
        spiral[ring + 2, ring : ring + 2] = True
    comb = torch.zeros((size, size, size), dtype=torch.bool)
    comb[:, :, ::2] = True
    comb[:, 0, :] = True
    comb[:, 1, 1:-1] = False
    upward = torch.zeros((size, size, size), dtype=torch.bool)
    upward[:, ::2, ::2] = True
    upward[-1] = True
    lattice = torch.zeros((size, size, size), dtype=torch.bool)
    lattice[::2, ::2, ::2] = True
    centred = lattice.clone()
    centred[1::2, 1::2, 1::2] = True
    diagonal = torch.zeros((size, size, size), dtype=torch.bool)
    diagonal[range(size), range(size), range(size)] = True
    diagonal[range(size), range(size - 1, -1, -1), range(size)] = True
    return {
        "spiral": spiral,
        "snake": snake(401, 200),
        "comb": comb,
        "upward": upward,
        "lattice": lattice,
        "centred": centred,
        "diagonal": diagonal,
        "checkerboard": checkerboard((size, size, size)),
        "all_ones": torch.ones((size, size, size), dtype=torch.bool),
        "smooth": smooth((size, 60, 70), 1),
        "sparse_noise": noise((size, 60, 70), 0.06, 2),
        "noise": noise((size, 61, 65), 0.3, 3),
        "image_noise": noise((701, 203), 0.4, 4),
        "line": noise((200_000,), 0.5, 5),
        "narrow": noise((70_000, 2), 0.5, 6),
        "thin": noise((3, 400, 200), 0.2, 7),
    }


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_share_a_volume(threads: int) -> None:
    """Slabs that several threads search are merged to the very same labels and counts."""
    for name, mask in structures().items():
        for connectivity in range(1, mask.ndim + 1):
            expected = by_scipy(mask, connectivity)
            with with_threads(threads):
                labels = connected_components(mask, connectivity)
                count = component_count(mask, connectivity)
            assert torch.equal(labels, expected), (name, connectivity)
            assert int(count) == int(expected.max()), (name, connectivity)


def test_threads_share_a_batch() -> None:
    """Volumes, small and large, are numbered each from 1, at any number of threads."""
    for shape in ((7, 2, 9, 10, 11), (2, 1, 48, 80, 80)):
        mask = noise(shape, 0.15, 8)
        expected = torch.stack([by_scipy(one, 3) for one in mask.flatten(0, 1)]).reshape(shape)
        for threads in (1, 2, 5):
            with with_threads(threads):
                assert torch.equal(connected_components(mask, spatial_dims=3), expected)


@pytest.mark.parametrize("shape", [(2, 2, 3), (1, 3, 4), (3, 1, 4), (1, 1, 12)])
@pytest.mark.parametrize("connectivity", [1, 2, 3])
def test_every_mask_of_twelve_voxels(shape: tuple[int, ...], connectivity: int) -> None:
    """All 4096 masks of a small shape, by the powers of their neighbour matrices."""
    masks_MV = (torch.arange(4096)[:, None] >> torch.arange(12) & 1).bool()
    places = torch.ones(shape).nonzero()
    apart = (places[:, None] - places[None]).abs()
    is_near = (apart.amax(2) <= 1) & (apart.sum(2) <= connectivity)
    reaches = (is_near & masks_MV[:, :, None] & masks_MV[:, None, :]).float()
    for _ in range(4):  # Paths of up to 2^4 steps.
        reaches = ((reaches @ reaches) > 0).float()
    firsts_MV = reaches.argmax(2)
    is_first_MV = masks_MV & (firsts_MV == torch.arange(12))
    expected = is_first_MV.cumsum(1).gather(1, firsts_MV) * masks_MV
    volumes = masks_MV.reshape(-1, *shape)
    for level in at_each_level():
        labels = connected_components(volumes, connectivity, spatial_dims=3)
        assert torch.equal(labels.reshape(-1, 12).long(), expected), level


# `out`.


def test_out_is_filled_and_returned() -> None:
    """At any address, in either dtype, whatever it held."""
    mask = noise((3, 1, 20, 21, 37), 0.2)
    expected = connected_components(mask, spatial_dims=3)
    for dtype in (torch.int32, torch.int64):
        for offset in (0, 1, 5):
            out = torch.full((mask.numel() + offset,), -9, dtype=dtype)[offset:].view(mask.shape)
            for _ in at_each_level():
                out.fill_(-9)
                assert connected_components(mask, spatial_dims=3, out=out) is out
                assert torch.equal(out, expected.to(dtype))


def test_nothing_is_written_beyond_out() -> None:
    """The elements before and after it keep their values."""
    for width in (1, 15, 16, 17, 64, 80, 100):
        mask = noise((6, 5, width), 0.3)
        for dtype in (torch.int32, torch.int64):
            for _ in at_each_level():
                memory = torch.full((mask.numel() + 128,), -9, dtype=dtype)
                out = memory[64 : 64 + mask.numel()].view(mask.shape)
                connected_components(mask, out=out)
                assert torch.equal(out, by_scipy(mask, 3).to(dtype))
                assert (memory[:64] == -9).all()
                assert (memory[64 + mask.numel() :] == -9).all()


def test_large_labels_pass_the_caches() -> None:
    """Beyond a mebibyte of labels stores go past the caches; rows of any width and address."""
    for shape in ((70, 80, 96), (70, 80, 91), (600, 1001)):
        mask = noise(shape, 0.12, 9)
        expected = by_scipy(mask, mask.ndim)
        for offset in (0, 1):
            out = torch.empty(mask.numel() + offset, dtype=torch.int32)[offset:].view(shape)
            for level in at_each_level():
                out.fill_(-9)
                assert torch.equal(connected_components(mask, out=out), expected), level


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (torch.empty((4, 5), dtype=torch.int16), "out must be int32 or int64, got torch.int16"),
        (torch.empty((4, 5), dtype=torch.uint32), "out must be int32 or int64"),
        (torch.empty((5, 4), dtype=torch.int32), r"the mask's shape \(4, 5\), got \(5, 4\)"),
        (torch.empty((1, 4, 5), dtype=torch.int32), r"the mask's shape \(4, 5\), got \(1, 4, 5\)"),
        (torch.empty((5, 4), dtype=torch.int32).T, r"must be contiguous, got strides \(1, 4\)"),
        (torch.empty((4, 5), dtype=torch.int32, device="meta"), "device cpu, got meta"),
    ],
)
def test_out_that_does_not_fit_is_refused(out: Tensor, message: str) -> None:
    """By the public function and by the registered operator."""
    mask = torch.ones((4, 5), dtype=torch.bool)
    with pytest.raises(ValueError, match=message):
        connected_components(mask, out=out)
    if out.device == mask.device:
        with pytest.raises(RuntimeError, match=r"connected_components: out must (be|have)"):
            torch.ops.breakeven.connected_components.out(mask, 2, 2, out=out)


def test_out_that_overlaps_the_mask_is_refused() -> None:
    """The mask itself, a part of its memory, or what lies between its elements."""
    memory = torch.zeros(64, dtype=torch.int32)
    for mask, out in (
        (memory[:16].view(4, 4), memory[:16].view(4, 4)),
        (memory[:16].view(4, 4), memory[15:31].view(4, 4)),
        (memory.view(torch.uint8)[:16].view(4, 4), memory[3:19].view(4, 4)),
        (memory.view(4, 16)[:, ::5], memory[33:49].view(4, 4)),
    ):
        with pytest.raises(RuntimeError, match="out must not overlap the mask in memory"):
            connected_components(mask, out=out)
    neighbour = connected_components(memory[:16].view(4, 4), out=memory[16:32].view(4, 4))
    assert neighbour.data_ptr() == memory[16:].data_ptr()


def test_out_in_a_compiled_graph() -> None:
    """The argument is filled, in either dtype, and what follows reads the new labels."""

    def label(mask: Tensor, out: Tensor) -> Tensor:
        return connected_components(mask, out=out) + out

    torch._dynamo.reset()
    compiled = torch.compile(label, fullgraph=True)
    mask = noise((6, 7), 0.4)
    for dtype in (torch.int32, torch.int64):
        out = torch.empty(mask.shape, dtype=dtype)
        assert torch.equal(compiled(mask, out), 2 * by_scipy(mask, 2).to(dtype))
        assert torch.equal(out, by_scipy(mask, 2).to(dtype))


# Limits.


def test_unknown_level_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A level that does not exist is named, not ignored."""
    monkeypatch.setenv("BREAKEVEN_CPU_LEVEL", "sse9")
    with pytest.raises(RuntimeError, match="must be portable, avx2 or avx512, got sse9"):
        connected_components(torch.ones(3))


def test_volumes_beyond_32_bits_of_runs_are_refused() -> None:
    """Where a mask might have 2^32 runs, before any work."""
    mask = torch.zeros(1, dtype=torch.bool).expand(2**12, 2**11, 2**11)
    with pytest.raises(RuntimeError, match=r"fewer than 2\^32 runs .* label it in parts"):
        component_count(mask, 1)


@pytest.mark.slow
@pytest.mark.skipif(
    psutil.virtual_memory().available < 20 * 2**30, reason="less than 20 GiB of free memory"
)
def test_more_than_2_to_the_31_voxels() -> None:
    """A mask of 2.2 GB: components before, across and after the voxel that int32 cannot count."""
    mask = torch.zeros((1030, 1024, 2048), dtype=torch.uint8)
    mask[0, 0, 0] = 1
    mask[1020:, 100, 7] = 1
    mask[1024, 5:9, 3] = 1
    mask[-1, -1, -1] = 1
    labels = connected_components(mask, 1)
    assert labels.dtype == torch.int32
    assert labels[0, 0, 0] == 1
    assert (labels[1020:, 100, 7] == 2).all()
    assert (labels[1024, 5:9, 3] == 3).all()
    assert labels[-1, -1, -1] == 4
    assert int(labels.count_nonzero()) == 1 + 10 + 4 + 1


def test_memory_beyond_the_labels() -> None:
    """At most half a byte a voxel, on noise at each connectivity; labels are given."""
    mask = noise((256, 256, 256), 0.5, 1)
    out = torch.zeros(mask.shape, dtype=torch.int32)
    connected_components(mask[:8], out=out[:8])
    for connectivity in (1, 2, 3):
        before = _peak_kib(reset=True)
        connected_components(mask, connectivity, out=out)
        assert (_peak_kib() - before) * 1024 <= mask.numel() / 2


def _peak_kib(reset: bool = False) -> int:
    """Largest resident size of this process so far, in KiB; counted anew from now with `reset`."""
    if reset:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    with open("/proc/self/status") as file:
        lines = dict(line.split(":", 1) for line in file)
    return int(lines["VmHWM"].split()[0])
