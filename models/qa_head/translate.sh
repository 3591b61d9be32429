#!/usr/bin/env bash
# Labels the English side of NTREX with the multilingual head, and projects the labels into its other 35 languages:
#   models/qa_head/translate.sh DATA WORK [LANGUAGE …]
# writes WORK/LANGUAGE.jsonl, which train.py reads with --translated WORK. The same command resumes.
set -euo pipefail
data=$1 work=$2
shift 2
mkdir -p "$work"
english="$data/bitext/ntrex.eng.txt"
types='types=["PER","LOC","ORG","CORP","GRP","CW","PROD","FAC","EVENT","NORP"]'
if [ ! -e "$work/eng.jsonl" ]; then
  nersery annotate "$english" "$work/eng.jsonl" --split punctuation --method qa_prompting --set model=bundled-multilingual \
    --set "$types"
fi
languages=("$@")
if [ ${#languages[@]} = 0 ]; then
  for path in "$data"/bitext/ntrex.*.txt; do
    language=$(basename "$path" .txt)
    languages+=("${language#ntrex.}")
  done
fi
for language in "${languages[@]}"; do
  if [ "$language" = eng ] || [ -e "$work/$language.jsonl" ]; then continue; fi
  split=punctuation
  case $language in jpn | zho) split=characters ;; esac
  target="$data/bitext/ntrex.$language.txt"
  [ -e "$work/$language.align" ] || nersery crosslingual align "$work/eng.jsonl" "$target" "$work/$language.align" --target-split $split \
    --target-language "$language" --pair-by order --repair control-characters --method ensemble --set model=bundled-multilingual
  nersery crosslingual project "$work/eng.jsonl" "$target" "$work/$language.jsonl" --target-split $split \
    --target-language "$language" --pair-by order --repair control-characters --alignments "$work/$language.align"
done
