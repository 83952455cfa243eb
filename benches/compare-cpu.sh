#!/usr/bin/env bash
# Compares the CPU engine with scikit-learn and faiss-cpu: same machine, same points, same initial centroids, same caps.
#
#     benches/compare-cpu.sh [ROUNDS]
#
# Others and ours take turns, ROUNDS times (default 3); of each case the fastest run counts. Prints versions and a
# Markdown table. Everything is kept outside the repository; these variables change what is used:
#   VENV   a Python virtual environment; made, with the libraries installed, if it does not exist (default: temporary)
#   DATA   the folder of points; made if it does not exist (default: temporary)
#   ROWS   the folder where the JSON rows are kept (default: temporary)
#   IMAGE  a photograph whose 5×5 patches are one more case (default: none)
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=${1:-3}
scratch=$(mktemp -d)
venv=${VENV:-$scratch/venv}
data=${DATA:-$scratch/data}
rows=${ROWS:-$scratch/rows}
mkdir -p "$rows"
[ -n "${ROWS:-}" ] || trap 'rm -rf "$scratch"' EXIT

if [ ! -x "$venv/bin/python" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet scikit-learn faiss-cpu
fi
cargo build --quiet --release -p kmeans-benches --bin cpu
ours=${CARGO_TARGET_DIR:-target}/release/cpu

# A forced OpenBLAS kernel would make NumPy slower than it is.
peers() { env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE "$venv/bin/python" benches/peers/cpu.py --data "$data" "$@"; }

echo "- $(lscpu | sed -n 's/^Model name: *//p'), $(nproc) cores, $(uname -sm)"
echo "- $(rustc --version); this library at $(git describe --always --dirty)"
peers --about | sed 's/^/- /'
echo

: >"$rows/peers.jsonl"
: >"$rows/ours.jsonl"
if [ -n "${IMAGE:-}" ]; then
    "$ours" --image "$IMAGE" --runs 1 --save "$data" >/dev/null
fi
for round in $(seq "$rounds"); do
    echo "round $round of $rounds" >&2
    peers >>"$rows/peers.jsonl"
    "$ours" --data "$data" >>"$rows/ours.jsonl"
    if [ -n "${IMAGE:-}" ]; then
        "$ours" --image "$IMAGE" >>"$rows/ours.jsonl"
    fi
done
python3 benches/peers/compare.py "$rows"/*.jsonl
