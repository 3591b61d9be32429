#!/usr/bin/env bash
# The tables in docs/results.md, "ACLM": half an hour a seed on one core. Resumes; writes runs/.
#
#     benchmarks/context_methods.sh [--quick] [100|500|ncbi]...
source "$(dirname "$0")/experiments.sh"
[ $# -gt 0 ] || set -- 100 500 ncbi
for part in "$@"; do
  case $part in
    100) experiment context_methods context-multiconer-en-100 ;;
    500) experiment context_500 context-multiconer-en-500 ;;
    ncbi) experiment ncbi_disease ncbi-200 ;;
    *) echo "no part $part: 100, 500 or ncbi" >&2; exit 2 ;;
  esac
done
