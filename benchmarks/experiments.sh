# Sourced by the scripts that run recipes. With --quick before the parts, each run takes some sentences of the shipped
# example and the smallest sizes, and everything is written to runs/quick: it shows that the script still works.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH="$PATH:$PWD/.venv/bin"
data=../shared/data
runs=runs
quick=
if [ "${1:-}" = --quick ]; then
  quick=yes
  shift
  data=$PWD/runs/quick/data
  runs=runs/quick
  python benchmarks/tiny.py data "$data"
fi
il_ner=(--language hi --repair lost-prefix --repair bare-dash --repair drop-sentence --type NEP=PER --type NEL=LOC
  --type NEO=ORG --type NEN= --type NETI= --type NEAR= --type NEU=)  # how to read IL-NER's PER, LOC and ORG

experiment() {  # RECIPE FOLDER [KEY=VALUE]...: runs benchmarks/RECIPE.toml into the folder, with these settings
  local recipe=benchmarks/$1.toml folder=$runs/$2 settings=()
  shift 2
  for setting in "$@"; do
    case $quick$setting in
      yesseeds=* | yes*size=* | yes*steps=*) ;;  # the tiny recipe has its own
      *) settings+=(--set "$setting") ;;
    esac
  done
  if [ "$quick" ]; then
    python benchmarks/tiny.py recipe "$recipe" "$data" runs/quick/cross-lingual > "$runs/${recipe##*/}"
    recipe=$runs/${recipe##*/}
  fi
  nersery run "$recipe" --out "$folder" "${settings[@]}"
}
