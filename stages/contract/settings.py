"""Parameters by who owns them: one frozen model for each section of `params.yaml`.

Values live in `params.yaml`, never here; ranges and meanings live here.
"""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator

from stages.contract.frozen import Frozen

Fraction = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Shape = Annotated[
    tuple[Annotated[int, Field(ge=8, le=4096)], ...], Field(min_length=2, max_length=3)
]


def _device(name: str) -> str:
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise ValueError("must be cpu, cuda or cuda:N")
    return name


def _module_and_factory(name: str) -> str:
    if not re.fullmatch(r"\w+(\.\w+)*:\w+", name):
        raise ValueError("must be module:factory, such as my_package.my_module:make")
    return name


class ValuePerMonth(Frozen):
    """Worth of meeting each target, in currency a month; None where nobody has valued it."""

    accuracy: NonNegative | None
    latency: NonNegative | None
    training_time: NonNegative | None


class Product(Frozen):
    """Owned by the product manager: thresholds, and what the gain is worth."""

    accuracy_metric: Literal["dice", "lesion_f1", "lesion_recall"]
    accuracy_target: Fraction
    latency_budget_ms: Positive
    """95th percentile of one case through the inference graph."""
    training_hours_budget: Positive
    compute_budget: Positive
    """Currency for one training run."""
    deployment: Literal["python", "exported_graph"]
    case_shape: Shape | None
    """Voxels of one deployed case; None takes the largest case of the manifest."""
    value_per_month: ValuePerMonth
    day_rate: Positive
    horizon_months: Annotated[int, Field(gt=0)]
    cases_per_year: Annotated[int, Field(ge=0)]
    currency: Annotated[str, Field(min_length=1)]
    economics_are_examples: bool
    """Whether the prices are the repository's examples; shown wherever they are used."""
    verdicts_needing_approval: tuple[str, ...]
    """A verdict listed here goes the cheaper way until `approvals.yaml` says otherwise."""


class Algorithm(Frozen):
    """Owned by the algorithm engineer: the operator and what it costs to make and keep."""

    operator: Annotated[str, Field(min_length=1)]
    """Folder of the operator, from the workspace or absolute."""
    build_days: tuple[Positive, Positive, Positive]
    """Person-days to build it: low, likely, high."""
    maintenance_days_per_year: NonNegative
    upgrades_per_year: NonNegative
    days_per_upgrade: NonNegative
    revalidation_days_per_year: NonNegative
    timing_repeats: Annotated[int, Field(ge=5)]
    pilot_steps: Annotated[int, Field(gt=0)]
    pilot_seeds: Annotated[int, Field(ge=2)]

    @field_validator("build_days")
    @classmethod
    def _are_ordered(cls, days: tuple[float, float, float]) -> tuple[float, float, float]:
        if not days[0] <= days[1] <= days[2]:
            raise ValueError("must be ordered low <= likely <= high")
        return days


class Network(Frozen):
    """The network between hosts."""

    bandwidth_mbit_s: Positive
    latency_us: NonNegative


class Infrastructure(Frozen):
    """Owned by the infrastructure engineer: devices, hosts, prices, limits."""

    device: Annotated[str, AfterValidator(_device)]
    device_memory_gib: Positive
    device_price_per_hour: NonNegative
    max_workers: Annotated[int, Field(ge=1)]
    """Most workers that training may be spread over."""
    network: Network
    cluster_fixed_cost: NonNegative
    """Currency for setting up and keeping a cluster over the horizon."""
    launcher: Literal["local"]
    stage_time_limit_s: Positive
    """A stage that takes longer is ended with its children; read by the flow."""


class Data(Frozen):
    """The data source."""

    source: Annotated[str, Field(min_length=1)]
    """A phantom recipe (`*.yaml`), an nnU-Net raw or a Medical Segmentation Decathlon folder."""
    patient_pattern: str
    """Regular expression matched at the start of a case's name; its first group is the patient."""
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    test_fraction: Annotated[float, Field(ge=0, lt=1)]
    split_seed: int
    label_map: dict[int, int] | None
    """Replaces label values, such as {255: 1}; None leaves them."""
    allow_geometry_mismatch: bool
    """Accept, with a warning, an image and a label whose affines differ."""

    @field_validator("patient_pattern")
    @classmethod
    def _is_a_pattern_with_a_group(cls, pattern: str) -> str:
        try:
            groups = re.compile(pattern).groups
        except re.error as error:
            raise ValueError(f"must be a regular expression ({error})") from error
        if groups < 1:
            raise ValueError("must have a group, such as (.+)_z, that captures the patient")
        return pattern


class Training(Frozen):
    """The workload and the job."""

    workload: Annotated[str, AfterValidator(_module_and_factory)]
    """`module:factory`; the factory takes nothing and returns a `stages.contract.Workload`."""
    workload_source: Annotated[str, Field(min_length=1)]
    """File or folder of that module: the cache watches it."""
    working_shape: Shape | None
    """Voxels at which the network works; None derives it from the data."""
    num_steps: Annotated[int, Field(gt=0)]
    batch_size: Annotated[int, Field(gt=0)]
    """Global batch: the same whatever the number of workers."""
    learning_rate: Positive
    base_channels: Annotated[int, Field(gt=0)]
    seed: int
    checkpoint_every_steps: Annotated[int, Field(gt=0)]


class Parameters(Frozen):
    """The whole of `params.yaml`."""

    product: Product
    algorithm: Algorithm
    infrastructure: Infrastructure
    data: Data
    training: Training
