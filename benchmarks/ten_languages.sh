#!/usr/bin/env bash
# MultiCoNER in ten languages with bundled-multilingual: docs/results.md, "Ten languages". Resumes; writes runs/ten/.
#
#     benchmarks/ten_languages.sh [--quick] [gold|transfer|union|methods|raw|joint|students]... [-- LANGUAGE...]
#
# gold:     gold only, 100 sentences of each language
# transfer: English 1,000 (zero-shot elsewhere), then trained on with 100 sentences of each language, then on raw text that
#           this tagger labels
# union:    the 100 sentences of all ten languages together
# methods:  the systems of ten_languages.toml: new sentences from gold alone
# raw:      self-training, and questions, on raw text
# joint:    one tagger for all from English 1,000, 100 of each other language and all raw text, then trained on with 100 of each
# students: the same from a bundled name tagger; what it labels teaches a student, then gold does; twice
source "$(dirname "$0")/experiments.sh"
data=$data/multiconer
parts=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do parts+=("$1"); shift; done
[ $# -gt 0 ] && shift
[ ${#parts[@]} -gt 0 ] || parts=(gold transfer union methods raw joint students)
ten=(en de es nl tr ru ko zh hi bn)
languages=("$@")
[ ${#languages[@]} -gt 0 ] || languages=("${ten[@]}")

of_language() {  # LANGUAGE NAME [KEY=VALUE]...: the recipe with the files of a language
  local language=$1 name=$2
  shift 2
  experiment ten_languages "ten/$name-$language" "name=multiconer-$language-$name" \
    "data.train={ $language = \"$data/$language/100.conll\" }" "data.dev={ $language = \"$data/$language/dev.conll\" }" \
    "data.test={ $language = \"$data/$language/test.conll\" }" "data.raw={ $language = \"$data/$language/unlabelled.txt\" }" \
    data.language= "$@"
}

trained() {  # TAGGER FILE... --set KEY=VALUE...: trains it, unless it is there
  local tagger=$1
  shift
  [ -e "$tagger/config.json" ] || nersery train "$@" "$tagger" --repair ragged-lines
}

taught() {  # ROUND TEACHER --set KEY=VALUE...: a student learns what the teacher labels, then gold
  local folder=$runs/ten/students/$1 teacher=$2 labelled=() gold=("$data/en/1000.conll")
  shift 2
  mkdir -p "$folder"
  for language in "${ten[@]}"; do
    labelled+=("$folder/$language.conll")
    [ "$language" = en ] || gold+=("$data/$language/100.conll")
    [ -e "${labelled[-1]}" ] || nersery predict "$teacher" "$data/$language/unlabelled.txt" "${labelled[-1]}" --split spaces
  done
  trained "$folder/student" "${labelled[@]}" "$@"
  trained "$folder/then-gold" "${gold[@]}" --set "model=$folder/student" --set steps=300 --set head_learning_rate=1e-3
}

for part in "${parts[@]}"; do
  case $part in
    gold) for language in "${languages[@]}"; do of_language "$language" gold 'systems=[]'; done ;;
    transfer)
      experiment ten_languages_transfer ten/zero-shot
      for language in "${languages[@]}"; do
        of_language "$language" zero-shot-then-gold \
          'systems=[{ name = "relabelled", method = "tagger_labels", second_stage = { steps = 100 } }]' \
          "tagger.model=$PWD/$runs/ten/zero-shot/seed-0/gold/tagger"
      done ;;
    union)
      train=$(printf '%s = "'"$data"'/%s/100.conll", ' $(for l in "${ten[@]}"; do echo "$l $l"; done))
      experiment ten_languages_transfer ten/union name=multiconer-union "data.train={ ${train%, } }" ;;
    methods) for language in "${languages[@]}"; do of_language "$language" methods data.raw=; done ;;
    raw)
      for language in "${languages[@]}"; do
        of_language "$language" raw \
          'systems=[{ name = "self-training", method = "tagger_labels" }, { name = "questions, then gold", method = "qa_prompting", model = "bundled-multilingual", second_stage = { steps = 100 } }]'
      done ;;
    joint)
      experiment all_languages ten/joint
      for language in "${languages[@]}"; do
        of_language "$language" joint-then-gold 'systems=[]' tagger.steps=100 \
          "tagger.model=$PWD/$runs/ten/joint/seed-0/relabelled twice, then gold/tagger"
      done ;;
    students)
      experiment all_languages ten/joint-from-names tagger.model=bundled-multilingual-ner
      taught 1 "$runs/ten/joint-from-names/seed-0/relabelled, then gold/tagger" --set model=bundled-multilingual-ner --set steps=4000
      taught 2 "$runs/ten/students/1/then-gold" --set "model=$runs/ten/students/1/student" --set steps=2500 \
        --set head_learning_rate=1e-3 --seed 1
      for language in "${ten[@]}"; do
        scored=$runs/ten/students/$language.conll
        nersery predict "$runs/ten/students/2/then-gold" "$data/$language/test.conll" "$scored" --force --repair ragged-lines
        nersery evaluate "$data/$language/test.conll" "$scored" --repair ragged-lines
      done ;;
    *) echo "no such part: $part; expected gold, transfer, union, methods, raw, joint or students" >&2; exit 2 ;;
  esac
done
