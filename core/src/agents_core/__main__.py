"""`python -m agents_core` is the `agents` command."""

from agents_core.cli.main import main

if __name__ == "__main__":
    main(prog_name="agents")
