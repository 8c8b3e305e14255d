"""`agents new`: a complete distribution with one component, ready to install, test, train and publish."""

from __future__ import annotations

from pathlib import Path

import click

from agents_core.cli.project import KINDS, check_kind, name_project, render, write
from agents_core.errors import UserError


@click.command(
    help=f"""Write a distribution that offers a component NAME of a KIND: {", ".join(KINDS)}.

    It installs, passes its own tests and trains as it is.
    """
)
@click.argument("kind", metavar="KIND")
@click.argument("name", metavar="NAME")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(),
    help="Folder that the new project's folder is made in; by default the current one.",
)
def new(kind: str, name: str, output: Path) -> None:
    project = name_project(check_kind(kind), name)
    folder = output / project.distribution
    if folder.exists():
        raise UserError(f"{folder} exists already, and nothing is overwritten; choose another NAME or --output DIR")
    write(folder, render(project))
    click.echo(f"{folder}: the {project.recipe.title} '{project.component}'. Next:")
    click.echo(f"  pip install -e '{folder}[test]'")
    click.echo(f"  pytest {folder}")
    click.echo(f"  agents run {folder / 'experiment.yaml'}")
