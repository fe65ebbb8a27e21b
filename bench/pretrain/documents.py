"""Text files to one corpus: a sentence or paragraph a line, a blank line between documents.

WikiText's articles begin with ` = Title = ` and have blank lines between paragraphs; they become documents, and its marks
(`@-@`, `@,@`, `@.@`) become the characters they stand for. Other files have their blank lines where documents end.
"""
import gzip
import re
import sys
from pathlib import Path

TITLE = re.compile(r"^ = [^=].* = $")
MARK = re.compile(r" @(.)@ ")


def lines(path):
    opened = gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")
    with opened as file:
        yield from (line.rstrip("\n") for line in file)


def wikitext(path):
    for line in lines(path):
        if TITLE.match(line):
            yield ""
        elif line.strip() and not line.startswith(" ="):
            yield MARK.sub(r"\1", line).strip()


for path in map(Path, sys.argv[1:]):
    for line in wikitext(path) if "wikitext" in str(path) else lines(path):
        print(line)
    print()
