#!/usr/bin/env bash
# The tables in docs/results.md, "Masked-language-model methods": some three hours on two cores. Resumes; writes runs/.
#
#     benchmarks/masked_methods.sh [100|500|ncbi]...
set -euo pipefail
cd "$(dirname "$0")/.."
data=../shared/data
[ $# -gt 0 ] || set -- 100 ncbi 500
for part in "$@"; do
  case $part in
    100)
      .venv/bin/nersery run benchmarks/masked_methods.toml --out runs/masked-multiconer-en-100
      .venv/bin/nersery run benchmarks/masked_adapted.toml --out runs/adapted-multiconer-en-100
      ;;
    500)
      .venv/bin/nersery run benchmarks/masked_methods.toml --out runs/masked-multiconer-en-500 \
        --set name=masked-multiconer-en-500 --set "seeds=[0, 1, 2]" \
        --set "description=MultiCoNER en, ACLM's sample of 500; masked-language-model methods, three copies" \
        --set "data.train=$data/multiconer/en/500.conll" --set sample.dev_size=500
      ;;
    ncbi) .venv/bin/nersery run benchmarks/ncbi_disease.toml --out runs/ncbi-200 ;;
    *) echo "no part $part: 100, 500 or ncbi" >&2; exit 2 ;;
  esac
done
