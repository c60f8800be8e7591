"""Help that fits on a screen: options in groups, an example, and all settings only if asked."""

from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand

GROUPS = ("Arguments", "Question", "Method", "Budget", "Output")
HELP = ("-h", "--help")
ARGUMENTS, QUESTION, METHOD, BUDGET, OUTPUT = GROUPS


class Verb(TyperCommand):
    """A command that shows its options in groups; its epilog is an example."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; settings of programs may be written as options."""
        own = {name for parameter in self.params for name in parameter.opts}
        if any(word.startswith("-") and word.partition("=")[0] not in own for word in args):
            from orbitmc.cli.session.foreign import translated
            from orbitmc.cli.session.settable import of_programs

            args = translated(ctx, args, {*own, *HELP}, of_programs(self.name or ""))
        self._refuse_repeated(ctx, args)
        return super().parse_args(ctx, args)

    def _refuse_repeated(self, ctx: Any, args: list[str]) -> None:
        """Refuse an option that is given twice and has one value: one of the two would be lost."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for parameter, count in Counter(given).items():
            if count > 1 and _keeps_one(parameter):
                ctx.fail(f"{' / '.join(parameter.opts)} is given {count} times; give it once")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            row = parameter.get_help_record(ctx)
            if row is not None:
                rows[_group(parameter)].append(row)
        for group, own in rows.items():
            if own:
                with formatter.section(group):
                    formatter.write_dl(own)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        if self.epilog:
            with formatter.section("Example"):
                formatter.write(f"{'':2}{self.epilog}\n")

    def everything(self, ctx: Any) -> str:
        """The help with what it leaves out: hidden options, and all settings."""
        from orbitmc.cli.session.settable import metavar, settable

        hidden = [parameter for parameter in self.params if getattr(parameter, "hidden", False)]
        for parameter in hidden:
            parameter.hidden = False  # type: ignore[attr-defined]
        formatter = ctx.make_formatter()
        self.format_help(ctx, formatter)
        with formatter.section(
            "Settings, each by --set NAME=VALUE; of programs also by --NAME VALUE"
        ):
            known = settable(self.name or "").values()
            formatter.write_dl([(f"{one.name}={metavar(one)}", one.about) for one in known])
        for parameter in hidden:
            parameter.hidden = True  # type: ignore[attr-defined]
        return str(formatter.getvalue())


def _keeps_one(parameter: Any) -> bool:
    """Whether giving an option again would forget what was given before."""
    if parameter.param_type_name == "argument" or parameter.multiple:
        return False
    return not parameter.is_flag or bool(parameter.secondary_opts)


def _group(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return ARGUMENTS
    if parameter.name == "help":
        return OUTPUT
    return getattr(parameter, "rich_help_panel", None) or METHOD


def show_everything(ctx: typer.Context, asked: bool) -> None:
    """Print all help and end, if that was asked for."""
    if asked and isinstance(ctx.command, Verb):
        print(ctx.command.everything(ctx).rstrip())
        raise typer.Exit
