#!/usr/bin/env bash
# Prints what runs out within ARG_WEEKS weeks, as JSON; leaves the lines of the order in files/order-lines.md.
set -euo pipefail
export LC_ALL=C

if [[ ! ${ARG_WEEKS:-} =~ ^([0-9]{1,2})( weeks?)?$ ]]; then
  echo "weeks is a whole number such as 3, not \"${ARG_WEEKS:-}\"" >&2
  exit 1
fi

awk -F, -v weeks="${BASH_REMATCH[1]}" -v lines=files/order-lines.md '
  NR == 1 { next }
  {
    part = $1; on_hand = $2; sold = $3; pack = $4; price = $5
    missing = sold / 4 * weeks - on_hand
    if (missing <= 0) next

    packs = int(missing / pack)
    if (packs * pack < missing) packs++
    cost = packs * pack * price
    printf "- %d x %s: %.2f EUR\n", packs * pack, part, cost > lines

    parts++
    total += cost
    if (first == "" || on_hand / sold < soonest) { first = part; soonest = on_hand / sold }
  }
  END {
    printf "Total: %.2f EUR\n", total > lines
    printf "{\"parts\": %d, \"total\": %.2f, \"first\": \"%s\"}\n", parts, total, first
  }
' "$(dirname "$0")/stock.csv"
