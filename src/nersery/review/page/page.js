"use strict";
// Text of sentences becomes text nodes only: nothing of it is ever read as HTML.

const $ = (id) => document.getElementById(id);
const KNOWN = { accept: "accepted", reject: "rejected", "": "" };
const GOLDEN_ANGLE = 137.508;  // between the hues of neighbouring types, as in nersery.report.rendering
const FIRST_HUE = 20;
const WAIT = 500;  // milliseconds between two looks at what has been read meanwhile
let all = { name: "", types: [], methods: [], verdicts: [], isWhole: false };
let at = 0;                 // the place of the sentence that is shown
let one = null;             // the sentence
let labels = [];            // as corrected: [start, end, type]
let chosen = null;          // selected words: [anchor, focus]
let pressed = null;         // the word where the mouse button went down
let waiting = Promise.resolve();
let failed = null;          // the work whose error is shown

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function coloured(element, type) {
  element.style.setProperty("--hue", String(Math.round(FIRST_HUE + all.types.indexOf(type) * GOLDEN_ANGLE) % 360));
  return element;
}

async function ask(path, body) {
  const request = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let answer;
  try {
    answer = await fetch(path, request);
  } catch {
    const lost = body?.labels ? "This change was not saved, but earlier ones are kept." : "Decisions are kept.";
    throw new Error(`The command that serves this page has ended. ${lost} Run it again to continue.`);
  }
  const value = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(value.error), { now: value.now });
  return value;
}

// One request after the other, so that decisions arrive in the order in which they were made.
function inTurn(work) {
  waiting = waiting.then(work).then(() => {
    if (work !== readOn || failed === readOn) $("error").hidden = true;  // reading on hides no error but its own
  }, (error) => {
    failed = work;
    $("error").textContent = error.message;
    $("error").hidden = false;
    if (work !== readOn) $("error").scrollIntoView({ block: "nearest" });  // it may stand above a long sentence
  });
  return waiting;
}

function take(sentence, number) {
  const isNew = !one || number !== at;
  one = sentence;
  at = number;
  labels = sentence.corrected.map((label) => [...label]);
  const others = sentence.beside.flatMap((other) => other.labels);
  for (const [, , type] of [...labels, ...sentence.labels, ...others]) if (!all.types.includes(type)) all.types.push(type);
  chosen = null;
  all.verdicts[number] = sentence.verdict;
  $("note").value = sentence.note;
  document.querySelector("main").hidden = false;
  draw();
  if (!isNew) return;
  $("place").scrollIntoView({ block: "nearest" });  // the page may still show the end of a long sentence
  $("announcement").textContent = `${$("place").textContent}: ${spoken(0, one.words.length)}`;
}

// Words of the sentence for screen readers, each entity with its type behind it.
function spoken(start, stop) {
  const inside = labels.filter(([first, last]) => start <= first && last <= stop);
  const types = new Map(inside.map(([, last, type]) => [last - 1, ` (${type})`]));
  return one.words.slice(start, stop).map((word, i) => (i ? gap(one, start + i) : "") + word + (types.get(start + i) ?? "")).join("");
}

// What stands before a word: nothing in a script without spaces.
function gap(sentence, i) {
  return sentence.touches[i] ? "" : " ";
}

function isCorrected() {
  return JSON.stringify(labels) !== JSON.stringify(one.labels);
}

function drawProgress() {
  const counts = { accept: 0, reject: 0, "": 0 };
  for (const verdict of all.verdicts) counts[verdict] += 1;
  $("name").textContent = all.name;
  document.title = `${counts.accept + counts.reject} of ${all.verdicts.length} reviewed`;
  $("bar").value = (counts.accept + counts.reject) / Math.max(1, all.verdicts.length);
  const isShown = all.verdicts.some((_, number) => matches(number, $("filter").value));
  $("counts").textContent = `${counts.accept} accepted, ${counts.reject} rejected, ${counts[""]} to go`
    + (found ? `, ${found.size} found` : "") + (all.isWhole ? "" : " (still reading)")
    + (isShown ? "" : ". No sentence matches, so the last one stays.");
  drawGroups();
  $("place").textContent = `${at + 1} of ${all.verdicts.length}`;
}

function draw() {
  drawProgress();
  $("verdict").textContent = KNOWN[one.verdict] + (isCorrected() ? (one.verdict ? ", " : "") + "corrected" : "");
  $("verdict").className = `verdict ${one.verdict}`;
  const scores = Object.entries(one.scores).map(([name, value]) => `${name} ${Number(value.toPrecision(3))}`);
  $("about").textContent = [one.id, one.method, ...scores].filter(Boolean).join(" · ");
  $("undo").disabled = !past.length;
  drawSentence();
  drawBeside();
  drawTypes();
}

function drawSentence() {
  const place = $("sentence");
  place.lang = one.language;
  place.replaceChildren(...written(one, labels, true));
  drawChoice();
}

const TURNS = /[\u202a-\u202e\u2066-\u2069]/;  // signs that would turn the words behind them around

function written(sentence, entities, isOpen) {
  const { words } = sentence;
  const parts = [];
  const word = (i) => {
    const span = make(TURNS.test(words[i]) ? "bdi" : "span", isOpen ? "word" : "", words[i]);
    if (isOpen) span.dataset.at = i;
    return span;
  };
  for (let i = 0; i < words.length;) {
    if (i) parts.push(gap(sentence, i));
    const entity = entities.find(([start]) => start === i);
    if (!entity) { parts.push(word(i)); i += 1; continue; }
    const mark = coloured(make("mark", "entity"), entity[2]);
    for (; i < entity[1]; i += 1) mark.append(i > entity[0] ? gap(sentence, i) : "", word(i));
    const label = make("span", "label");
    label.append("\u00a0", make("bdi", "type", entity[2]), ...(isOpen ? [eraser(entity)] : []));
    mark.append(label);
    parts.push(mark);
  }
  return parts;
}

function eraser(entity) {
  const button = make("button", "", "×");
  button.type = "button";
  button.title = button.ariaLabel = `Remove the label ${entity[2]} from ${one.words.slice(entity[0], entity[1]).join(" ")}`;
  button.addEventListener("click", () => relabel(entity[0], entity[1], null));
  return button;
}

function drawBeside() {
  const place = $("beside");
  place.hidden = !one.beside.length;
  place.replaceChildren(...one.beside.map((other) => {
    const text = make("p", "other");
    text.dir = "auto";
    text.lang = other.language;
    text.append(...written(other, other.labels, false), make("small", "", other.id));
    return text;
  }));
}

function drawTypes() {
  const buttons = all.types.map((type, number) => {
    const button = coloured(make("button"), type);
    button.append(make("bdi", "", type), ...(number < 9 ? [" ", make("kbd", "", String(number + 1))] : []));
    button.addEventListener("click", () => label(type));
    return button;
  });
  const none = make("button", "plain", "no label ");
  none.append(make("kbd", "", "0"));
  none.addEventListener("click", () => label(null));
  const other = make("button", "plain", "another type … ");
  other.append(make("kbd", "", "t"));
  other.addEventListener("click", another);
  for (const button of [...buttons, none]) button.disabled = !chosen;
  other.disabled = !chosen;
  $("types").replaceChildren(...buttons, none, other);
}

function another() {
  if (!chosen) return;
  const type = (prompt("Name of the type, e.g. PER") || "").trim();
  const known = all.types.find((other) => other.toLowerCase() === type.toLowerCase());
  if (type) label(all.types.includes(type) ? type : known ?? type);
}

function span() {
  return chosen && [Math.min(...chosen), Math.max(...chosen) + 1];
}

function drawChoice() {
  const range = span();
  for (const word of $("sentence").querySelectorAll(".word")) {
    const i = Number(word.dataset.at);
    word.classList.toggle("chosen", Boolean(range) && range[0] <= i && i < range[1]);
  }
  if (!range) { $("announcement").textContent = ""; return; }
  $("announcement").textContent = `selected: ${spoken(...range)}`;
}

function choose(anchor, focus) {
  chosen = [anchor, focus];
  drawChoice();
  drawTypes();
}

function label(type) {
  const range = span();
  if (range) relabel(...range, type);
}

// The words get the type alone: what overlaps them loses its label.
async function relabel(start, end, type) {
  const sentence = one;
  const before = JSON.stringify(labels);
  const isNew = type !== null && !all.types.includes(type);
  labels = labels.filter(([s, e]) => e <= start || s >= end);
  if (type !== null) labels.push([start, end, type]);
  if (isNew) all.types.push(type);
  labels.sort((a, b) => a[0] - b[0]);
  $("sentence").focus();
  if (JSON.stringify(labels) === before || await save(one.verdict) || $("conflict").open || !isNew) return;
  all.types = all.types.filter((other) => other !== type);  // it was refused
  if (one !== sentence) return;
  labels = JSON.parse(before);
  draw();
}

// The next sentence that the filter shows; behind a decision the next that is not reviewed, from the beginning again.
// If the page has left `from` meanwhile, it stays where it is: a second decision must not skip a sentence.
async function move(step, wanted, from = null) {
  await inTurn(async () => {
    if (![null, at].includes(from) || !await mayLeave()) return;
    const count = all.verdicts.length;
    const filter = wanted && $("filter").value === "all" ? wanted : $("filter").value;
    for (let i = 1; i <= count; i += 1) {
      const number = (at + step * i + count * i) % count;
      if (!matches(number, filter)) continue;
      const sentence = await ask(`sentence/${number}`);
      all.verdicts[number] = sentence.verdict;  // somebody else may have decided meanwhile
      if (matches(number, filter)) return take(sentence, number);
    }
    return draw();
  });
}

async function end() {
  if (document.activeElement === $("note")) $("note").blur();
  await inTurn(async () => {
    if (!await mayLeave()) return;
    await ask("over", {});
    one = null;
    all.isWhole = true;  // nothing more is read
    for (const part of document.querySelectorAll("header, main")) part.remove();
    document.body.append(make("p", "", "The review has ended; the command shows what was written. You may close this page."));
  });
}

// The entity of a word as a selection, or the word alone.
function unit(i) {
  const entity = labels.find(([start, end]) => start <= i && i < end);
  return entity ? [entity[0], entity[1] - 1] : [i, i];
}

function step(direction, isFurther) {
  const forward = getComputedStyle($("sentence")).direction === "rtl" ? -direction : direction;
  const last = one.words.length - 1;
  const inside = (i) => Math.min(last, Math.max(0, i));
  if (!chosen) choose(...unit(forward > 0 ? 0 : last));
  else if (isFurther) choose(chosen[0], inside(chosen[1] + forward));
  else choose(...unit(inside(forward > 0 ? Math.max(...chosen) + 1 : Math.min(...chosen) - 1)));
  $("sentence").querySelector(`[data-at="${chosen[1]}"]`).scrollIntoView({ block: "nearest" });
}

const KEYS = {
  a: () => decide("accept"), r: () => decide("reject"), u: undo, c: () => one.verdict && save(""), Enter: () => decide("accept"),
  j: () => move(1), k: () => move(-1),
  n: () => $("note").focus(), "/": () => $("find").focus(), Escape: () => { chosen = null; draw(); }, o: () => restore(),
  t: another, "?": () => $("help").showModal(),
  0: () => label(null), Delete: () => label(null), Backspace: () => label(null),
};

function restore() {
  if (!isCorrected()) return;
  labels = one.labels.map((entity) => [...entity]);
  save(one.verdict);
}

// The key under its name on a Latin keyboard: others have no "a", and Caps Lock writes "A".
function keyOf({ key, code }) {
  const [, letter, digit] = /^(?:Key(.)|Digit(.))$/.exec(code) ?? [];
  if (/^[a-z]$/i.test(key)) return key.toLowerCase();
  if (letter && /^[\p{L}\p{M}]+$/u.test(key)) return letter.toLowerCase();
  return digit && /^\p{Nd}$/u.test(key) ? digit : key;
}

document.addEventListener("keydown", (event) => {
  const key = keyOf(event);
  const isComposed = event.isComposing || event.keyCode === 229;  // Enter chooses a candidate of the input method
  if (!one || event.altKey || isComposed || document.querySelector("dialog[open]")) return;
  const isText = event.target.tagName === "INPUT";
  if (event.ctrlKey || event.metaKey) {
    if (key !== "z" || event.shiftKey || isText) return;  // in a text the browser has its own
    event.preventDefault();
    undo();
    return;
  }
  if (event.repeat && !isText && /^([aructo]|Enter)$/.test(key)) {
    event.preventDefault();  // a key held down decides one sentence, not many, also on a button
    return;
  }
  const tag = event.target.tagName;
  if (isText) {
    if (key === "Escape" || key === "Enter") $("sentence").focus();
    return;
  }
  if (tag === "SELECT" || (key === "Enter" && (tag === "BUTTON" || tag === "SUMMARY"))) return;
  if (key === "ArrowLeft" || key === "ArrowRight") step(key === "ArrowRight" ? 1 : -1, event.shiftKey);
  else if (/^[1-9]$/.test(key)) { if (all.types[key - 1]) label(all.types[key - 1]); }
  else if (Object.hasOwn(KEYS, key)) KEYS[key]();
  else return;
  event.preventDefault();
});

function place(event) {
  const word = event.target.closest?.(".word");
  return word ? Number(word.dataset.at) : null;
}

document.addEventListener("pointerdown", () => { pressed = null; }, true);  // drawing starts at a word, or not at all
// A click selects the whole entity, a second one the word; drawing over words selects these.
$("sentence").addEventListener("pointerdown", (event) => {
  const i = place(event);
  if (i === null) return;
  event.target.releasePointerCapture(event.pointerId);  // else a finger would stay on the word where it went down
  pressed = event.shiftKey && chosen ? chosen[0] : i;
  const [start, end] = unit(i);
  const isAgain = chosen && Math.min(...chosen) === start && Math.max(...chosen) === end;
  if (pressed !== i || isAgain) choose(pressed, i);
  else choose(start, end);
});
$("sentence").addEventListener("pointerover", (event) => {
  const i = place(event);
  if (i !== null && event.buttons & 1 && pressed !== null && i !== pressed) choose(pressed, i);
});
$("note").addEventListener("change", () => save(one.verdict));
new ResizeObserver(([bar]) => {  // where buttons wrap, the bar is higher, and must not hide the selected word
  document.documentElement.style.scrollPaddingBottom = `${bar.borderBoxSize[0].blockSize + 16}px`;
}).observe(document.querySelector("main > .actions"));
for (const [id, work] of [["filter", showMatching], ["type", find], ["method", find]]) {
  $(id).addEventListener("change", () => {
    $("sentence").focus();  // else the next key would choose another filter
    work();
  });
}
$("find").addEventListener("change", find);
for (const [id, work] of Object.entries({
  accept: KEYS.a, reject: KEYS.r, undo: KEYS.u, next: KEYS.j, before: KEYS.k, over: end, keys: KEYS["?"],
})) $(id).addEventListener("click", work);

addEventListener("beforeunload", (event) => {
  if (isUnsaved()) event.preventDefault();  // the browser asks whether to leave it unsaved
});

function readLater() {
  if (!all.isWhole) setTimeout(() => inTurn(readOn), WAIT);
}

// What was read since the last look; sentences beside come last.
async function readOn() {
  if (all.isWhole) return;  // the review has ended meanwhile
  try {
    const now = await ask("overview");
    const beside = one && (await ask(`sentence/${at}`)).beside;
    all.verdicts = all.verdicts.concat(now.verdicts.slice(all.verdicts.length));
    for (const type of now.types) if (!all.types.includes(type)) all.types.push(type);
    Object.assign(all, { methods: now.methods, isWhole: now.isWhole });
    if (one) {
      one.beside = beside;
      drawProgress();
      drawBeside();
    }
  } finally {
    readLater();  // also after a request that failed
  }
}

inTurn(async () => {
  all = await ask("overview");
  readLater();
  const open = all.verdicts.indexOf("");
  const first = open < 0 ? 0 : open;
  take(await ask(`sentence/${first}`), first);
});
