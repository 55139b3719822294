"""What every CUDA source must do, read off its text: launch through `CudaLauncher`, check, count in
64 bits."""

import re
from collections.abc import Iterator
from pathlib import Path

_FUNCTION = re.compile(r"^[\w:<>,&*\s]*?\b(\w+)\([^;{}]*\)\s*(?:const\s*)?\{$.*?^\}", re.M | re.S)
_IMPLEMENTATION = re.compile(r'm\.impl\("([\w.]+)",\s*TORCH_BOX\(&breakeven::(\w+)\)\)')
_LAUNCH = re.compile(r"<<<(.*?)>>>\([^;]*\);\s*(\S+)", re.S)
_PASS = re.compile(r"void operator\(\)\(([^)]*)\) const")
_BLOCK_PASS = re.compile(r"void run\(([^)]*)\) const")
_BLOCK_PASS_ARGUMENTS = "int phase, int64_t {}, int thread, Shared& shared"


def faults_of_source(text: str) -> Iterator[str]:
    """Of a .cu file: what its registered implementations lack."""
    functions = {match[1]: match[0] for match in _FUNCTION.finditer(text)}
    if "<<<" in text:
        yield "a launch beside CudaLauncher's"
    if re.search(r"cudaStreamLegacy|cudaStreamPerThread|cudaStreamDefault|cudaSetDevice", text):
        yield "a stream or device of its own choice"
    implementations = _IMPLEMENTATION.findall(text)
    if not implementations:
        yield "no implementation is registered for CUDA"
    for operator, name in implementations:
        reached = "\n".join(_reached(name, functions))
        if not re.search(r"\bCudaLauncher launch\(\w+\);", reached):
            yield f"{operator}: no CudaLauncher, which holds device and stream"
        if not re.search(r"\bcheck_\w+\(", reached):
            yield f"{operator}: no check of its arguments"


def faults_of_launcher(text: str) -> Iterator[str]:
    """Of cuda_launch.h: device guard, current stream, check and early return of each launch."""
    if not re.search(r"guard_\(tensor\.get_device_index\(\)\)", text):
        yield "the guard is not of the tensor's device"
    if "accelerator::DeviceGuard guard_;" not in text:
        yield "no device guard is held"
    if "aoti_torch_get_current_cuda_stream(tensor.get_device_index(), &stream)" not in text:
        yield "the stream is not the current one of the tensor's device"
    launches = list(_LAUNCH.finditer(text))
    if not launches:
        yield "nothing is launched"
    for launch in launches:
        if not launch[1].endswith(", 0, stream_"):
            yield f"a launch that is not on the stream: {launch[1]}"
        if launch[2] != "STD_CUDA_KERNEL_LAUNCH_CHECK();":
            yield f"a launch that is not checked: {launch[1]}"
        start = text.rindex("template", 0, launch.start())
        if not re.search(r"if \(count == 0\) \{\s*return;", text[start : launch.start()]):
            yield f"a launch without early return: {launch[1]}"
    for line in text.splitlines():
        narrow = re.search(r"(?<!static_cast<int64_t>\()(blockIdx|gridDim)\.x\)? \*", line)
        if narrow or re.search(r"\b(?:int|unsigned|auto) \w+ = .*(?:blockIdx|gridDim)", line):
            yield f"an index in 32 bits: {line.strip()}"


def faults_of_passes(text: str) -> Iterator[str]:
    """Of a header with passes: indices of 64 bits, and nothing of one side only without a guard."""
    for match in _PASS.finditer(text):
        if not re.fullmatch(r"int64_t(?: \w+)?", match[1]):
            yield f"an index in 32 bits: {match[0]}"
    for match in _BLOCK_PASS.finditer(text):
        if not re.fullmatch(_BLOCK_PASS_ARGUMENTS.format(r"\w+"), match[1]):
            yield f"a block pass of another form: {match[0]}"
    for line in text.splitlines():
        if re.search(r"\b(?:int|unsigned|int32_t|uint32_t) (?:voxel|index|count|volume)\b", line):
            yield f"a place of a volume in 32 bits: {line.strip()}"
    if re.search(r"\batomic(?:Add|Min|Max|CAS|Or)\(|__syncthreads|threadIdx|std::atomic", text):
        yield "an atomic operation or barrier that only one side has"


def faults(path: Path) -> list[str]:
    """All faults of one file, by what it is."""
    text = path.read_text()
    if path.suffix == ".cu":
        return list(faults_of_source(text))
    if path.name == "cuda_launch.h":
        return list(faults_of_launcher(text))
    return list(faults_of_passes(text))


def _reached(name: str, functions: dict[str, str]) -> Iterator[str]:
    """Bodies of a function and of those of the file that it calls."""
    waiting, seen = [name], set()
    while waiting:
        body = functions.get(waiting[-1], "")
        seen.add(waiting.pop())
        yield body
        called = set(re.findall(r"\b(\w+)(?:<[^;()]*>)?\(", body))
        waiting += [one for one in called & functions.keys() if one not in seen]
