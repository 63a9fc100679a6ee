"""Skills: folders holding `NAME/SKILL.md` with a front matter of name and description, copied into the agent's home."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from devops_bench.errors import ConfigError

FILE = "SKILL.md"


class _FrontMatter(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)
    name: str = Field(min_length=1, max_length=64, pattern=r"^[a-z0-9][a-z0-9-]*$")
    description: str = Field(min_length=1, max_length=1024)


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill as found on the host."""

    name: str
    description: str
    folder: Path

    def text(self) -> str:
        """The whole SKILL.md."""
        return (self.folder / FILE).read_text(errors="replace")


def find_skills(paths: Sequence[Path]) -> tuple[Skill, ...]:
    """All skills below `paths`, by name. ConfigError for a folder without any, a bad front matter, a name used twice.

    A granted path that holds no skill is an error: a run must not be labelled `+skills` without one.
    """
    found: dict[str, Skill] = {}
    for path in paths:
        files = [path / FILE] if (path / FILE).is_file() else sorted(path.glob(f"*/{FILE}"))
        if not files:
            raise ConfigError(f"no */{FILE} here", where=path, fix="name a folder that holds skills")
        for file in files:
            skill = _read(file)
            if skill.name in found and found[skill.name].folder != skill.folder:
                raise ConfigError(f"skill {skill.name!r} exists twice", where=file, fix="rename one")
            found[skill.name] = skill
    return tuple(found[name] for name in sorted(found))


def install(skills: Sequence[Skill], place: Path) -> None:
    """Copy each skill to `place`/NAME (a folder in the agent's private home)."""
    for skill in skills:
        shutil.copytree(skill.folder, place / skill.name, dirs_exist_ok=True, symlinks=True)


def _read(file: Path) -> Skill:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    text = file.read_text(errors="replace")
    head, *rest = text.removeprefix("---\n").split("\n---", 1)
    if not text.startswith("---\n") or not rest:
        raise ConfigError("no front matter", where=file, line=1, fix="start with --- name: ... description: ... ---")
    try:
        matter = _FrontMatter.model_validate(YAML(typ="safe", pure=True).load(head))
    except YAMLError:
        raise ConfigError("the front matter is not YAML", where=file, line=2, fix="quote values with a colon") from None
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(str(part) for part in first['loc']) or 'front matter'}: {first['msg']}"
        raise ConfigError(what, where=file, line=2, fix="give name (a-z, 0-9, -) and description") from None
    return Skill(matter.name, matter.description, file.parent)
