"""Hold the table of per-case statistics against the expectations that a person can edit.

`data/expectations/cases.json` is a Great Expectations 1.x suite. The severity of an expectation
says what a failure means here: critical refuses, warning warns, info notes; `meta.remedy` is the
advice that is shown.
"""

import json
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stages.contract import Finding, InputError, Severity

if TYPE_CHECKING:
    import pandas as pd

SUITE = Path("data/expectations/cases.json")
_SEVERITIES = {"critical": Severity.refuse, "warning": Severity.warn, "info": Severity.note}
_DOCS_SITE = "data_docs"


@dataclass(frozen=True)
class Expected:
    """What came of the expectations."""

    findings: tuple[Finding, ...]
    num_expectations: int


def check_expectations(table: "pd.DataFrame", suite: Path, docs: Path | None) -> Expected:
    """Validate the table, one finding for each case that an expectation fails for.

    Writes Data Docs to `docs`, and nothing anywhere else.

    Raises:
        InputError: the suite is missing or malformed.
    """
    gx = _import_great_expectations()
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    for site in list(context.list_data_docs_sites()):
        context.delete_data_docs_site(site)
    if docs is not None:
        _add_docs_site(context, docs)
    batch = (
        context.data_sources.add_pandas("cases")
        .add_dataframe_asset("statistics")
        .add_batch_definition_whole_dataframe("all")
    )
    definition = context.validation_definitions.add(
        gx.ValidationDefinition(name="cases", data=batch, suite=_read_suite(gx, context, suite))
    )
    checkpoint = context.checkpoints.add(
        gx.Checkpoint(
            name="cases",
            validation_definitions=[definition],
            actions=[]
            if docs is None
            else [gx.checkpoint.UpdateDataDocsAction(name="docs", site_names=[_DOCS_SITE])],
            result_format={
                "result_format": "COMPLETE",
                "unexpected_index_column_names": ["case_id"],
            },
        )
    )
    outcome = checkpoint.run(batch_parameters={"dataframe": table})
    results = [result for run in outcome.run_results.values() for result in run.results]
    findings = [f for result in results if not result.success for f in _describe(result)]
    return Expected(tuple(findings), len(results))


def _import_great_expectations() -> Any:
    # Read when the package is imported; the data of patients stays in closed networks.
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with warnings.catch_warnings():
        # GX 1.24 imports sre_constants and marshmallow's old names, deprecated both.
        warnings.simplefilter("ignore")
        import great_expectations
    return great_expectations


def _add_docs_site(context: Any, docs: Path) -> None:
    context.add_data_docs_site(
        _DOCS_SITE,
        {
            "class_name": "SiteBuilder",
            "store_backend": {
                "class_name": "TupleFilesystemStoreBackend",
                "base_directory": str(docs.absolute()),
            },
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
        },
    )


def _read_suite(gx: Any, context: Any, path: Path) -> Any:
    try:
        raw = json.loads(path.read_text("utf-8"))
        return context.suites.add(gx.ExpectationSuite(**raw))
    except FileNotFoundError as error:
        raise InputError(
            f"expected a suite of expectations at {path}, found no such file"
        ) from error
    except (ValueError, TypeError, gx.exceptions.GreatExpectationsError) as error:
        raise InputError(f"{path}: expected a Great Expectations suite: {error}") from error


def _describe(result: Any) -> list[Finding]:
    config = result.expectation_config
    severity = getattr(config.severity, "value", config.severity) or "critical"
    kwargs = {
        k: v for k, v in config.kwargs.items() if k not in ("batch_id", "column") and v is not None
    }
    column = config.kwargs.get("column")
    limits = ", ".join(f"{key} {value}" for key, value in kwargs.items())
    expected = f"{column}: " if column else ""
    expected += f"{config.type.removeprefix('expect_').replace('_', ' ')}"
    expected += f" ({limits})" if limits else ""

    def find(case: str, found: str) -> Finding:
        return Finding(
            case=case,
            check="expectation",
            severity=_SEVERITIES[severity],
            expected=expected,
            found=found,
            remedy=str((config.meta or {}).get("remedy", f"see {SUITE}")),
        )

    fault = (result.exception_info or {}).get("exception_message")
    if fault:
        return [find("data set", f"could not be evaluated: {fault}")]
    unexpected = result.result.get("unexpected_index_list") or []
    if unexpected:
        return [find(str(row["case_id"]), _show(row)) for row in unexpected]
    return [find("data set", str(result.result.get("observed_value", "not met")))]


def _show(row: dict[str, Any]) -> str:
    values = {key: value for key, value in row.items() if key != "case_id"}
    return ", ".join(f"{key} {value}" for key, value in values.items()) or "not met"
