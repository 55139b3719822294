"""Build the operators for this machine's GPU, check them, time them: `python3 tests/gpu/run.py`.

Runs on a bare machine: Python 3.12, torch 2.11 or later with CUDA, NumPy, nvcc and g++; nothing is
installed. Prints what failed and a table, and writes a JSON file. Exit status 1 where a check
failed, 2 where there is nothing to run on.

Options: `--json FILE` (default reports/gpu.json), `--quick` (smaller inputs), `--checks-only`.

Figures: none are committed yet, since no GPU was lent to the work that wrote this. Run it where one
is at hand, and commit the JSON file beside this one as `figures.json`.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> int:
    """Build, check, time, write."""
    options = _read_options()
    os.environ.setdefault("BREAKEVEN_BUILD_DIR", tempfile.mkdtemp(prefix="breakeven-gpu-"))
    import torch

    if torch.version.cuda is None or not torch.cuda.is_available():
        print(
            f"expected a GPU and a torch with CUDA, got torch {torch.__version__}", file=sys.stderr
        )
        return 2
    device = torch.device("cuda", torch.cuda.current_device())
    report: dict[str, Any] = {"machine": _machine(device), "build": _build(device)}
    if any(not built["has_cuda"] for built in report["build"]):
        print(json.dumps(report["build"], indent=2), file=sys.stderr)
        return 2
    report["checks"] = _run_checks(device)
    if not options.checks_only:
        report["timings"] = _run_timings(device, options.quick)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=2) + "\n")
    failed = report["checks"]["failed"]
    print(f"{report['checks']['passed']} checks passed, {len(failed)} failed; {options.json}")
    return 1 if failed else 0


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, default=ROOT / "reports" / "gpu.json")
    parser.add_argument("--quick", action="store_true", help="smaller inputs")
    parser.add_argument("--checks-only", action="store_true", help="no timing")
    return parser.parse_args()


def _machine(device: Any) -> dict[str, Any]:
    import torch

    properties = torch.cuda.get_device_properties(device)
    return {
        "gpu": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "multiprocessors": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "cpu_count": os.cpu_count(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "python": sys.version.split()[0],
    }


def _build(device: Any) -> list[dict[str, Any]]:
    """For this GPU alone: code for others would take as long again for each."""
    import torch
    from gpu_checks import NAMES

    import kernels.build.cuda
    from kernels.build import CudaBuilt, build
    from kernels.folder import open_operator

    major, minor = torch.cuda.get_device_capability(device)
    kernels.build.cuda.ARCHITECTURES = (10 * major + minor,)
    facts = []
    for name in NAMES:
        started = time.perf_counter()
        built = build(open_operator(name))
        has_cuda = isinstance(built.cuda, CudaBuilt)
        facts.append(
            {
                "operator": name,
                "seconds": round(time.perf_counter() - started, 1),
                "has_cuda": has_cuda,
                "compiler": built.cuda.compiler if isinstance(built.cuda, CudaBuilt) else None,
                "reason": None if isinstance(built.cuda, CudaBuilt) else built.cuda.reason,
            }
        )
        print(f"{name}: built in {facts[-1]['seconds']} s", flush=True)
    return facts


def _run_checks(device: Any) -> dict[str, Any]:
    import torch
    from gpu_checks import all_checks

    passed, failed = 0, {}
    for check in all_checks(device):
        try:
            check.run()
            torch.cuda.synchronize(device)
            passed += 1
        except Exception as error:  # all of them are to be seen, whatever one does
            failed[check.name] = f"{type(error).__name__}: {error}"[:600]
            print(f"FAILED {check.name}\n{traceback.format_exc(limit=-2)}", flush=True)
            if "CUDA error" in str(error):  # nothing runs on the device any more
                break
    return {"passed": passed, "failed": failed}


def _run_timings(device: Any, is_quick: bool) -> list[dict[str, Any]]:
    from gpu_timing import measure_all

    heading = (
        "operation",
        "input",
        "ours ms",
        "via CPU",
        "composed",
        "ns/voxel",
        "bandw.",
        "B/voxel",
    )
    line = "{:<32} {:<26} {:>9} {:>9} {:>9} {:>9} {:>7} {:>8}"
    print(line.format(*heading), flush=True)
    rows = []
    for row in measure_all(device, is_quick):
        rows.append(asdict(row))
        composed = "-" if row.composed_ms is None else f"{row.composed_ms:.3f}"
        print(
            line.format(
                row.operation,
                f"{'x'.join(map(str, row.shape))} {row.content}",
                f"{row.ours_ms:.3f}",
                f"{row.cpu_round_trip_ms:.2f}",
                composed,
                f"{row.ns_per_voxel:.4f}",
                f"{row.bandwidth_fraction:.0%}",
                f"{row.memory_bytes_per_voxel:.3f}",
            ),
            flush=True,
        )
    return rows


if __name__ == "__main__":
    sys.exit(main())
