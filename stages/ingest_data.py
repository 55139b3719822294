"""A: what data is this? Recognise the source, split it by patient, list every case."""

import shutil
from pathlib import Path

from stages.contract import (
    IngestResult,
    Settings,
    SourceKind,
    Stage,
    execute,
    write_manifest,
)


def ingest_data(settings: Settings) -> IngestResult:
    """Survey the source, keep `manifest.csv` and `facts.json`; a recipe is carried out first.

    Raises:
        InputError: the source is not recognised, empty, or not one case can be read.
    """
    from stages.imaging.describe import describe_data_set, make_cases
    from stages.imaging.facts import write_facts
    from stages.imaging.phantom_folder import PHANTOM_FOLDER, write_phantom_folder
    from stages.imaging.phantom_recipe import read_recipe
    from stages.imaging.survey import survey

    data = settings.data
    if data.source.endswith((".yaml", ".yml")):
        recipe = read_recipe(Path(data.source))
        shutil.rmtree(PHANTOM_FOLDER, ignore_errors=True)
        write_phantom_folder(recipe, PHANTOM_FOLDER)
        facts = survey(PHANTOM_FOLDER, data, SourceKind.phantom)
        facts = facts.model_copy(update={"source": data.source})
    else:
        facts = survey(Path(data.source).expanduser().resolve(), data)
    cases = make_cases(facts)
    write_facts(facts)
    write_manifest(cases)
    result = describe_data_set(facts, cases, data)
    print(result.reason)
    return result


def main() -> None:
    execute(Stage.ingest_data, ingest_data)


if __name__ == "__main__":
    main()
