"""Writes the tables and plots of what was measured. Usage: report.py [quick], where quick takes quick runs too and
writes to target/peers instead of bench/."""
import sys

import plots
import tables
from common import HOME, REPOSITORY
from summary import Summary


def write(quick):
    summary = Summary(quick_too=quick)
    home = HOME if quick else REPOSITORY / "bench"
    plots.write_all(summary, home / "plots")
    tables.write(home / "RESULTS.md", text(summary, home))
    print(f"written: {home / 'RESULTS.md'}", file=sys.stderr)


def text(summary, home):
    runs = summary.used_runs()
    last = runs[-1]
    versions = ", ".join(f"{name} {version}" for name, version in last["versions"].items())
    commands = "\n".join(dict.fromkeys(f"{run['command']}" for run in runs))
    head = f"## Beside other tools, {last['date']}\n\nMachine: {last['machine']}. Versions: {versions}. {last['threads']} threads, f32 everywhere; " \
           f"the tools take turns in {last['rounds']} round(s), medians count. [How each is set up, and why](README.md).\n\n" \
           f"```sh\n{commands}\n```\n"
    parts = [head, tables.noise(summary)]
    for name in ("inference", "training"):
        if summary.select(name):
            parts += [getattr(tables, name)(summary), picture(home, name)]
    parts += [tables.cold(summary), tables.scaling(summary)]
    if summary.select("curves"):
        parts += ["### Cost against length and batch\n", picture(home, "length"), picture(home, "batch")]
    parts.append(tables.setups(summary))
    return "\n".join(part for part in parts if part)


def picture(home, name):
    return f"![{plots.TITLES[name]}](plots/{name}.svg)\n" if (home / "plots" / f"{name}.svg").exists() else ""


if __name__ == "__main__":
    write(quick="quick" in sys.argv[1:])
