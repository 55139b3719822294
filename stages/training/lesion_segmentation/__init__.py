"""The bundled workload: segment lesions at reduced, report them at full resolution."""

from stages.contract import Workload


def make() -> Workload:
    """Build the workload; nothing heavy is imported before this is called."""
    from kernels.connected_components.table import COLUMNS
    from stages.training.lesion_segmentation.augmentation import augment
    from stages.training.lesion_segmentation.loss import make_loss
    from stages.training.lesion_segmentation.metrics import score_case
    from stages.training.lesion_segmentation.model import make_model
    from stages.training.lesion_segmentation.report import make_report
    from stages.training.lesion_segmentation.samples import make_samples

    return Workload(
        name="lesion_segmentation",
        make_model=make_model,
        make_loss=make_loss,
        make_samples=make_samples,
        augment=augment,
        score_case=score_case,
        make_report=make_report,
        report_columns=COLUMNS,
    )
