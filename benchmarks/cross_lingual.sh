#!/usr/bin/env bash
# Labels for a language that has none: docs/results.md, "Tag, align, project, train". Resumes; writes runs/.
#
#     benchmarks/cross_lingual.sh [--quick] [de|hi|de-multilingual|hi-multilingual]...
source "$(dirname "$0")/experiments.sh"
work=$runs/cross-lingual
mkdir -p "$work"
train=600 dev=601,700 test=300 sample=200 steps=600
[ ! "$quick" ] || train=8 dev=9,12 test=6 sample=4 steps=2
[ $# -gt 0 ] || set -- de hi de-multilingual hi-multilingual

german() {  # the files: the first 600 sentences of PUD are translated text without German labels, 100 choose weights, 300 test
  for language in en de; do
    nersery dataset convert "$data/parallel_ner/pud.$language.iob2" "$work/pud.$language.jsonl" --language "$language" --force
    head -n "$train" "$work/pud.$language.jsonl" > "$work/train.$language.jsonl"
    sed -n "${dev}p" "$work/pud.$language.jsonl" > "$work/dev.$language.jsonl"
    tail -n "$test" "$work/pud.$language.jsonl" > "$work/test.$language.jsonl"
  done
  nersery dataset convert "$work/train.de.jsonl" "$work/raw.de.txt" --to words --force
}

hindi() {  # the files: an English tagger labels English text, and its labels go over to the Hindi translations
  nersery dataset convert "$data/ner_en/wikigold/wikigold.conll.txt" "$work/wikigold.jsonl" --language en --type MISC= --force
  for part in train dev; do
    nersery dataset convert "$data/il_ner_hi/$part.txt" "$work/il_ner.$part.jsonl" "${il_ner[@]}" --force
  done
  nersery dataset sample "$work/il_ner.train.jsonl" "$work/dev.hi.jsonl" --size "$sample" --seed 0 --force
  cat "$data"/bitext/ntrex.eng.txt "$data"/bitext/wiki.{dev,devtest,test}.en.txt > "$work/bitext.en.txt"
  cat "$data"/bitext/ntrex.hin.txt "$data"/bitext/wiki.{dev,devtest,test}.hi.txt > "$work/bitext.hi.txt"
}

for part in "$@"; do
  case $part in
    de) german; experiment cross_lingual_de cross-lingual-de ;;
    hi)
      hindi
      [ -d "$work/english" ] || nersery train "$work/wikigold.jsonl" "$work/english" --set "steps=$steps"
      experiment cross_lingual_hi cross-lingual-hi ;;
    de-multilingual) german; experiment cross_lingual_de_multilingual cross-lingual-de-multilingual ;;
    hi-multilingual) hindi; experiment cross_lingual_hi_multilingual cross-lingual-hi-multilingual ;;
    *) echo "no such part: $part; expected de, hi, de-multilingual or hi-multilingual" >&2; exit 2 ;;
  esac
done
