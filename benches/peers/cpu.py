#!/usr/bin/env python3
"""Times other k-means libraries on the processor: scikit-learn (lloyd and elkan) and faiss-cpu.

Prints one JSON row per library and case, with the keys of `cargo run -p kmeans-benches --bin cpu`, on the same points
and from the same initial centroids: both programs read the .npy files in one folder. Files that are missing are made
first, by NumPy's generator with seed 0. A case "photo" is added where the folder has a photo.npy, as written by
`cpu --image FILE --save DIR`.

scikit-learn (tol=0) ends when the labels repeat or at the cap on iterations; faiss always runs to the cap.
"""

import argparse
import json
import statistics
import time
import warnings
from pathlib import Path

import faiss
import numpy as np
import sklearn
import threadpoolctl
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.metrics import pairwise_distances_argmin_min

# Case: (n, d, k, cap on iterations), in the order in which the generator makes them.
SHAPES = {
    "A patches": (63504, 75, 80, 14),
    "B pixels": (2073600, 3, 8, 20),
    "C points": (100000, 1, 100, 31),
    "blobs": (100000, 32, 64, 20),
    "embed": (50000, 256, 256, 10),
}
PHOTO, PHOTO_CAP = "photo", 14


def files(folder, tag):
    """Where a case's points and initial centroids are."""
    stem = tag.replace(" ", "_")
    return folder / f"{stem}.npy", folder / f"{stem}_init.npy"


def make_data(folder):
    """Writes the points of every shape, and rows i*n//k of them as initial centroids."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for tag, (n, d, k, _) in SHAPES.items():
        if tag == "blobs":
            centres = rng.normal(size=(k, d)) * 4
            points = centres[rng.integers(k, size=n)] + rng.normal(size=(n, d))
        else:
            points = rng.random((n, d))
        points = points.astype(np.float32)
        points_file, start_file = files(folder, tag)
        np.save(points_file, points)
        np.save(start_file, points[np.arange(k) * n // k])


def cases(folder, only):
    """Case by case: tag, points, initial centroids, cap."""
    if not all(file.exists() for tag in SHAPES for file in files(folder, tag)):
        make_data(folder)
    caps = {tag: shape[-1] for tag, shape in SHAPES.items()} | {PHOTO: PHOTO_CAP}
    for tag, cap in caps.items():
        points_file, start_file = files(folder, tag)
        if only in tag and points_file.exists():
            yield tag, np.load(points_file), np.load(start_file), cap


def timed(runs, function):
    """Milliseconds of each run, and the last result."""
    times = []
    for _ in range(runs):
        begun = time.perf_counter()
        result = function()
        times.append((time.perf_counter() - begun) * 1e3)
    return times, result


def fit_sklearn(algorithm, points, start, cap):
    return KMeans(len(start), init=start, n_init=1, max_iter=cap, tol=0, algorithm=algorithm).fit(points)


def fit_faiss(points, start, cap):
    # The two limits keep faiss from warning about small clusters and from clustering only a sample.
    model = faiss.Kmeans(
        points.shape[1], len(start), niter=cap, min_points_per_centroid=1, max_points_per_centroid=len(points)
    )
    model.train(points, init_centroids=start)
    return model


def fits(points, start, cap, runs):
    """Library by library: name, milliseconds of each run, what else its row says."""
    for algorithm in ("lloyd", "elkan"):
        times, model = timed(runs, lambda a=algorithm: fit_sklearn(a, points, start, cap))
        yield f"sklearn-{algorithm}", times, {"iters": int(model.n_iter_), "inertia": float(model.inertia_)}
    times, model = timed(runs, lambda: fit_faiss(points, start, cap))
    # Of the centroids before the last update: faiss does not look at the points again.
    yield "faiss-cpu", times, {"iters": cap, "inertia": float(model.obj[-1])}


def seedings(points, start, runs):
    """As `fits`, for greedy k-means++ alone; the inertia is that of the seeds."""
    times, (seeds, _) = timed(runs, lambda: kmeans_plusplus(points, len(start), random_state=0))
    _, distances = pairwise_distances_argmin_min(points, seeds)
    yield "sklearn", times, {"iters": 0, "inertia": float(np.square(distances, dtype=np.float64).sum())}


def about():
    """Versions and threads, for people."""
    blas = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    yield f"NumPy {np.__version__}, scikit-learn {sklearn.__version__}, faiss-cpu {faiss.__version__}"
    yield f"their threads: {faiss.omp_get_max_threads()}; their BLAS: " + "; ".join(
        f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', 'unknown')})" for pool in blas
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="DIR", type=Path, default="bench-data", help="folder of .npy files")
    parser.add_argument("--only", metavar="TEXT", default="", help="only the cases whose name contains this text")
    parser.add_argument("--runs", metavar="N", type=int, default=3, help="runs per case (default: 3)")
    parser.add_argument("--seeding", action="store_true", help="time seeding by greedy k-means++ instead of fits")
    parser.add_argument("--about", action="store_true", help="print versions and threads instead")
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=sklearn.exceptions.ConvergenceWarning)

    if args.about:
        print(*about(), sep="\n")
        return
    for tag, points, start, cap in cases(args.data, args.only):
        (n, d), k = points.shape, len(start)
        results = seedings(points, start, args.runs) if args.seeding else fits(points, start, cap, args.runs)
        for peer, times, found in results:
            row = {"peer": peer, "tag": tag, "N": n, "D": d, "K": k, "dtype": str(points.dtype).replace("float", "f")}
            row |= {"init": "k-means++" if args.seeding else "given", "runs": args.runs} | found
            row |= {"seed_ms" if args.seeding else "fit_ms": min(times), "median_ms": statistics.median(times)}
            print(json.dumps(row), flush=True)


main()
