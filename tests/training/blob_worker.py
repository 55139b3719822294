"""What torchrun starts in the tests: train on the tiny cases, and leave weights and losses.

Arguments: folder, steps, global batch, and what goes wrong in worker 1: "nothing", "kill", "raise"
or "hang".
"""

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import torch
from blob_cases import make_cases, make_job, make_shape, read_blobs

from stages.training.curve import Row
from stages.training.distributed import joined_team
from stages.training.failures import failures_told
from stages.training.lesion_segmentation import make
from stages.training.loop import train

FAULTY_RANK = "1"
FAULTY_STEP = 3


def main() -> None:
    """Train; `out.pt` and `out.json` are written by the first worker."""
    folder, num_steps, batch_size = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    fault = sys.argv[4]
    mark = folder / "fault_happened"

    def on_step(row: Row) -> None:
        is_faulty = os.environ["RANK"] == FAULTY_RANK and row["step"] == FAULTY_STEP
        if fault == "nothing" or not is_faulty or mark.exists():
            return
        mark.touch()
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "raise":
            raise OSError("the disk is on fire")
        time.sleep(600)

    workload, job, shape = make(), make_job(num_steps, batch_size, micro_batch_size=1), make_shape()
    samples = workload.make_samples(make_cases(), read_blobs, shape)
    with failures_told(folder), joined_team(workload, samples, job) as (team, device):
        trained = train(
            workload, {}, samples, shape, replace(job, device=device), folder, on_step, team
        )
    if team.rank == 0:
        torch.save(trained.model.state_dict(), folder / "out.pt")
        losses = [row["loss"] for row in trained.curve]
        text = json.dumps({"losses": losses, "resumed": trained.resumed_from_step})
        (folder / "out.json").write_text(text)


if __name__ == "__main__":
    main()
