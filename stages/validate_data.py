"""A: may this data be used? Every violation is listed, then the run goes on or stops."""

from stages.contract import (
    MANIFEST,
    InputError,
    Settings,
    Stage,
    ValidationResult,
    execute,
    folder,
    write,
    write_text,
)


def validate_data(settings: Settings) -> ValidationResult:
    """Judge what `ingest_data` found; the findings are kept also where they refuse the data.

    Raises:
        InputError: the data is refused.
    """
    from stages.imaging.expectations import SUITE
    from stages.imaging.facts import read_facts
    from stages.imaging.findings_table import findings_page, format_findings
    from stages.imaging.judge import judge

    docs = folder(Stage.validate_data) / "data_docs"
    judgement = judge(
        read_facts(),
        MANIFEST,
        settings.data.label_map,
        settings.data.allow_geometry_mismatch,
        SUITE,
        docs,
    )
    summary = judgement.summarise()
    result = ValidationResult(
        stage=Stage.validate_data,
        reason=summary,
        is_accepted=judgement.is_accepted,
        findings=judgement.findings,
        num_expectations=judgement.num_expectations,
        data_docs=str(docs / "index.html"),
    )
    page = folder(Stage.validate_data) / "findings.html"
    write_text(page, findings_page(summary, judgement.findings))
    print(format_findings(judgement.findings))
    print(summary)
    if not judgement.is_accepted:
        # Kept before the refusal: the process ends without a result of its own.
        write(result)
        raise InputError(f"{summary}\nevery finding is above and in {page}")
    return result


def main() -> None:
    execute(Stage.validate_data, validate_data)


if __name__ == "__main__":
    main()
