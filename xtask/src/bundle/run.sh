#!/usr/bin/env bash
# Runs what `cargo xtask bundle` packed, on a machine with an NVIDIA GPU and without Rust.
#
#   bash run.sh test        every test on the GPU, once for each tier; fails without a GPU
#   bash run.sh sanitize    compute-sanitizer's four tools over the tests, at small sizes
#   bash run.sh ladder      time per kernel and rung
#   bash run.sh bench       `kmeans bench`: tables, chart, JSON, and what Device::Auto should choose
#   bash run.sh all         all of these
set -euo pipefail
cd "$(dirname "$0")"
export KMEANS_TEST_DATA="$PWD/data" KMEANS_REQUIRE_GPU=1

tests() {
    for tier in ${TIERS:-portable ampere hopper}; do
        echo "== tier $tier"
        # Threads of tests share the GPU; more than a few only wait for each other.
        KMEANS_DEVICE=cuda KMEANS_CUDA_TIER=$tier bin/test-suite --test-threads=8
    done
    KMEANS_DEVICE=cuda bin/test-gpu_memory
    bin/test-kmeans_host
    # Packed with --cust.
    if [ -x bin/test-cust ]; then bin/test-cust; fi
}

# One tool over one test: what it says, and whether it found anything.
check() {
    local tier=$1 tool=$2 test=$3 log
    log=sanitized-$tier-$tool-${test//:/_}.txt
    if KMEANS_DEVICE=cuda KMEANS_CUDA_TIER=$tier timeout 900 compute-sanitizer --tool "$tool" --error-exitcode 9 \
        bin/test-suite --exact "$test" >"$log" 2>&1; then
        echo "$tool, tier $tier, $test: $(grep -h 'SUMMARY' "$log" | sed 's/=* //')"
    else
        echo "$tool, tier $tier, $test: FAILED, see $log"
        return 1
    fi
}

sanitize() {
    # Everything the engine launches and every rung, at sizes that the tools can bear: they slow kernels a hundredfold.
    # Several at a time: most of it is work of the processor.
    local tests
    tests=$(bin/test-suite --list --format terse | sed -n 's/: test$//p' | grep -E '^(sanitized|rungs)::')
    export -f check
    for tier in ${TIERS:-portable ampere hopper}; do
        for tool in ${TOOLS:-memcheck initcheck synccheck racecheck}; do
            for test in $tests; do echo "$tier $tool $test"; done
        done
    done | xargs -P "${JOBS:-8}" -n 3 bash -c 'check "$@"' check
}

ladder() {
    bin/ladder
}

bench() {
    bin/kmeans devices
    bin/kmeans bench --runs 15 --chart "${OUT:-.}/bench.svg" | tee "${OUT:-.}/bench.txt"
    bin/kmeans bench --runs 15 --json >"${OUT:-.}/bench.json"
    bin/kmeans bench --choose --runs 7 | tee "${OUT:-.}/choose.txt"
}

case "${1:-}" in
    test) tests ;;
    sanitize) sanitize ;;
    ladder) ladder ;;
    bench) bench ;;
    all) tests && sanitize && ladder && bench ;;
    *) sed -n '2,9p' "$0" | sed 's/^# \{0,1\}//' && exit 2 ;;
esac
