#!/usr/bin/env bash
# The table in docs/results.md, "Rule methods on MultiCoNER": about an hour on two cores. Resumes; writes runs/.
set -euo pipefail
cd "$(dirname "$0")/.."
data=../shared/data/multiconer/en
for setting in 100:100:0,1,2 500:500:0,1,2 200:200:0 1000:800:0; do
  IFS=: read -r size dev seeds <<< "$setting"
  .venv/bin/nersery run benchmarks/multiconer_en.toml --out "runs/multiconer-en-$size" \
    --set "name=multiconer-en-$size" --set "seeds=[$seeds]" \
    --set "description=MultiCoNER en, ACLM's sample of $size; the rule methods with three copies" \
    --set "data.train=$data/$size.conll" --set "sample.dev_size=$dev"
done
