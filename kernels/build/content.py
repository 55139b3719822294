"""What a library is made from: the key of its content, and that nothing else went into it."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from kernels.build.failure import BuildFailed
from kernels.build.toolchain import NATIVE
from kernels.folder import HEADER_SUFFIXES, OperatorFolder, find_headers


def content_key(files: Iterable[Path], root: Path, facts: Iterable[str]) -> str:
    """SHA-256 of files and facts, in hex; where the files lie does not count, their names do.

    Args:
        files: sources and headers, in order, below `root` or among the shared headers.
        root: the operator's folder.
        facts: flags, compiler, versions, machine.
    """
    digest = hashlib.sha256()
    for fact in facts:
        digest.update(fact.encode() + b"\0")
    for file in files:
        content = file.read_bytes()
        name = file.relative_to(root if root in file.parents else NATIVE)
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def headers_of(folder: OperatorFolder) -> tuple[Path, ...]:
    """All headers that the operator's sources may include: its own, and the shared ones."""
    return (*folder.headers, *find_headers(NATIVE))


def refuse_foreign_headers(
    rules: Iterable[Path], known: Iterable[Path], root: Path, system: Path | None = None
) -> None:
    """Refuse a source that includes what is no part of its key: a change there would go unseen.

    Args:
        rules: what compilers wrote of a source's own dependencies (`-MMD`), in the form of make.
        known: the files that are part of the key.
        root: the operator's folder, for the message.
        system: a folder of which the compiler's version says enough.

    Raises:
        BuildFailed: it includes such a file.
    """
    allowed = {file.resolve() for file in known}
    for rule in rules:
        text = rule.read_text("utf-8", "replace").replace("\\\n", " ").replace("\\ ", "\0")
        included = [name.replace("\0", " ") for name in text.partition(": ")[2].split()]
        for file in (Path(name).resolve() for name in included):
            if file not in allowed and system not in file.parents:
                raise BuildFailed(
                    f"{root.name}: {rule.stem} includes {file}, a change of which would go unseen; "
                    f"expected a header ({', '.join(sorted(HEADER_SUFFIXES))}) in {root / 'csrc'} "
                    f"or {NATIVE}"
                )
