"""Times other libraries on the job of the benchmark program `image`: bytes of an RGB image to labels and image.

    python image.py IMAGE [--k 8 16 64 256] [--iterations 20] [--palettes-only]

needs numpy and Pillow; scikit-learn, OpenCV and libimagequant (`pip install libimagequant`) are asked where installed.

scikit-learn and OpenCV start from evenly spaced pixels and run Lloyd's iterations. Palettes (Pillow's median cut and fast octree; libimagequant,
which weighs colours as they are seen and not by squared error) are there for their quality, without dithering. One JSON row each:
milliseconds (median of 3) and PSNR.
"""

import argparse
import json
import statistics
import time

import numpy as np
from PIL import Image, features
from PIL import __version__ as pillow

parser = argparse.ArgumentParser()
parser.add_argument("image")
parser.add_argument("--k", type=int, nargs="+", default=[8])
parser.add_argument("--iterations", type=int, default=20)
parser.add_argument("--palettes-only", action="store_true")
args = parser.parse_args()
picture = Image.open(args.image).convert("RGB")
image = np.asarray(picture)
points = image.reshape(-1, 3)


def psnr(other):
    error = np.mean((image.astype(np.float64) - other.astype(np.float64)) ** 2)
    return 10 * np.log10(255**2 / error)


def row(name, k, work):
    times = []
    for _ in range(3):
        begun = time.perf_counter()
        result = work(k)
        times.append(time.perf_counter() - begun)
    ms = round(1e3 * statistics.median(times), 2)
    print(json.dumps({"case": name, "image": args.image.split("/")[-1], "k": k, "ms": ms, "psnr": round(psnr(result), 3)}))


def start(k):
    return points[[i * len(points) // k for i in range(k)]].astype(np.float32)


def scikit_learn(k):
    model = KMeans(k, init=start(k), n_init=1, max_iter=args.iterations, tol=0, algorithm="lloyd")
    fitted = model.fit(points.astype(np.float32))
    return np.rint(fitted.cluster_centers_).astype(np.uint8)[fitted.labels_].reshape(image.shape)


def opencv(k):
    data = points.astype(np.float32)
    distances = np.stack([((data - c) ** 2).sum(axis=1) for c in start(k)])
    # One column: labels of another shape are read but not written.
    labels = distances.argmin(axis=0).astype(np.int32).reshape(-1, 1)
    criteria = (cv2.TERM_CRITERIA_MAX_ITER, args.iterations, 0)
    _, labels, centres = cv2.kmeans(data, k, labels, criteria, 1, cv2.KMEANS_USE_INITIAL_LABELS)
    return np.rint(centres).astype(np.uint8)[labels.ravel()].reshape(image.shape)


def pillow_palette(method):
    return lambda k: np.asarray(picture.quantize(k, method, dither=Image.Dither.NONE).convert("RGB"))


def imagequant(k):
    attributes = libimagequant.Attr()
    attributes.max_colors = k
    rgba = attributes.create_rgba(picture.convert("RGBA").tobytes(), *picture.size, 0)
    result = rgba.quantize(attributes)
    result.dithering_level = 0
    indices = np.frombuffer(bytes(result.remap_image(rgba)), np.uint8)
    # Remapping may move colours a little.
    palette = np.array([[c.r, c.g, c.b] for c in result.get_palette()], np.uint8)
    return palette[indices].reshape(image.shape)


libraries = {}
if not args.palettes_only:
    try:
        import sklearn
        from sklearn.cluster import KMeans

        libraries[f"scikit-learn {sklearn.__version__}"] = scikit_learn
    except ImportError:
        pass
    try:
        import cv2

        libraries[f"OpenCV {cv2.__version__}"] = opencv
    except ImportError:
        pass
libraries[f"Pillow {pillow} median cut"] = pillow_palette(Image.Quantize.MEDIANCUT)
libraries[f"Pillow {pillow} fast octree"] = pillow_palette(Image.Quantize.FASTOCTREE)
if features.check("libimagequant"):
    libraries[f"Pillow {pillow} libimagequant"] = pillow_palette(Image.Quantize.LIBIMAGEQUANT)
try:
    import libimagequant

    libraries[f"libimagequant {libimagequant.LIQ_VERSION_STRING}"] = imagequant
except ImportError:
    pass
for k in args.k:
    for name, work in libraries.items():
        row(name, k, work)
