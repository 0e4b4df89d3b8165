"""``tender-pipeline completion``: print what makes a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from pipeline.cli.output.console import say

NAME = "tender-pipeline"

VARIABLE = "_TENDER_PIPELINE_COMPLETE"
"""With this variable, click's main function answers the shell instead of running the command."""

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


EXAMPLES = """\b
Load it when the shell starts:
  bash: echo 'eval "$(tender-pipeline completion bash)"' >> ~/.bashrc
  zsh:  echo 'eval "$(tender-pipeline completion zsh)"' >> ~/.zshrc
  fish: mkdir -p ~/.config/fish/completions; tender-pipeline completion fish \\
        > ~/.config/fish/completions/tender-pipeline.fish
"""


@click.command(epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> int:
    """Print the script with which a shell completes commands, options, their values and files."""
    found = SHELLS[shell]
    script = found(click.Group(), {}, NAME, VARIABLE)
    say(found.source_template % script.source_vars())  # source() would run bash to ask its version
    return 0
