"""Writes dbscan.json: DBSCAN labels by scikit-learn, of the digits and of every 16th patch of the astronaut.

Neighbours are found by its k-d tree, which adds up squared differences in float64 as the example does; no distance is within 1e-9 of eps.

    python dbscan.py > dbscan.json    # scikit-learn 1.9.1, numpy 2.4.6, pillow 13.0.0
"""

import json
import pathlib

import numpy as np
import sklearn
from PIL import Image
from sklearn.cluster import DBSCAN
from sklearn.metrics import pairwise_distances

here = pathlib.Path(__file__).parent
image = np.asarray(Image.open(here / "astronaut_256.png").convert("RGB"), dtype=np.float64)
blocks = np.lib.stride_tricks.sliding_window_view(image, (5, 5, 3)).reshape(-1, 75)
sets = {"digits": np.load(here / "digits_1797x64_f32.npy").astype(np.float64), "patches": blocks[::16]}
rows = []
for name, eps, min_samples in [("digits", 21.3, 5), ("digits", 17.7, 3), ("patches", 45.3, 5), ("patches", 77.1, 10)]:
    x = sets[name]
    assert np.abs(pairwise_distances(x) - eps).min() > 1e-9
    fit = DBSCAN(eps=eps, min_samples=min_samples, algorithm="kd_tree").fit(x)
    rows.append({
        "data": name, "eps": eps, "min_samples": min_samples, "clusters": int(fit.labels_.max() + 1),
        "core": len(fit.core_sample_indices_), "labels": fit.labels_.tolist(),
    })
print(json.dumps({"scikit-learn": sklearn.__version__, "numpy": np.__version__, "clusterings": rows}))
