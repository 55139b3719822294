"""What was decided, on what evidence, until when: the record as data, page and text."""

import json
from datetime import date

from stages.contract import DecisionResult, Settings, Stage, execute, folder, write_text


def record_decision(settings: Settings, today: date) -> DecisionResult:
    """Put the record together from every stage's result, also where there is no model."""
    from stages.reporting.evidence import Terms, read_evidence
    from stages.reporting.markdown import write_markdown
    from stages.reporting.page import write_page
    from stages.reporting.record import decide

    product = settings.product
    terms = Terms(
        accuracy_metric=product.accuracy_metric,
        accuracy_target=product.accuracy_target,
        latency_budget_ms=product.latency_budget_ms,
        training_hours_budget=product.training_hours_budget,
        compute_budget=product.compute_budget,
        currency=product.currency,
        economics_are_examples=product.economics_are_examples,
        horizon_months=product.horizon_months,
        operator=settings.algorithm.operator,
        max_workers=settings.infrastructure.max_workers,
    )
    evidence = read_evidence()
    decision = decide(evidence, terms, today)
    results = {
        stage: None if result is None else result.model_dump(mode="json")
        for stage, result in evidence.by_stage.items()
    }
    record = decision.model_dump(mode="json") | {"evidence": results}
    target = folder(Stage.record_decision)
    write_text(target / "decision.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    write_text(target / "decision.md", write_markdown(decision, evidence, terms))
    write_text(target / "decision.html", write_page(decision, evidence, terms))
    return decision


def main() -> None:
    execute(Stage.record_decision, lambda settings: record_decision(settings, date.today()))


if __name__ == "__main__":
    main()
