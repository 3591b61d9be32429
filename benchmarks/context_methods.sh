#!/usr/bin/env bash
# ACLM and its rivals on MultiCoNER en: about an hour a seed on one core. Resumes; writes runs/.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/nersery run benchmarks/context_methods.toml --out runs/context-multiconer-en-100
