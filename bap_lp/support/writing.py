"""Files that are written whole or not at all, also when the process is killed or two of them write the same place.

A file is staged next to its place under a name of its own and moved in when it is complete. The files of a bundle are
staged in a folder of their own, which takes the place of the old one in a single step: a reader sees the old bundle or
the new one. Only files of the bundle are ever removed: whatever else the old folder holds goes back to its place, and
stays in the hidden folder next to it if that fails. What is not a file is not replaced: a directory, a device, a pipe,
or a link that somebody else made. What is private is for its owner alone, whatever was there before: files 0600, in
a folder 0700.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from bap_lp.support.rational import InputError

Content = str | bytes
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def write_files(contents: Mapping[Path, Content], private: bool = False) -> None:
    """Write all files, or none of them and raise.

    If a file cannot be moved in although its place was checked, the files before it are taken back.
    """
    places = {path: file_place(path) for path in contents}
    with _staged({place: contents[path] for path, place in places.items()}, private) as staged:
        moved: list[tuple[Path, Path | None]] = []
        try:
            for place, temporary in staged.items():
                before = temporary.with_name(temporary.name + ".old") if place.exists() else None
                if before is not None and len(staged) > 1:
                    os.link(place, before)
                moved.append((place, before))
                os.replace(temporary, place)
        except BaseException:
            for place, before in moved:
                if before is None:
                    place.unlink(missing_ok=True)
                elif before.exists():
                    os.replace(before, place)
            raise
        finally:
            for _, before in moved:
                if before is not None:
                    before.unlink(missing_ok=True)


def write_bundle(folder: Path, contents: Mapping[str, Content], private: bool = False) -> None:
    """Write a folder of files that belong together, in one step; other files of an existing folder stay in it."""
    import tempfile

    place = folder_place(folder)
    for name in contents:
        _require_file(place / name)
    made = _make_parents(place.parent)
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        try:
            for name, content in contents.items():
                with _named(folder / name):
                    _write(temporary / name, content)
                if private:
                    os.chmod(temporary / name, 0o600)
            os.chmod(temporary, 0o700 if private else _permissions(place, 0o777))
            if not place.exists():
                with suppress(OSError):
                    os.rename(temporary, place)
                    return
            _exchange(temporary, place, set(contents))
        finally:
            _clear(temporary, place, set(contents))
    except BaseException:
        for parent in made:
            with suppress(OSError):
                parent.rmdir()
        raise


def file_place(path: Path) -> Path:
    """Where a file is really written: links of the user are followed, and what is not a file is refused."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise InputError(str(path), None, "must be in a directory that exists") from None
        return _writable(path, path)
    if stat.S_ISLNK(found.st_mode):
        target = path.resolve()
        if found.st_uid != os.getuid() or not target.is_file():
            raise InputError(str(path), None, "must be a file, and is a link that was not made for this purpose")
        return _writable(path, target)
    _require_file(path)
    return _writable(path, path)


def _writable(path: Path, place: Path) -> Path:
    """The place, unless nothing can be staged next to it."""
    if not os.access(next(parent for parent in place.absolute().parents if parent.exists()), os.W_OK | os.X_OK):
        raise InputError(str(path), None, "must be in a directory that you may write to")
    return place


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """A full disk and its like are told of the place that was asked for, not of what is staged next to it."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


_KINDS = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFLNK: "a link"}


def _require_file(path: Path) -> None:
    """Refuse a place where something is that is not a file."""
    with suppress(FileNotFoundError, NotADirectoryError):
        found = stat.S_IFMT(os.lstat(path).st_mode)
        if found != stat.S_IFREG:
            raise InputError(str(path), None, f"must be a file, and is {_KINDS.get(found, 'a device')}")


def folder_place(folder: Path) -> Path:
    """Where a bundle is really written: links of the user are followed; refuses what another folder cannot replace."""
    # the name of "." and of "a/.." is needed to put another folder in its place
    place = Path(os.path.abspath(folder))
    if place.is_symlink():
        if os.lstat(place).st_uid != os.getuid() or not place.is_dir():
            raise InputError(str(folder), None, "must be a directory, and is a link that was not made for this purpose")
        place = place.resolve()
    if place.exists() and not place.is_dir():
        raise InputError(str(folder), None, "must be a directory, and is a file")
    if place.exists() and place.samefile(os.curdir):  # whoever works there would be left in a folder that is gone
        raise InputError(str(folder), None, "must not be the directory that you are in: give one inside it")
    if os.path.ismount(place):
        raise InputError(str(folder), None, "is where a disk is mounted, and cannot be replaced: give one inside it")
    if not next(parent for parent in place.parents if parent.exists()).is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    return _writable(folder, place)


def _make_parents(folder: Path) -> list[Path]:
    """The folders that had to be made, the innermost first."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
    return missing


@contextmanager
def _staged(contents: Mapping[Path, Content], private: bool) -> Iterator[dict[Path, Path]]:
    """Complete files next to their places; what is not moved in is removed."""
    import tempfile

    staged: dict[Path, Path] = {}
    try:
        for place, content in contents.items():
            handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
            os.close(handle)
            staged[place] = Path(name)
            with _named(place):
                _write(staged[place], content)
            os.chmod(name, 0o600 if private else _permissions(place, 0o666))
        yield staged
    finally:
        for temporary in staged.values():
            temporary.unlink(missing_ok=True)


def _write(path: Path, content: Content) -> None:
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
        file.flush()
        os.fsync(file.fileno())


def _permissions(place: Path, usual: int) -> int:
    """Those of what is there, or what a new file gets."""
    if place.exists():
        return stat.S_IMODE(place.stat().st_mode)
    return usual & ~_mask()


def _mask() -> int:
    """What new files are not allowed. To ask Python for it is to change it, for the files of other threads too."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii", errors="replace") as status:
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _exchange(new: Path, place: Path, names: set[str]) -> None:
    """Put a folder in the place of another; files that only the other has are in both when they change places."""
    for entry in os.scandir(place):
        if entry.name not in names and entry.is_file(follow_symlinks=False):
            with suppress(FileNotFoundError, FileExistsError):  # somebody else writes there too
                os.link(entry.path, new / entry.name)
    if not _swapped(new, place):
        import tempfile

        aside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
        os.rename(place, aside)
        try:
            os.rename(new, place)
        except BaseException:
            os.rename(aside, place)
            raise
        os.rename(aside, new)


def _clear(folder: Path, place: Path, names: set[str]) -> None:
    """Remove a folder with the files of these names; everything else in it goes to `place`, if it is not there."""
    for _ in range(3):  # what another writer moves to `place` may arrive here, if the two changed places meanwhile
        with suppress(OSError):
            for entry in list(os.scandir(folder)):
                own = place / entry.name
                with suppress(OSError):
                    if entry.name in names or (own.exists() and own.samefile(entry.path)):
                        os.unlink(entry.path)
                    elif not os.path.lexists(own):
                        os.rename(entry.path, own)
            os.rmdir(folder)
            return


def _swapped(a: Path, b: Path) -> bool:
    """Exchange two folders in one step; False where the system cannot."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(a), _HERE, os.fsencode(b), _EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.ENOSYS, errno.EINVAL):
        return False
    raise OSError(code, os.strerror(code), str(b))
