"""The completion command: a script for the shell, which then asks this program what fits."""

import click
from click.shell_completion import get_completion_class

from recollect.cli.terminal import say

#: The line that switches completion on for good, by shell.
HOW = {
    "bash": "recollect completion bash > ~/.local/share/bash-completion/completions/recollect",
    "zsh": "recollect completion zsh > ~/.zfunc/_recollect    # a folder of your fpath",
    "fish": "recollect completion fish > ~/.config/fish/completions/recollect.fish",
}


@click.command(epilog="\b\n" + "\n".join(HOW.values()))
@click.argument("shell", type=click.Choice(tuple(HOW)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    It completes commands, options, kinds, and ids with their texts. Save it where your shell looks
    for completions:
    """
    root = context.find_root()
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    script = kind(root.command, {}, "recollect", "_RECOLLECT_COMPLETE")
    # `source()` would also run the shell to ask for its version, which has nothing to do with us.
    say(script.source_template % script.source_vars())
