#!/usr/bin/env bash
# Methods and large models on a GPU: speed, utilisation, memory. No network. Tables go to $OUT (runs/gpu by default).
#
#     benchmarks/gpu.sh                     lists the parts; each takes less than ten minutes
#     benchmarks/gpu.sh [--quick] PART...   runs parts, each for about LIMIT seconds at most, 480 by default;
#                                           `DEVICE=cpu benchmarks/gpu.sh --quick 1` works without a GPU
#     benchmarks/gpu.sh wheels              downloads what a machine with torch and transformers may lack, into .wheels
#
# Where .wheels is beside the repository's files, its packages are used. Models have random weights, made on the spot.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
if [ "${1:-}" = wheels ]; then
  exec "$python" -m pip download --quiet --no-deps --only-binary=:all: --python-version "${TARGET:-3.12}" \
    --implementation cp --platform manylinux_2_28_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --platform manylinux_2_27_x86_64 -d .wheels \
    annotated-types pydantic==2.14.3 pydantic-core==2.50.4 rapidfuzz==3.14.6 stopwordsiso==0.7.1 typing-inspection
fi
if ls .wheels/*.whl > /dev/null 2>&1; then
  site=$(mktemp -d)
  trap 'rm -rf "$site"' EXIT
  "$python" -m pip install --quiet --no-index --no-deps --no-compile --target "$site" .wheels/*.whl
fi
export PYTHONPATH="$PWD/src:${site:-}:${PYTHONPATH:-}" HF_HUB_OFFLINE=1 PYTHONUNBUFFERED=1
[ "${DEVICE:-}" != cpu ] || export CUDA_VISIBLE_DEVICES=
quick=()
if [ "${1:-}" = --quick ]; then quick=(--quick); shift; fi
[ $# -gt 0 ] || exec "$python" benchmarks/gpu.py
status=0
for part in "$@"; do "$python" benchmarks/gpu.py "$part" "${quick[@]}" || status=1; done
exit $status
