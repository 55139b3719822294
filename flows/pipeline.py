"""The clone's `dvc.yaml` for a workspace elsewhere: code becomes absolute paths, file by file.

DVC's ignore rules end at the workspace: a folder of code as a dependency would take in byte code.
"""

from collections.abc import Iterator
from pathlib import Path

import yaml

from flows.dvc import CLONE
from stages.contract import PARAMS, PIPELINE, InputError, load_parameters, write_text

_MARK = "# Written by breakeven at every run"
_OPERATOR, _WORKLOAD = "${algorithm.operator}", "${training.workload_source}"
_CODE_ROOTS = ("stages", "kernels", "flows")


def render_pipeline(workspace: Path) -> None:
    """Write the workspace's `dvc.yaml`, unless it is right already or not one of ours.

    Raises:
        InputError: the parameters are at fault, or name code that does not exist.
    """
    target = workspace / PIPELINE
    present = target.read_text("utf-8") if target.is_file() else _MARK
    if not present.startswith(_MARK):
        return
    parameters = load_parameters(workspace / PARAMS)
    named = {
        _OPERATOR: workspace / parameters.algorithm.operator,
        _WORKLOAD: workspace / parameters.training.workload_source,
    }
    pipeline = yaml.safe_load((CLONE / PIPELINE).read_text("utf-8"))
    for stage in pipeline["stages"].values():
        if "deps" in stage:
            found = [path for entry in stage["deps"] for path in _expand(entry, named)]
            stage["deps"] = list(dict.fromkeys(found))
    body = yaml.safe_dump(pipeline, sort_keys=False, allow_unicode=True, width=1000)
    text = f"{_MARK}, from {CLONE / PIPELINE}: edit that one.\n{body}"
    if present != text:
        write_text(target, text)


def _expand(entry: str, named: dict[str, Path]) -> Iterator[str]:
    """The dependencies that one entry stands for."""
    if entry in named:
        key = entry.strip("${}")
        yield from _files(named[entry], f"params.yaml: {key}")
    elif Path(entry).parts[0] in _CODE_ROOTS:
        yield from _files(CLONE / entry, f"{PIPELINE}: deps")
    else:
        yield entry


def _files(path: Path, origin: str) -> Iterator[str]:
    """The path if it is a file; the files below it if it is a folder, sorted."""
    if path.is_file():
        yield str(path)
        return
    if not path.is_dir():
        raise InputError(f"{origin}: expected a file or folder of code, found none at {path}")
    for file in sorted(path.rglob("*")):
        if file.is_file() and not any(_is_left_out(part) for part in file.relative_to(path).parts):
            yield str(file)


def _is_left_out(name: str) -> bool:
    """Byte code and hidden files, as the clone's `.dvcignore` has it."""
    return name.startswith(".") or name == "__pycache__" or name.endswith(".pyc")
