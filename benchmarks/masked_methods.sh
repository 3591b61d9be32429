#!/usr/bin/env bash
# The tables in docs/results.md, "Masked language models": some three hours on two cores. Resumes; writes runs/.
#
#     benchmarks/masked_methods.sh [--quick] [100|500|ncbi]...
source "$(dirname "$0")/experiments.sh"
[ $# -gt 0 ] || set -- 100 ncbi 500
for part in "$@"; do
  case $part in
    100)
      experiment masked_methods masked-multiconer-en-100
      experiment masked_adapted adapted-multiconer-en-100
      ;;
    500)
      experiment masked_methods masked-multiconer-en-500 name=masked-multiconer-en-500 "seeds=[0, 1, 2]" \
        "description=MultiCoNER en, ACLM's sample of 500; masked-language-model methods, three copies" \
        "data.train=$data/multiconer/en/500.conll" sample.dev_size=500
      ;;
    ncbi) experiment ncbi_disease ncbi-200 ;;
    *) echo "no part $part: 100, 500 or ncbi" >&2; exit 2 ;;
  esac
done
