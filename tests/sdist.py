"""Compare a source distribution with the files under version control: `python tests/sdist.py dist/bap_lp-0.2.0.tar.gz`.

Everything but what only the repository itself needs must be in it, the tests and all that they read above all.
"""

import subprocess
import sys
import tarfile
from pathlib import Path

ONLY_HERE = (".ci/", ".git")

tracked = subprocess.run(["git", "ls-files", "-z"], cwd=Path(__file__).parents[1], capture_output=True, check=True)
wanted = {name for name in tracked.stdout.decode().split("\0") if name and not name.startswith(ONLY_HERE)}
with tarfile.open(sys.argv[1]) as archive:
    packed = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
missing = sorted(wanted - packed)
print(f"{len(wanted)} files, {len(missing)} missing", *missing, sep="\n")
sys.exit(bool(missing))
