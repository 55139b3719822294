"""Judge a data folder and do nothing else: `python -m stages.imaging.judge_folder DIR`.

Exit status 0 when it is accepted, 1 when it is refused. Settings come from the `params.yaml` of the
current folder, or else from the repository's.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from stages.contract import PARAMS, Data, IngestResult, InputError, load_parameters, write_manifest
from stages.imaging.describe import describe_data_set, make_cases
from stages.imaging.expectations import SUITE
from stages.imaging.findings_table import format_findings
from stages.imaging.judge import Judgement, judge
from stages.imaging.survey import survey

_REPOSITORY = Path(__file__).parents[2]


def judge_folder(source: Path, data: Data) -> tuple[IngestResult, Judgement]:
    """What the data is, and all findings on it; writes nothing but temporary files.

    Raises:
        InputError: the folder is not recognised, empty, or not one case can be read.
    """
    facts = survey(source.expanduser().resolve(), data)
    cases = make_cases(facts)
    with TemporaryDirectory() as directory:
        manifest = Path(directory) / "manifest.csv"
        write_manifest(cases, manifest)
        judgement = judge(
            facts,
            manifest,
            data.label_map,
            data.allow_geometry_mismatch,
            _nearest(SUITE),
            docs=None,
        )
    return describe_data_set(facts, cases, data), judgement


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings; the exit status says whether the data may be used."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        print("usage: python -m stages.imaging.judge_folder DIR", file=sys.stderr)
        return 2
    try:
        data = load_parameters(_nearest(PARAMS)).data
        ingest, judgement = judge_folder(Path(arguments[0]), data)
    except InputError as error:
        print(f"refused: {error}")
        return 1
    print(ingest.reason)
    print(format_findings(judgement.findings))
    verdict = "accepted" if judgement.is_accepted else "refused"
    print(f"{verdict}: {judgement.summarise()}")
    return 0 if judgement.is_accepted else 1


def _nearest(path: Path) -> Path:
    return path if path.is_file() else _REPOSITORY / path


if __name__ == "__main__":
    sys.exit(main())
