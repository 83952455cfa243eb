"""Writes scores.json: scikit-learn's scores of fixed clusterings of the data here.

The labels are a rule that needs no fit, so that the scores alone are compared: point i of a data set is in the cluster of the nearest of
the rows i*n/k, by float64 distances, the lowest among equals.

    python scores.py > scores.json    # scikit-learn 1.9.1, numpy 2.4.6
"""

import json
import pathlib

import numpy as np
import sklearn
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score, silhouette_samples, silhouette_score

here = pathlib.Path(__file__).parent
sets = {
    "digits": np.load(here / "digits_1797x64_f32.npy").astype(np.float64),
    "iris": np.loadtxt(here / "iris_150x4.csv", delimiter=",", skiprows=1, usecols=range(4)),
}
rows = []
for name, x in sets.items():
    for k in (2, 3, 5, 10, 17):
        centroids = x[[i * len(x) // k for i in range(k)]]
        distances = ((x[:, None, :] - centroids[None]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        samples = silhouette_samples(x, labels)
        to_centroids = np.sqrt(distances)
        own = to_centroids[np.arange(len(x)), labels]
        used = np.unique(labels)
        to_centroids[np.arange(len(x)), labels] = np.inf
        other = to_centroids[:, used].min(axis=1)
        simplified = (other - own) / np.maximum(np.maximum(own, other), 1e-300)
        alone = np.bincount(labels, minlength=k)[labels] == 1
        simplified[alone] = 0
        rows.append({
            "data": name, "k": k,
            "silhouette": silhouette_score(x, labels),
            "silhouette_first": list(samples[:5]),
            "simplified_silhouette": simplified.mean(),
            "calinski_harabasz": calinski_harabasz_score(x, labels),
            "davies_bouldin": davies_bouldin_score(x, labels),
        })
print(json.dumps({"scikit-learn": sklearn.__version__, "numpy": np.__version__, "scores": rows}, indent=1))
