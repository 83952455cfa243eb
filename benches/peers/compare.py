#!/usr/bin/env python3
"""Joins JSON rows of this library and of others into a Markdown table of ratios. Runs nothing.

    compare.py [--key seed_ms] ROWS.jsonl...

Rows belong together when they have the same case, sizes, type and start. Of several rows for one library and case
(rounds of a run) the fastest counts. A ratio above 1 says that this library is faster. Where a library ran another number of
iterations or ended at an inertia that differs by more than 0.1 %, a line below the table says so.
"""

import argparse
import json
import math
from pathlib import Path

OURS = "kmeans-host"


def case_of(row):
    return row["tag"], row["N"], row["D"], row["K"], row.get("dtype", "f32"), row.get("init", "given")


def read(files, key):
    """case -> library -> its fastest row."""
    found = {}
    for file in files:
        for line in file.read_text().splitlines():
            row = json.loads(line)
            if key not in row:
                continue
            rows = found.setdefault(case_of(row), {})
            if row["peer"] not in rows or row[key] < rows[row["peer"]][key]:
                rows[row["peer"]] = row
    return {case: rows for case, rows in found.items() if OURS in rows and len(rows) > 1}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def time(ms):
    return f"{ms:.1f}" if ms < 100 else f"{ms:.0f}"


def table(found, key):
    """The lines of the table."""
    peers = list(dict.fromkeys(peer for rows in found.values() for peer in rows if peer != OURS))
    yield f"| case | N × D, K, type | iterations | {OURS}, ms | " + " | ".join(f"{p}, ms (ratio)" for p in peers) + " |"
    yield "|---|---|--:|--:|" + "--:|" * len(peers)
    ratios = {peer: [] for peer in peers}
    for (tag, n, d, k, dtype, _), rows in found.items():
        ours = rows[OURS]
        cells = []
        for peer in peers:
            if peer not in rows:
                cells.append("")
                continue
            ratios[peer].append(rows[peer][key] / ours[key])
            cells.append(f"{time(rows[peer][key])} ({ratios[peer][-1]:.2f}×)")
        yield f"| {tag} | {n} × {d}, {k}, {dtype} | {ours['iters']} | {time(ours[key])} | " + " | ".join(cells) + " |"
    yield "| geometric mean | | | | " + " | ".join(f"{geometric_mean(ratios[p]):.2f}×" for p in peers) + " |"
    yield "| smallest | | | | " + " | ".join(f"{min(ratios[p]):.2f}×" for p in peers) + " |"


def differences(found):
    """A line for each library that did not do the same work or reach the same end."""
    for (tag, *_), rows in found.items():
        ours = rows[OURS]
        for peer, row in rows.items():
            off = row["inertia"] / ours["inertia"] - 1 if ours["inertia"] else 0.0
            if row["iters"] != ours["iters"] or abs(off) > 1e-3:
                yield f"- {tag}, {peer}: {row['iters']} iterations, inertia {off:+.2%}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--key", default="fit_ms", help="what to compare (default: fit_ms)")
    parser.add_argument("files", nargs="+", type=Path, metavar="ROWS.jsonl")
    args = parser.parse_args()
    found = read(args.files, args.key)
    if not found:
        parser.exit(1, f"no case has rows of both {OURS} and another library\n")
    print(*table(found, args.key), sep="\n")
    notes = list(differences(found))
    if notes:
        print("\nNot the same work or the same end:", *notes, sep="\n")


main()
