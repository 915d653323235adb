"""Entry point of `bap`: runs a command and turns what goes wrong into one line on stderr and an exit code.

    0  done        1  nothing is proved        2  bad input or usage        130  interrupted

Nothing heavy is imported here, so an interrupt during start-up is still answered with one line.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_DIGITS = 100_000  # exact solutions of large problems have longer integers than Python prints by default


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `bap` with these arguments (default: the command line's) and return its exit code."""
    digits = sys.get_int_max_str_digits()
    try:
        sys.set_int_max_str_digits(_DIGITS)
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except BrokenPipeError:
        # the reader left; what is still buffered must not fail again when the interpreter closes stdout
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{where}{error.strerror or error}", 2)
    except (ValueError, MemoryError) as error:
        return _complain(str(error) or "not enough memory", 2)
    except ArithmeticError as error:  # a result that fails its own check is not shown
        return _complain(str(error), 1)
    finally:
        sys.set_int_max_str_digits(digits)


def _run(arguments: list[str]) -> int:
    import typer

    from bap_cli.commands import app

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    command = typer.main.get_command(app)
    try:
        with command.make_context("bap", arguments or ["--help"]) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    except typer.Abort:
        return _complain("interrupted", 130)
    except Exception as error:
        if not isinstance(error, typer.BadParameter.__mro__[2]):  # ClickException, above UsageError above BadParameter
            raise
        where = getattr(getattr(error, "ctx", None), "command_path", "bap")
        message: str = getattr(error, "format_message", error.__str__)()
        return _complain(f"{message.rstrip('.')} (see `{where} --help`)", 2)
    return 0


def _complain(message: str, code: int) -> int:
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(message.split()))
    print(f"bap: {line}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
