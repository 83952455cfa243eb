#!/usr/bin/env python3
"""Joins rows of GPU benchmarks into a Markdown table of ratios: `join.py ROWS.jsonl...`

Rows are JSON objects, one per line, as the program `gpu` and the peers' programs print them, all from one run on one machine.
A ratio is the peer's time over this library's, so more than 1 is in this library's favour.
"""

import json
import sys

OURS = "kmeans-host"
TYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def rows(paths):
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("{"):
                    row = json.loads(line)
                    row["dtype"] = TYPES.get(row["dtype"], row["dtype"])
                    yield row


def shape(row):
    return row["tag"], row["N"], row["D"], row["K"], row["dtype"]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ours, peers = {}, {}
    for row in rows(sys.argv[1:]):
        if row["peer"] == OURS:
            ours[shape(row)] = row
        else:
            peers.setdefault(row["peer"], {})[shape(row)] = row
    for peer, theirs in peers.items():
        print(f"| case | N × D, K, type | this library, ms | {peer}, ms | ratio | wrong here | wrong there |")
        print("|---|---|--:|--:|--:|--:|--:|")
        for key, row in ours.items():
            if key not in theirs:
                continue
            tag, n, d, k, dtype = key
            mine, other = row["iteration_ms"], theirs[key]["iteration_ms"]
            print(f"| {tag} | {n:,} × {d}, {k:,}, {dtype} | {mine:.3f} | {other:.3f} | {other / mine:.2f} "
                  f"| {row['wrong']:.4%} | {theirs[key]['wrong']:.4%} |")


main()
