// Checks the proof of a log entry in this browser, with the data on the page: RFC 9162 sections
// 2.1.3.2 and 2.1.4.2 (the tree of RFC 6962), C2SP signed-note. The page is complete without this
// script.
const MEMORY = "signal-log";
const textOf = (id) => document.getElementById(id).textContent;
const bytesOf = (base64) => Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
const base64Of = (bytes) => btoa(String.fromCharCode(...bytes));
const encode = (text) => new TextEncoder().encode(text);

const sha256 = async (...parts) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));
const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);
const nodeOf = (left, right) => sha256(NODE, left, right);

/** Iterates over the path from a leaf to the root of a tree with `size` leaves. */
function way(index, size) {
  let [own, last] = [index, size - 1];
  const up = () => {
    own = Math.floor(own / 2);
    last = Math.floor(last / 2);
  };
  return {
    up,
    isOdd: () => own % 2 === 1,
    isAtRoot: () => last === 0,
    /** Moves one step toward the root. Returns whether the sibling is on the left. */
    step() {
      if (last === 0) throw new Error("the proof is too long");
      const isLeft = own % 2 === 1 || own === last;
      if (isLeft) while (own % 2 === 0 && own !== 0) up();
      up();
      return isLeft;
    },
  };
}

/** Computes the root hash from a leaf hash and its inclusion path. */
async function rootFrom(index, size, leaf, path) {
  const going = way(index, size);
  let hash = leaf;
  for (const sibling of path) {
    hash = await (going.step() ? nodeOf(sibling, hash) : nodeOf(hash, sibling));
  }
  if (!going.isAtRoot()) throw new Error("the proof is too short");
  return hash;
}

/**
 * Whether a tree is a prefix of a larger tree. Each tree is given by its size and its root in
 * base64; `path` is the consistency proof.
 */
async function isExtended(from, to, path) {
  if (from.size === to.size) return from.root === to.root;
  const hashes = Number.isInteger(Math.log2(from.size)) ? [bytesOf(from.root), ...path] : path;
  const going = way(from.size - 1, to.size);
  while (going.isOdd()) going.up();
  let [older, newer] = [hashes[0], hashes[0]];
  for (const sibling of hashes.slice(1)) {
    if (going.step()) {
      older = await nodeOf(sibling, older);
      newer = await nodeOf(sibling, newer);
    } else newer = await nodeOf(newer, sibling);
  }
  return going.isAtRoot() && base64Of(older) === from.root && base64Of(newer) === to.root;
}

/** Finds the key that signed a checkpoint. Throws an error if none of the keys did. */
async function signerOf(note, origin, keys) {
  const end = note.lastIndexOf("\n\n") + 1;
  const lines = note
    .slice(end + 1)
    .trimEnd()
    .split("\n");
  for (const key of keys) {
    const [name, id, ...rest] = key.split("+");
    const [type, ...raw] = bytesOf(rest.join("+"));
    const line = lines.find((one) => one.startsWith(`— ${name} `) && idOf(one) === id);
    // Type 1: an Ed25519 signature of the text of the note.
    if (name !== origin || type !== 1 || line === undefined) continue;
    const algorithm = { name: "Ed25519" };
    const publicKey = await crypto.subtle.importKey("raw", Uint8Array.from(raw), algorithm, false, [
      "verify",
    ]);
    const signature = bytesOf(line.split(" ")[2]).slice(4);
    if (await crypto.subtle.verify(algorithm, publicKey, signature, encode(note.slice(0, end)))) {
      return key;
    }
  }
  throw new Error("no key of the log signed it");
}

const idOf = (line) =>
  Array.from(bytesOf(line.split(" ")[2]).slice(0, 4), (one) =>
    one.toString(16).padStart(2, "0"),
  ).join("");

function tell(id, state, text) {
  const item = document.getElementById(id);
  item.className = state.replace(" ", "-");
  item.querySelector("strong").textContent = state;
  item.querySelector("span").textContent = text;
}

/** The checkpoint that this browser stored at an earlier visit; `null` if it stored none. */
function remembered() {
  try {
    return JSON.parse(localStorage.getItem(MEMORY));
  } catch {
    return null;
  }
}

function remember(checkpoint) {
  try {
    localStorage.setItem(MEMORY, JSON.stringify(checkpoint));
  } catch {
    // If the browser cannot store anything, the other checks still work.
  }
}

/**
 * Compares the log with the checkpoint from an earlier visit of this browser, and stores the larger
 * of the two.
 */
async function compareWithMemory(now) {
  const known = remembered();
  if (known?.origin !== now.origin) {
    remember({ ...now, seen: new Date().toISOString() });
    return tell(
      "check-memory",
      "first visit",
      "This browser sees this log for the first time, so there is nothing to compare yet. It keeps the checkpoint, and proves at every later visit that nothing before it was changed.",
    );
  }
  const seen = `the ${known.size} entries that this browser saw on ${known.seen.slice(0, 16).replace("T", ", ")} UTC`;
  const [small, large] = known.size <= now.size ? [known, now] : [now, known];
  const answer = await fetch(`/log/consistency?from=${small.size}&to=${large.size}`);
  if (!answer.ok)
    return tell("check-memory", "not proved", "The proof could not be fetched: try again.");
  const path = (await answer.json()).proof.map(bytesOf);
  if (!(await isExtended(small, large, path))) {
    tell("check-memory", "failed", `The log is not an extension of ${seen}.`);
    throw new Error("the log was rewritten since this browser saw it");
  }
  const changed = known.key === now.key ? "" : " Another key signs it now.";
  tell("check-memory", "proved", `The log has ${seen}, unchanged.${changed}`);
  remember({ ...(known.size > now.size ? known : now), seen: known.seen });
}

async function check() {
  const note = textOf("checkpoint");
  const [origin, sizeText, root] = note.split("\n");
  const size = Number(sizeText);
  const index = Number(textOf("entry-index"));
  const path = [...document.querySelectorAll("#path code")].map((one) => bytesOf(one.textContent));
  const found = await rootFrom(index, size, await sha256(LEAF, encode(textOf("entry"))), path);
  if (base64Of(found) !== root) throw new Error("the entry leads to another root");
  tell(
    "check-entry",
    "proved",
    `The words below are entry ${index} of the ${size} under the root: ${path.length} hashes lead from one to the other.`,
  );
  const keys = [...document.querySelectorAll("#log-keys code")].map((one) => one.textContent);
  const key = await signerOf(note, origin, keys);
  tell("check-signature", "proved", `The root is signed with the key ${key.split("+")[1]}.`);
  await compareWithMemory({ origin, size, root, key });
  return index;
}

const verdict = document.getElementById("verdict");
if (crypto.subtle === undefined) {
  verdict.textContent = "Browsers can check this only on https pages and on localhost.";
} else {
  check().then(
    (index) => {
      verdict.textContent = `Proved in this browser: entry ${index} stands in the log as it was signed.`;
    },
    (error) => {
      verdict.textContent = `Not proved: ${error.message}.`;
      verdict.className = "note wrong";
    },
  );
}
