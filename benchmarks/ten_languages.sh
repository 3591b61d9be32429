#!/usr/bin/env bash
# MultiCoNER in ten languages with bundled-multilingual: docs/results.md, "Ten languages". Resumes; writes runs/ten/.
#
#     benchmarks/ten_languages.sh [gold|transfer|methods|joint]... [-- LANGUAGE...]
#
# gold:     gold only, 100 sentences of each language
# transfer: English 1,000 (zero-shot elsewhere); the union of all ten; the English tagger trained on with gold
# methods:  all systems of ten_languages.toml
# joint:    English 1,000 and the language's 100 together, then a student on raw text
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/.venv/bin:$PATH"
data=../shared/data/multiconer
work=runs/ten
parts=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do parts+=("$1"); shift; done
[ $# -gt 0 ] && shift
[ ${#parts[@]} -gt 0 ] || parts=(gold transfer methods joint)
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=(en de es nl tr ru ko zh hi bn)

of_language() {  # LANGUAGE NAME RECIPE [OPTIONS]: a recipe with the files of a language
  local language=$1 name=$2 recipe=$3
  shift 3
  nersery run "$recipe" --out "$work/$name-$language" --quiet --set "name=multiconer-$language-$name" \
    --set "data.train={ $language = \"$data/$language/100.conll\" }" --set "data.dev={ $language = \"$data/$language/dev.conll\" }" \
    --set "data.test={ $language = \"$data/$language/test.conll\" }" --set "data.raw={ $language = \"$data/$language/unlabelled.txt\" }" \
    --set "data.language=" "$@"
}

for part in "${parts[@]}"; do
  case $part in
    gold) for language in "${languages[@]}"; do of_language "$language" gold benchmarks/ten_languages.toml --set 'systems=[]'; done ;;
    transfer)
      nersery run benchmarks/ten_languages_transfer.toml --out "$work/zero-shot" --quiet
      train=$(printf '%s = "'"$data"'/%s/100.conll", ' $(for l in en de es nl tr ru ko zh hi bn; do echo "$l $l"; done))
      nersery run benchmarks/ten_languages_transfer.toml --out "$work/union" --quiet --set name=multiconer-union \
        --set "data.train={ ${train%, } }"
      for language in "${languages[@]}"; do
        of_language "$language" zero-shot-then-gold benchmarks/ten_languages.toml --set 'systems=[]' \
          --set "tagger.model=$PWD/$work/zero-shot/seed-0/gold/tagger"
      done ;;
    methods) for language in "${languages[@]}"; do of_language "$language" methods benchmarks/ten_languages.toml; done ;;
    joint)
      for language in "${languages[@]}"; do
        of_language "$language" joint benchmarks/ten_languages.toml \
          --set "data.train={ en = \"$data/en/1000.conll\", $language = \"$data/$language/100.conll\" }" \
          --set 'systems=[{ name = "student", method = "tagger_labels" }]'
      done ;;
    *) echo "no such part: $part; expected gold, transfer, methods or joint" >&2; exit 2 ;;
  esac
done
