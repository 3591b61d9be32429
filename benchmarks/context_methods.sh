#!/usr/bin/env bash
# The tables in docs/results.md, "New context: ACLM": half an hour a seed on one core. Resumes; writes runs/.
#
#     benchmarks/context_methods.sh [100|500|ncbi]...
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- 100 500 ncbi
for part in "$@"; do
  case $part in
    100) .venv/bin/nersery run benchmarks/context_methods.toml --out runs/context-multiconer-en-100 ;;
    500) .venv/bin/nersery run benchmarks/context_500.toml --out runs/context-multiconer-en-500 ;;
    ncbi) .venv/bin/nersery run benchmarks/ncbi_disease.toml --out runs/ncbi-200 ;;
    *) echo "no such part: $part" >&2; exit 2 ;;
  esac
done
