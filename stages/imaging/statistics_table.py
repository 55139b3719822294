"""The table of per-case statistics, of which `data/expectations/cases.json` speaks."""

from typing import TYPE_CHECKING

from stages.imaging.facts import CaseFacts, DataSetFacts

if TYPE_CHECKING:
    import pandas as pd


def statistics_table(facts: DataSetFacts) -> "pd.DataFrame":
    """One row for every case that is in the manifest."""
    import pandas as pd

    return pd.DataFrame(
        [
            _describe(case)
            for case in facts.cases
            if case.label_facts is not None and case.split != "unlabelled"
        ]
    )


def _describe(case: CaseFacts) -> dict[str, str | int | float]:
    label = case.label_facts
    assert label is not None
    image = case.image_file
    num_voxels = 1
    for size in image.shape:
        num_voxels *= size
    smallest, largest = min(image.spacing_mm), max(image.spacing_mm)
    return {
        "case_id": case.case_id,
        "patient": case.patient,
        "split": case.split,
        "num_channels": len(case.channels),
        "num_voxels": num_voxels,
        "smallest_axis_voxels": min(image.shape),
        "smallest_spacing_mm": smallest,
        "largest_spacing_mm": largest,
        "lowest_intensity": min(channel.minimum for channel in case.channels),
        "highest_intensity": max(channel.maximum for channel in case.channels),
        "smallest_std": min(channel.std for channel in case.channels),
        "num_lesions": label.num_lesions,
        "num_lesion_voxels": label.num_lesion_voxels,
        "lesion_fraction": label.num_lesion_voxels / num_voxels,
        "largest_lesion_fraction": label.largest_lesion_voxels / num_voxels,
    }
