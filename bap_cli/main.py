"""Entry point of `bap`: runs a command and turns what goes wrong into one line on stderr and an exit code.

      0  done                                   2  bad input or usage            130  interrupted
      1  the certificate proves nothing        70  a defect of bap itself        141  the reader of stdout left
    143  terminated                         129  the terminal was closed

Nothing is imported here that Python has not loaded itself, so an interrupt during start-up is still answered with one
line. A signal that nobody hears, because compiled code is running or a library swallowed it, ends the process too:
Python only runs the handlers of signals between two of its own instructions, and a thread that waits for signals ends
the process a second later.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

_LINE = 2000  # characters of a message: names that a user gives may be longer
_PATIENCE = 1.0  # seconds between a signal and the end of a process that did not end by itself
_DIGITS = 100_000  # exact solutions of large problems have longer integers than Python prints by default


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `bap` with these arguments (default: the command line's) and return its exit code."""
    digits = sys.get_int_max_str_digits()
    try:
        _open_streams()
        if arguments is None:
            _listen()
        sys.set_int_max_str_digits(_DIGITS)
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _stopped(signal.SIGINT)
    except _Terminated as stop:
        return _stopped(stop.number)
    except Exception as error:
        # a signal that comes while a module is loaded becomes an error of that module
        return _stopped(_received[0]) if _received else _failed(error)
    finally:
        sys.set_int_max_str_digits(digits)


def _failed(error: Exception) -> int:
    """The exit code after an error, which is told in one line."""
    if isinstance(error, BrokenPipeError):
        _silence(sys.stdout)
        return 141
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return _complain(f"{where}{error.strerror or error}", 2)
    if isinstance(error, (ValueError, MemoryError)):
        return _complain(str(error) or "not enough memory", 2)
    if os.environ.get("BAP_TRACEBACK"):
        raise error
    hint = "set BAP_TRACEBACK=1 to see where"
    return _complain(f"this is a defect of bap, not of your input: {type(error).__name__}: {error} ({hint})", 70)


class _Terminated(BaseException):
    """The request to end, as an exception, so that nothing half-written is left."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__()


_SIGNALS = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))
_received: list[int] = []
_told: list[int] = []


def _listen() -> None:
    """Signals become exceptions here, and end the process if these do not."""
    for number in _SIGNALS:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):  # nohup asks to live on
            signal.signal(number, _terminated)
    import threading

    usual = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if _received else usual(lost)  # a traceback, while modules are loaded
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))  # a signal to a worker is not one to us
    threading.Thread(target=_end, args=(read,), daemon=True).start()


def _end(read: int) -> None:
    """End the process if a signal has not."""
    import time

    number = 0
    while number not in _SIGNALS:
        number = os.read(read, 1)[0]
    time.sleep(_PATIENCE)
    try:
        if "multiprocessing" in sys.modules:
            from multiprocessing import active_children

            for child in active_children():
                child.kill()
        if not _told and number == signal.SIGINT:
            shown = "\x1b[?25h\n" if sys.stderr.isatty() else ""  # a sign of life hides the cursor
            os.write(2, f"{shown}bap: interrupted\n".encode())
    finally:
        os._exit(128 + number)


def _terminated(number: int, _: object) -> None:
    _received.append(number)
    raise KeyboardInterrupt if number == signal.SIGINT else _Terminated(number)


def _stopped(number: int) -> int:
    """The exit code after a signal; from now on no second one can break into the end of the process."""
    for other in _SIGNALS if _received else ():
        signal.signal(other, signal.SIG_IGN)
    _told.append(number)
    return _complain("interrupted", 130) if number == signal.SIGINT else 128 + number


def _open_streams() -> None:
    """A stream that the caller closed is replaced by one that nobody reads, before a file can take its number."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the rest of the process


def _silence(stream: TextIO) -> None:
    """What is still buffered for a reader who left must not fail again when the interpreter closes the stream."""
    from contextlib import suppress

    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(arguments: list[str]) -> int:
    import typer

    from bap_cli.app import app

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
    words = " ".join(message.split())
    if len(words) > _LINE:
        words = f"{words[: _LINE // 2]} ... {words[-_LINE // 4 :]}"
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
    try:
        print(f"bap: {line}", file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
