"use strict";
// Which sentences are shown: by their verdict, and by a text, a type and a method, which the command searches for.

let found = null;  // the places of the sentences that were searched for; null if nothing was

function matches(number, filter) {
  const verdict = all.verdicts[number];
  return (!found || found.has(number)) && (filter === "all" || (filter === "open" ? !verdict : verdict === filter));
}

function showMatching() {
  if (one && !matches(at, $("filter").value)) move(1, null, at);
}

// Offers all types and methods that are known by now.
function drawGroups() {
  for (const [id, names] of [["type", all.types], ["method", all.methods]]) {
    const known = Array.from($(id).options, (option) => option.value);
    if (names.join("\n") !== known.slice(1).join("\n")) {
      const { value } = $(id);
      $(id).replaceChildren($(id).options[0], ...names.map((name) => make("option", "", name)));
      $(id).value = names.includes(value) ? value : "";
    }
    $(id).parentElement.hidden = !names.length;
  }
}

async function find() {
  await inTurn(async () => {
    const asked = { text: $("find").value.trim(), type: $("type").value, method: $("method").value };
    found = Object.values(asked).some(Boolean) ? new Set(await ask(`search?${new URLSearchParams(asked)}`)) : null;
    drawProgress();
  });
  showMatching();
}
