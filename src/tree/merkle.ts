import { hash } from "node:crypto";

/** A SHA-256 hash: 32 bytes. */
export type Hash = Uint8Array;

/** Length of a hash in bytes. */
export const HASH_BYTES = 32;

/** Consecutive leaves `[start, end)` of a tree, whose hash is MTH(D[start:end]). */
export interface LeafRange {
  readonly start: number;
  readonly end: number;
}

/**
 * Buffer for the input of a node hash: the prefix, then two hashes. It is rewritten for each node.
 */
const pair = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/**
 * Writes the SHA-256 of `bytes` into a buffer. Converting through a binary string takes a third of
 * the time that Node.js takes to return a buffer.
 */
function writeSha256(bytes: Uint8Array | string, to: Buffer, at = 0): void {
  to.write(hash("sha256", bytes, "binary"), at, "binary");
}

function sha256(bytes: Uint8Array | string): Hash {
  const hashed = Buffer.allocUnsafe(HASH_BYTES);
  writeSha256(bytes, hashed);
  return hashed;
}

/** Hash of the tree without leaves (RFC 6962 section 2.1). */
export const EMPTY_ROOT: Hash = sha256("");

/** Hash of a leaf: SHA-256(0x00 || entry). */
export const leafHash = (entry: Uint8Array | string): Hash =>
  sha256(typeof entry === "string" ? `\0${entry}` : Buffer.concat([Buffer.of(0), entry]));

/** Hash of an inner node: SHA-256(0x01 || left || right). */
function nodeHash(left: Hash, right: Hash): Hash {
  pair.set(left, 1);
  pair.set(right, 1 + HASH_BYTES);
  return sha256(pair);
}

/**
 * Computes the parents of consecutive nodes of equal height, as concatenated hashes; a last node
 * without a sibling gets no parent.
 */
export function parentNodes(nodes: Uint8Array): Uint8Array {
  const count = half(nodes.length / HASH_BYTES);
  const above = Buffer.allocUnsafe(count * HASH_BYTES);
  for (let at = 0; at < count; at++) {
    const first = nodes.byteOffset + 2 * at * HASH_BYTES;
    pair.set(new Uint8Array(nodes.buffer, first, 2 * HASH_BYTES), 1);
    writeSha256(pair, above, at * HASH_BYTES);
  }
  return above;
}

/** The largest power of two less than n, for n > 1: where RFC 6962 splits a tree. */
function splitOf(n: number): number {
  let k = 1;
  while (2 * k < n) k *= 2;
  return k;
}

/**
 * MTH computed from the hashes of consecutive subtrees (RFC 6962 section 2.1). All subtrees have
 * the same size, a power of two; only the last one may be smaller.
 */
export function treeHash(hashes: readonly Hash[]): Hash {
  let level = hashes;
  while (level.length > 1) {
    const above: Hash[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const [left, right] = [level[at] as Hash, level[at + 1]];
      above.push(right === undefined ? left : nodeHash(left, right));
    }
    level = above;
  }
  return level[0] ?? EMPTY_ROOT;
}

/**
 * The inclusion proof PATH(index, D[size]) (RFC 6962 section 2.1.1), as the ranges of leaves whose
 * hashes form it.
 *
 * @throws {RangeError} If the tree has no such leaf.
 */
export function inclusionPath(index: number, size: number): readonly LeafRange[] {
  checkSize(size);
  if (!Number.isSafeInteger(index) || index < 0 || index >= size) {
    throw new RangeError(`leaf ${index} is not in a tree of ${size}`);
  }
  const path: LeafRange[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + splitOf(end - start);
    if (index < middle) {
      path.unshift({ start: middle, end });
      end = middle;
    } else {
      path.unshift({ start, end: middle });
      start = middle;
    }
  }
  return path;
}

/**
 * The consistency proof PROOF(from, D[to]) (RFC 6962 section 2.1.2), as the ranges of leaves whose
 * hashes form it; empty if `from` is 0 or equals `to`.
 *
 * @throws {RangeError} If `from` is larger than `to`.
 */
export function consistencyPath(from: number, to: number): readonly LeafRange[] {
  checkSize(from);
  checkSize(to);
  if (from > to) throw new RangeError(`a tree of ${from} does not precede one of ${to}`);
  if (from === 0 || from === to) return [];
  const path: LeafRange[] = [];
  let [start, end] = [0, to];
  while (from !== end) {
    const middle = start + splitOf(end - start);
    if (from <= middle) {
      path.unshift({ start: middle, end });
      end = middle;
    } else {
      path.unshift({ start, end: middle });
      start = middle;
    }
  }
  // SUBPROOF omits the hash of the old tree itself, which the verifier knows.
  return start === 0 ? path : [{ start, end }, ...path];
}

/** Statement of an inclusion proof: the leaf is at `index` in the tree with this size and root. */
interface InclusionProof {
  readonly index: number;
  readonly size: number;
  readonly leaf: Hash;
  readonly root: Hash;
  readonly proof: readonly Hash[];
}

/** Whether the leaf is in the tree (the algorithm of RFC 9162 section 2.1.3.2). */
export function verifyInclusion({ index, size, leaf, root, proof }: InclusionProof): boolean {
  if (!isSize(size) || !isSize(index) || index >= size) return false;
  const sides = sidesOf(index, size - 1, proof.length);
  return sides !== undefined && isSameHash(climb(leaf, proof, sides), root);
}

/** Statement of a consistency proof: the first `from` leaves of the new tree are the old tree. */
export interface ConsistencyProof {
  readonly from: number;
  readonly fromRoot: Hash;
  readonly to: number;
  readonly toRoot: Hash;
  readonly proof: readonly Hash[];
}

/** Whether the old tree is a prefix of the new one (the algorithm of RFC 9162 section 2.1.4.2). */
export function verifyConsistency({
  from,
  fromRoot,
  to,
  toRoot,
  proof,
}: ConsistencyProof): boolean {
  if (!isSize(from) || !isSize(to) || from > to) return false;
  if (from === to) return proof.length === 0 && isSameHash(fromRoot, toRoot);
  if (from === 0) return proof.length === 0 && isSameHash(fromRoot, EMPTY_ROOT);
  let [fn, sn] = [from - 1, to - 1];
  while (fn % 2 === 1) [fn, sn] = [half(fn), half(sn)];
  // If the old tree is a complete subtree, its root is the first node of the proof.
  const [first, ...rest] = fn === 0 ? [fromRoot, ...proof] : proof;
  const sides = sidesOf(fn, sn, rest.length);
  if (first === undefined || sides === undefined) return false;
  const isInOld = (_: unknown, at: number) => sides[at] === "left";
  const old = climb(first, rest.filter(isInOld), sides.filter(isInOld));
  return isSameHash(old, fromRoot) && isSameHash(climb(first, rest, sides), toRoot);
}

/**
 * The side on which each hash of a proof is joined on the way to the root, starting at node `fn` of
 * a level whose last node is `sn`.
 *
 * @returns `undefined` if the path to the root does not have `length` hashes.
 */
function sidesOf(
  fn: number,
  sn: number,
  length: number,
): readonly ("left" | "right")[] | undefined {
  const sides: ("left" | "right")[] = [];
  for (let [node, last] = [fn, sn]; last > 0; [node, last] = [half(node), half(last)]) {
    // A last node without a sibling moves up unchanged.
    if (node % 2 === 1) sides.push("left");
    else if (node < last) sides.push("right");
  }
  return sides.length === length ? sides : undefined;
}

function climb(from: Hash, proof: readonly Hash[], sides: readonly ("left" | "right")[]): Hash {
  return proof.reduce(
    (found, hash, at) => (sides[at] === "left" ? nodeHash(hash, found) : nodeHash(found, hash)),
    from,
  );
}

/** Whether two hashes are equal. Not constant-time, since hashes of the log are public. */
export const isSameHash = (one: Hash, other: Hash): boolean => Buffer.compare(one, other) === 0;

/** Halves a number and rounds down; unlike a shift, this also works above 2^31. */
const half = (n: number): number => Math.floor(n / 2);

const isSize = (n: number): boolean => Number.isSafeInteger(n) && n >= 0;

function checkSize(n: number): void {
  if (!isSize(n)) throw new RangeError(`${n} is not the size of a tree`);
}
