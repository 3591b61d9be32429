"use strict";
// What a person changes: saved at once, undone, and compared with what others have changed meanwhile.

let past = [];  // what was changed here, the last change last; undo takes it back

function state(sentence) {
  return { verdict: sentence.verdict, labels: sentence.corrected, note: sentence.note };
}

// What is shown changes at once: what is done next must not undo it while the answer is on its way. Whether it was saved.
async function save(verdict) {
  const change = changed(verdict);
  await inTurn(() => submit(change));
  return "version" in change;
}

function changed(verdict) {
  const change = { number: at, sentence: one, before: state(one), after: { verdict, labels: labels.map((entity) => [...entity]), note: $("note").value } };
  Object.assign(one, { verdict, corrected: change.after.labels, note: change.after.note });
  all.verdicts[at] = verdict;
  draw();
  return change;
}

async function submit(change) {
  try {
    change.base = change.sentence.version;  // of what the person saw, or of the change before this one
    change.version = (await send(change.number, change.after, change.base)).version;
    change.sentence.version = change.version;
    past.push(change);
    $("undo").disabled = false;
  } catch (error) {
    const known = error.now || await ask(`sentence/${change.number}`).catch(() => ({ ...change.before, corrected: change.before.labels }));
    Object.assign(change.sentence, { verdict: known.verdict, corrected: known.corrected, note: known.note });
    all.verdicts[change.number] = known.verdict;
    if (one) draw();
    if (!error.now) throw error;
    compare(change.number, change.after, error.now);
  }
}

function isUnsaved() {
  return one && ($("note").value !== one.note || JSON.stringify(labels) !== JSON.stringify(one.corrected));
}

// Whether the page may leave its sentence. A note or labels that were refused are sent again; an error keeps the page there.
async function mayLeave() {
  if (isUnsaved() && !$("conflict").open) await submit(changed(one.verdict));
  return !$("conflict").open;
}

function send(number, said, version) {
  return ask(`sentence/${number}`, { ...said, version });
}

async function decide(verdict) {
  const from = at;
  if (await save(verdict)) await move(1, verdict ? "open" : null, from);
}

// Takes back the last change of this page, on whatever sentence it was.
function undo() {
  return inTurn(async () => {
    const change = await mayLeave() && past.pop();
    if (!change) return;
    try {
      const now = await send(change.number, change.before, change.version);
      const earlier = past.findLast((other) => other.number === change.number);
      if (earlier && earlier.version === change.base) earlier.version = now.version;
      if (at === change.number) one.version = now.version;  // for what was changed since undo was pressed
      take(now, change.number);
    } catch (error) {
      if (!error.now) { past.push(change); throw error; }
      compare(change.number, change.before, error.now);
    }
  });
}

// Somebody else, or another tab, has decided meanwhile: shows both decisions, and one of them is chosen.
function compare(number, mine, theirs) {
  for (const [id, said] of [["theirs", { ...theirs, labels: theirs.corrected }], ["mine", mine]]) {
    const text = make("p", "other");
    text.dir = "auto";
    text.append(...written(theirs, said.labels, false), make("small", "", [KNOWN[said.verdict] || "not decided", said.note].filter(Boolean).join(" · ")));
    $(id).replaceChildren(text);
  }
  $("replace").onclick = () => $("conflict").close("mine");
  $("conflict").onclose = () => inTurn(async () => {
    const isMine = $("conflict").returnValue === "mine";
    const now = isMine ? await send(number, mine, theirs.version) : await ask(`sentence/${number}`);
    if (isMine) past.push({ number, before: state(theirs), base: theirs.version, version: now.version });
    take(now, number);
  });
  $("conflict").returnValue = "";
  if (!$("conflict").open) $("conflict").showModal();  // open: the next change of this sentence was on its way
}
