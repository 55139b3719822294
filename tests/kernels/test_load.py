"""Loading an operator's library: once, whole, and never two versions of it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from build_folders import make_folder

from kernels.build import build
from kernels.folder import open_operator
from kernels.load import LibraryConflictError, ensure_loaded, load_library, load_operator

SOURCE = """
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/tensor.h>

STABLE_TORCH_LIBRARY_FRAGMENT(breakeven_test_load, m) {
  m.def("NAME(Tensor x) -> Tensor");
  m.def("NAME.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)");
  m.def("NAME_table(Tensor x) -> Tensor");
}
"""


def make_library(place: Path, name: str, more: str = "") -> Path:
    """Build a library that registers an operator, its `.out` overload, and a second operator."""
    source = SOURCE.replace("NAME", name) + more
    return build(make_folder(place / name, **{name: source}), place / "built").library


def test_library_of_several_operators_is_loaded_once_for_all(tmp_path: Path) -> None:
    """Each operator and overload may be asked for, again and by another path of that content."""
    library = make_library(tmp_path, "several")
    copy = Path(shutil.copy(library, tmp_path / "copy.so"))
    for path in (library, copy, library):
        for name in ("several", "several.out", "several_table"):
            load_library(path, "breakeven_test_load", name)
    assert set(torch.ops.breakeven_test_load.several.overloads()) == {"default", "out"}


def test_library_of_other_content_is_refused(tmp_path: Path) -> None:
    """Loading it would abort the process; it is told by its content, not by its path."""
    library = make_library(tmp_path / "one", "refused")
    load_library(library, "breakeven_test_load", "refused")
    other = make_library(tmp_path / "other", "refused", "int changed() { return 1; }\n")
    for name in ("refused", "refused.out"):
        with pytest.raises(LibraryConflictError, match=rf"{name} is registered already, by a lib"):
            load_library(other, "breakeven_test_load", name)
    shutil.copy(other, tmp_path / "moved.so")
    (tmp_path / "moved.so").replace(library)
    with pytest.raises(LibraryConflictError, match=r"of other content \(sha256 [0-9a-f]{16}\)"):
        load_library(library, "breakeven_test_load", "refused")


def test_other_content_with_one_known_operator_is_refused(tmp_path: Path) -> None:
    """A spec is loaded whole: one schema that is taken is enough to refuse the library."""
    load_library(make_library(tmp_path / "one", "partly"), "breakeven_test_load", "partly")
    more = (
        'STABLE_TORCH_LIBRARY_FRAGMENT(breakeven_test_load, n) { n.def("fresh(Tensor x) -> ()"); }'
    )
    other = make_library(tmp_path / "other", "partly", more)
    spec = replace(
        open_operator("distance_transform").spec,
        schemas=(
            "breakeven_test_load::fresh(Tensor x) -> ()",
            "breakeven_test_load::partly(Tensor x) -> Tensor",
        ),
    )
    with pytest.raises(LibraryConflictError, match="partly is registered already"):
        load_operator(spec, other)


def test_library_loaded_by_others_is_known_by_its_content(tmp_path: Path) -> None:
    """A model's own loader goes through torch alone; the same content is then loaded already."""
    library = make_library(tmp_path, "foreign")
    torch.ops.load_library(library)
    load_library(library, "breakeven_test_load", "foreign")
    other = make_library(tmp_path / "other", "foreign", "int changed() { return 1; }\n")
    with pytest.raises(LibraryConflictError, match=r"sha256 unknown"):
        load_library(other, "breakeven_test_load", "foreign")


def test_library_that_registers_something_else_is_refused(tmp_path: Path) -> None:
    """Loading the wrong library does not pass for success, the first time or later."""
    library = make_library(tmp_path, "wrong")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="did not register breakeven_test_load::right"):
            load_library(library, "breakeven_test_load", "right")


def test_file_that_is_no_library_is_refused(tmp_path: Path) -> None:
    """A missing file and a damaged one each say what they are."""
    with pytest.raises(FileNotFoundError, match=r"expected the library of breakeven_test_load::x"):
        load_library(tmp_path / "absent.so", "breakeven_test_load", "x")
    (tmp_path / "text.so").write_text("not a library")
    with pytest.raises(RuntimeError, match=r"text\.so: cannot be loaded: .*file too short"):
        load_library(tmp_path / "text.so", "breakeven_test_load", "x")


def test_operator_that_is_there_is_not_built(tmp_path: Path) -> None:
    """A folder's own loader asks for nothing that the process has: no sources are needed then."""
    load_library(make_library(tmp_path, "present"), "breakeven_test_load", "present")
    ensure_loaded(tmp_path / "nowhere", "breakeven_test_load", "present")
    assert hasattr(torch.ops.breakeven_test_load, "present")
