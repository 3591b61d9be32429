#!/usr/bin/env bash
# Naamapadam's Table 6: one tagger for nine Indian languages, and one each: docs/results.md, "Nine Indian languages".
# Resumes; writes runs/.
#
#     benchmarks/indian_languages.sh [--quick] [LANGUAGE...]
#
# A tagger trained on Wikigold labels the English side of NTREX, and its labels go over to the translations. People have
# labelled the sentences that are scored: Hindi of IL-NER, Bengali of MultiCoNER. LANGUAGE, hi or bn, gets its own tagger.
source "$(dirname "$0")/experiments.sh"
work=$runs/cross-lingual
mkdir -p "$work"
steps=400 sample=200
wikigold=$work/wikigold.jsonl english=$work/ntrex.en.jsonl tagger=$work/english-multilingual
[ ! "$quick" ] || steps=2 sample=4 english=$wikigold  # after two steps, a tagger predicts nothing
[ $# -gt 0 ] || set -- hi bn
for language in "$@"; do
  [[ $language = hi || $language = bn ]] || { echo "no such language: $language; expected hi or bn" >&2; exit 2; }
done

make() {  # FILE COMMAND...: runs a command that writes the file, unless it is there
  local file=$1
  shift
  [ -e "$file" ] || nersery "$@"
}

multiconer=(--language bn --type CORP=ORG --type GRP=ORG --type PROD= --type CW=)
make "$wikigold" dataset convert "$data/ner_en/wikigold/wikigold.conll.txt" "$wikigold" --language en --type MISC=
make "$work/train.hi.jsonl" dataset convert "$data/il_ner_hi/train.txt" "$work/train.hi.jsonl" "${il_ner[@]}"
make "$work/test.hi.jsonl" dataset convert "$data/il_ner_hi/dev.txt" "$work/test.hi.jsonl" "${il_ner[@]}"
make "$work/train.bn.jsonl" dataset convert "$data/multiconer/bn/dev.conll" "$work/train.bn.jsonl" "${multiconer[@]}"
make "$work/test.bn.jsonl" dataset convert "$data/multiconer/bn/test.conll" "$work/test.bn.jsonl" "${multiconer[@]}"
for language in hi bn; do
  dev=$work/dev.$language.jsonl
  make "$dev" dataset sample "$work/train.$language.jsonl" "$dev" --size "$sample" --seed 0
done

make "$tagger" train "$wikigold" "$tagger" --set model=bundled-multilingual --set "steps=$steps" --set learning_rate=4e-5
make "$english" predict "$tagger" "$data/bitext/ntrex.eng.txt" "$english" --language en --split punctuation
for pair in bn=ben gu=guj hi=hin kn=kan ml=mal mr=mar pa=pan ta=tam te=tel; do
  text=$data/bitext/ntrex.${pair#*=}.txt links=$work/${pair%=*}.align projected=$work/${pair%=*}.jsonl
  target=(--target-language "${pair%=*}" --target-split punctuation)
  make "$links" crosslingual align "$english" "$text" "$links" --method ensemble --set model=bundled-multilingual "${target[@]}"
  make "$projected" crosslingual project "$english" "$text" "$projected" --alignments "$links" "${target[@]}"
done

experiment indian_languages indian-all
for language in "$@"; do
  experiment indian_languages "indian-$language" "name=indian-languages-$language" \
    "data.train={ $language = \"$PWD/$work/$language.jsonl\" }" "data.dev={ $language = \"$PWD/$work/dev.$language.jsonl\" }" \
    "data.test={ $language = \"$PWD/$work/test.$language.jsonl\" }"
done
