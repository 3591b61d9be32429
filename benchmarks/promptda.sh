#!/usr/bin/env bash
# The tables in docs/results.md, "PromptDA, Table 3": some two hours on one core. Resumes; writes runs/.
#
#     benchmarks/promptda.sh [--quick] [50|150|500|transformer|strategies]...
source "$(dirname "$0")/experiments.sh"
[ $# -gt 0 ] || set -- 50 150 500 transformer strategies
for part in "$@"; do
  case $part in
    50 | 150 | 500) experiment promptda "promptda-$part" "sample.size=$part" "sample.dev_size=$part" ;;
    transformer)
      experiment promptda promptda-transformer-150 tagger.method=transformer tagger.steps=300
      ;;
    strategies) experiment promptda_strategies promptda-strategies ;;
    *) echo "no part $part: 50, 150, 500, transformer or strategies" >&2; exit 2 ;;
  esac
done
