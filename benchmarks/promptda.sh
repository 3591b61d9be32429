#!/usr/bin/env bash
# The tables in docs/results.md, "PromptDA's Table 3 with bundled models": some two hours on one core. Resumes; writes runs/.
#
#     benchmarks/promptda.sh [50|150|500|transformer|strategies]...
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- 50 150 500 transformer strategies
for part in "$@"; do
  case $part in
    50 | 150 | 500)
      .venv/bin/nersery run benchmarks/promptda.toml --out "runs/promptda-$part" \
        --set "sample.size=$part" --set "sample.dev_size=$part"
      ;;
    transformer)
      .venv/bin/nersery run benchmarks/promptda.toml --out runs/promptda-transformer-150 \
        --set tagger.method=transformer --set tagger.steps=300
      ;;
    strategies) .venv/bin/nersery run benchmarks/promptda_strategies.toml --out runs/promptda-strategies ;;
    *) echo "no such part: $part" >&2; exit 2 ;;
  esac
done
