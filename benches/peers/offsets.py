#!/usr/bin/env python3
"""How many labels of other libraries are wrong when the data lies away from the origin. Prints a Markdown table.

5,000 uniform points of 32 columns in [offset, offset + 1), single precision, and 64 of them as centroids. A label counts
as wrong when its centroid is farther (squared distance, in double precision) than the nearest one by more than one part
in a million.
"""

import faiss
import numpy as np
import sklearn
from sklearn.cluster import KMeans

N, D, K = 5000, 32, 64
OFFSETS = (0, 100, 1000, 10000)


def sklearn_labels(points, centroids):
    model = KMeans(K, init=centroids, n_init=1, max_iter=1, tol=0).fit(points)
    model.cluster_centers_ = centroids
    return model.predict(points)


def faiss_labels(points, centroids):
    index = faiss.IndexFlatL2(D)
    index.add(centroids)
    return index.search(points, 1)[1][:, 0]


def wrong(labels, points, centroids):
    differences = points.astype(np.float64)[:, None] - centroids.astype(np.float64)
    distances = np.square(differences).sum(-1)
    return (distances[np.arange(N), labels] > distances.min(1) * (1 + 1e-6)).mean()


def main():
    print("| offset | " + " | ".join(f"{offset:,}" for offset in OFFSETS) + " |")
    print("|---|" + "--:|" * len(OFFSETS))
    uniform = np.random.default_rng(0).random((N, D))
    shifted = [(uniform + offset).astype(np.float32) for offset in OFFSETS]
    for name, labels_of in (
        (f"scikit-learn {sklearn.__version__}, `predict`", sklearn_labels),
        (f"faiss-cpu {faiss.__version__}, the search that its k-means uses", faiss_labels),
    ):
        shares = [wrong(labels_of(points, points[:K]), points, points[:K]) for points in shifted]
        print(f"| {name} | " + " | ".join(f"{share:.1%}" for share in shares) + " |")


main()
