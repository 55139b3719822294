"""The model that was trained, whichever way the path took."""

from torch import nn

from stages.contract import InputError, Stage, TrainingResult, folder, read_if_taken
from stages.training.outcome import load_weights


def load_trained(model: nn.Module) -> nn.Module:
    """Put the weights of whichever training took place into a model, ready to predict.

    Raises:
        InputError: nothing was trained.
    """
    for stage in (Stage.train_distributed, Stage.train_single):
        if read_if_taken(stage, TrainingResult) is not None:
            return load_weights(model, folder(stage)).eval()
    raise InputError("expected a result of train_single or train_distributed; neither was taken")
