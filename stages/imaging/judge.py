"""Judge a surveyed data set by our checks, the manifest's schema and the expectations."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stages.contract import Finding, Severity
from stages.imaging.case_checks import Rules
from stages.imaging.checks import DATA_SET, check_facts
from stages.imaging.expectations import check_expectations
from stages.imaging.facts import DataSetFacts
from stages.imaging.manifest_schema import check_manifest
from stages.imaging.statistics_table import statistics_table


@dataclass(frozen=True)
class Judgement:
    """All findings on a data set."""

    findings: tuple[Finding, ...]
    num_cases: int
    num_expectations: int

    @property
    def is_accepted(self) -> bool:
        """Whether nothing was refused."""
        return not self._with(Severity.refuse)

    def summarise(self) -> str:
        """The outcome in one line."""
        refused = sorted({f.case for f in self._with(Severity.refuse)} - {DATA_SET})
        counts = (
            f"{_count(self._with(Severity.warn), 'warning')}, "
            f"{_count(self._with(Severity.note), 'note')}, "
            f"{self.num_expectations} expectations evaluated"
        )
        if self.is_accepted:
            return f"{self.num_cases} of {self.num_cases} cases accepted; {counts}"
        parts = []
        if refused:
            parts.append(f"{len(refused)} of {self.num_cases} cases refused: {', '.join(refused)}")
        whole = [f for f in self._with(Severity.refuse) if f.case == DATA_SET]
        if whole:
            checks = ", ".join(dict.fromkeys(f.check for f in whole))
            parts.append(f"the data set as a whole is refused for: {checks}")
        return f"{'; '.join(parts)}; {counts}"

    def _with(self, severity: Severity) -> list[Finding]:
        return [finding for finding in self.findings if finding.severity is severity]


def _count(findings: list[Finding], word: str) -> str:
    return f"{len(findings)} {word}{'' if len(findings) == 1 else 's'}"


def judge(
    facts: DataSetFacts,
    manifest: Path,
    label_map: Mapping[int, int] | None,
    allow_geometry_mismatch: bool,
    suite: Path,
    docs: Path | None,
) -> Judgement:
    """Judge the data set whose manifest was written to `manifest`; Data Docs go to `docs`.

    Raises:
        InputError: manifest or suite is missing, or the suite is malformed.
    """
    rules = Rules(facts.labels, label_map or {}, allow_geometry_mismatch)
    expected = check_expectations(statistics_table(facts), suite, docs)
    own = check_facts(facts, rules)
    refused = {finding.case for finding in own if finding.severity is Severity.refuse}
    # the manifest repeats what is at fault in a case, in other words
    of_manifest = [finding for finding in check_manifest(manifest) if finding.case not in refused]
    findings = (*own, *of_manifest, *expected.findings)
    order = list(Severity)
    return Judgement(
        tuple(sorted(findings, key=lambda finding: order.index(finding.severity))),
        len(facts.cases),
        expected.num_expectations,
    )
