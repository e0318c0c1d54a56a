"""The project's own files, for the checks beside this file."""
import os
import subprocess

from harness import SOURCE


def files(*endings):
    """Paths, relative to the project, of its files with one of these endings (any file without): what git knows or would add."""
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if listed.returncode == 0:
        paths = listed.stdout.splitlines()
    else:  # an unpacked archive
        paths = []
        for directory, below, names in os.walk(SOURCE):
            below[:] = [d for d in below if d not in (".git", "build", "model", "__pycache__")]
            paths += [os.path.relpath(os.path.join(directory, n), SOURCE) for n in names]
    return sorted(p for p in paths if (not endings or p.endswith(endings)) and os.path.isfile(os.path.join(SOURCE, p)))


def text(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8", errors="replace") as f:
        return f.read()
