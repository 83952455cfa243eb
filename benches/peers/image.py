"""Times other libraries on the job of the benchmark program `image`: bytes of an RGB image to labels and image.

    python image.py IMAGE [K] [ITERATIONS]    # needs numpy, Pillow; scikit-learn and OpenCV where installed

scikit-learn and OpenCV start from evenly spaced pixels and run Lloyd's iterations; Pillow's palettes (median cut, fast octree, and libimagequant
where it was built in) are there for their quality. One JSON row each: milliseconds (median of 3) and PSNR.
"""

import json
import statistics
import sys
import time

import numpy as np
from PIL import Image, features

path, k, iterations = sys.argv[1], int((sys.argv[2:] or [8])[0]), int((sys.argv[3:] or [20])[0])
picture = Image.open(path).convert("RGB")
image = np.asarray(picture)
points = image.reshape(-1, 3)
start = points[[i * len(points) // k for i in range(k)]].astype(np.float32)


def psnr(other):
    error = np.mean((image.astype(np.float64) - other.astype(np.float64)) ** 2)
    return 10 * np.log10(255**2 / error)


def row(name, work):
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - begun)
    print(json.dumps({"case": name, "k": k, "ms": round(1e3 * statistics.median(times), 2), "psnr": round(psnr(result), 3)}))


def scikit_learn():
    fitted = KMeans(k, init=start, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd").fit(points.astype(np.float32))
    return np.rint(fitted.cluster_centers_).astype(np.uint8)[fitted.labels_].reshape(image.shape)


def opencv():
    data = points.astype(np.float32)
    distances = np.stack([((data - c) ** 2).sum(axis=1) for c in start])
    # One column: labels of another shape are read but not written.
    labels = distances.argmin(axis=0).astype(np.int32).reshape(-1, 1)
    criteria = (cv2.TERM_CRITERIA_MAX_ITER, iterations, 0)
    _, labels, centres = cv2.kmeans(data, k, labels, criteria, 1, cv2.KMEANS_USE_INITIAL_LABELS)
    return np.rint(centres).astype(np.uint8)[labels.ravel()].reshape(image.shape)


try:
    import sklearn
    from sklearn.cluster import KMeans

    row(f"scikit-learn {sklearn.__version__}", scikit_learn)
except ImportError:
    pass
try:
    import cv2

    row(f"OpenCV {cv2.__version__}", opencv)
except ImportError:
    pass
methods = {"median cut": Image.Quantize.MEDIANCUT, "fast octree": Image.Quantize.FASTOCTREE}
if features.check("libimagequant"):
    methods["libimagequant"] = Image.Quantize.LIBIMAGEQUANT
for name, method in methods.items():
    row(f"Pillow {name}", lambda: np.asarray(picture.quantize(k, method, dither=Image.Dither.NONE).convert("RGB")))
