#!/usr/bin/env python3
"""Times a k-means tree made node by node with flash-kmeans: one JSON row, with the keys of `benches/src/bin/tree.rs`.

Run on a CUDA machine that has torch and triton, with flash-kmeans importable (it is a pure-Python wheel):
    PYTHONPATH=<dir with flash_kmeans> python3 tree_flash.py [--n 1000000] [--d 128] [--k 8] [--depth 4] [--iters 5] [--dtype f32]
Points are normal and in the device's memory. A node is clustered from k of its rows drawn at random, then its rows are sorted by
label, so that the children are slices. `level_ms` has the wall time of each level with that sort, `fits_ms` of the fits alone.
"""

import argparse
import json
import time

import torch
from flash_kmeans.kmeans_triton_impl import batch_kmeans_Euclid

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def seconds():
    torch.cuda.synchronize()
    return time.perf_counter()


def tree(x, k, depth, iters):
    """Milliseconds per level, of the fits alone per level, and the number of leaves. Reorders the rows of x."""
    level_ms, fits_ms, leaves = [], [], 0
    nodes = [(0, len(x))]
    for _ in range(depth):
        begun, fits, children = seconds(), 0.0, []
        for start, end in nodes:
            own = x[start:end]
            if end - start < k:
                leaves += 1
                continue
            before = seconds()
            first = own[torch.randperm(end - start, device=x.device)[:k]].unsqueeze(0).contiguous()
            labels = batch_kmeans_Euclid(own.unsqueeze(0), k, max_iters=iters, tol=-1.0, init_centroids=first)[0][0]
            fits += seconds() - before
            x[start:end] = own[torch.argsort(labels, stable=True)]
            for count in torch.bincount(labels, minlength=k).tolist():
                if count:
                    children.append((start, start + count))
                start += count
        nodes = children
        level_ms.append((seconds() - begun) * 1e3)
        fits_ms.append(fits * 1e3)
    return level_ms, fits_ms, leaves + len(nodes)


def main():
    parser = argparse.ArgumentParser()
    for name, default in [("n", 1_000_000), ("d", 128), ("k", 8), ("depth", 4), ("iters", 5), ("runs", 3)]:
        parser.add_argument("--" + name, type=int, default=default)
    parser.add_argument("--dtype", choices=TYPES, default="f32")
    args = parser.parse_args()
    x = torch.randn(args.n, args.d, device="cuda", dtype=TYPES[args.dtype])
    # The first run compiles the kernels for each size that it meets.
    tree(x.clone(), args.k, args.depth, args.iters)
    runs = sorted((tree(x.clone(), args.k, args.depth, args.iters) for _ in range(args.runs)), key=lambda run: sum(run[0]))
    level_ms, fits_ms, leaves = runs[len(runs) // 2]
    print(json.dumps({
        "peer": "flash-kmeans", "way": "node", "N": args.n, "D": args.d, "K": args.k, "depth": args.depth,
        "iters": args.iters, "dtype": args.dtype, "level_ms": level_ms, "tree_ms": sum(level_ms), "fits_ms": fits_ms,
        "leaves": leaves, "engine": torch.cuda.get_device_name(),
    }))


main()
