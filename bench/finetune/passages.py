"""Passages of books with the book's name as label: `passages.py BOOKS OUT` writes OUT/train.tsv and OUT/dev.tsv."""
import gzip
import sys
from pathlib import Path

WORDS, PASSAGES = 800, 24

books, out = map(Path, sys.argv[1:])
parts = {"train": ["text\tlabel"], "dev": ["text\tlabel"]}
for path in sorted(books.glob("*.txt.gz")):
    words = gzip.open(path, "rt", encoding="utf8", errors="replace").read().split()
    passages = [" ".join(words[at:at + WORDS]) for at in range(0, len(words) - WORDS + 1, WORDS)]
    border = len(passages) * 3 // 4
    # Evenly from all of the book, without its first and last passage, which speak of the edition.
    for name, some, most in [("train", passages[1:border], PASSAGES), ("dev", passages[border:-1], PASSAGES // 4)]:
        step = max(1, len(some) // most)
        parts[name] += [f"{text}\t{path.name.split('.')[0]}" for text in some[::step][:most]]
for name, rows in parts.items():
    (out / f"{name}.tsv").write_text("\n".join(rows) + "\n", encoding="utf8")
    print(f"{name}: {len(rows) - 1} passages")
