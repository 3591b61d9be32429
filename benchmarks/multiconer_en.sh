#!/usr/bin/env bash
# The table in docs/results.md, "Rule methods": about an hour on two cores. Resumes; writes runs/.
#
#     benchmarks/multiconer_en.sh [--quick]
source "$(dirname "$0")/experiments.sh"
for setting in 100:100:0,1,2 500:500:0,1,2 200:200:0 1000:800:0; do
  IFS=: read -r size dev seeds <<< "$setting"
  experiment multiconer_en "multiconer-en-$size" "name=multiconer-en-$size" "seeds=[$seeds]" \
    "description=MultiCoNER en, ACLM's sample of $size; the rule methods with three copies" \
    "data.train=$data/multiconer/en/$size.conll" "sample.dev_size=$dev"
done
