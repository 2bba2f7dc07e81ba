import { createHash, createPrivateKey, hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { checkpointText, parseCheckpoint } from "../../../src/tree/checkpoint.ts";
import {
  consistencyPath,
  EMPTY_ROOT,
  type Hash,
  inclusionPath,
  type LeafRange,
  leafHash,
  treeHash,
  verifyConsistency,
  verifyInclusion,
} from "../../../src/tree/merkle.ts";
import {
  createLogNoteSigner,
  parseLogVerifier,
  verifierText,
} from "../../../src/tree/note-keys.ts";
import { signNote, verifyNote } from "../../../src/tree/note-signatures.ts";
import { parseTilePath, tilePath } from "../../../src/tree/tile-path.ts";
import {
  allTiles,
  type FilledTile,
  joinHashes,
  rangeHash,
  TileNodes,
  TreeEdge,
  tilesOf,
  treeRoot,
} from "../../../src/tree/tiles.ts";
import vectors from "../../fixtures/log/vectors.json" with { type: "json" };

/**
 * Leaves of Certificate Transparency's test vectors (merkletree/verify in its Go code),
 * hexadecimal.
 */
const CT_LEAVES = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f",
];

/** Roots of the trees over the first 1, 2, ... of these leaves, hexadecimal. */
const CT_ROOTS = [
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
];

/** Builds a tree with the leaves "leaf 0", "leaf 1", ... and keeps its tiles in memory. */
function grow(size: number) {
  const edge = new TreeEdge();
  const tiles = new Map<string, readonly Hash[]>();
  for (let at = 0; at < size; at++) {
    for (const { level, index, hashes } of edge.append(leafHash(Buffer.from(`leaf ${at}`)))) {
      tiles.set(`${level}/${index}`, hashes);
    }
  }
  const known = new Map<string, TileNodes>();
  const tileAt = (level: number, index: number): TileNodes => {
    const key = `${level}/${index}`;
    const hashes = tiles.get(key) ?? edge.levels[level] ?? [];
    const tile = known.get(key) ?? new TileNodes(joinHashes(hashes));
    known.set(key, tile);
    return tile;
  };
  const hashAt = (range: LeafRange) => rangeHash(range, tileAt);
  const root = (of: number) => hashAt({ start: 0, end: of });
  return { edge, tiles, tileAt, hashAt, root };
}

const tree = grow(vectors.leaves);

/**
 * Lehmer's random number generator with the constants of Park and Miller (1993), as in vectors.go.
 */
function lehmer(seed: number) {
  let state = seed;
  return (n: number): number => {
    state = (state * 48271) % 2147483647;
    return state % n;
  };
}

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64");

describe("the Merkle tree", () => {
  it("has the roots given by Certificate Transparency's test vectors", () => {
    const edge = new TreeEdge();
    expect(Buffer.from(edge.root()).toString("hex")).toBe(
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    );
    const roots = CT_LEAVES.map((leaf) => {
      edge.append(leafHash(Buffer.from(leaf, "hex")));
      return Buffer.from(edge.root()).toString("hex");
    });
    expect(roots).toEqual(CT_ROOTS);
  });

  it("agrees with Go's sumdb on 1,000 inclusion and 1,000 consistency proofs and 100 checkpoints", () => {
    const below = lehmer(20);
    const digests = { inclusion: createHash("sha256"), consistency: createHash("sha256") };
    const shown: { inclusion: unknown[]; consistency: unknown[] } = {
      inclusion: [],
      consistency: [],
    };
    const note = (
      kind: "inclusion" | "consistency",
      from: number,
      size: number,
      path: readonly LeafRange[],
    ) => {
      const [root, hashes] = [base64(tree.root(size)), path.map(tree.hashAt).map(base64)];
      digests[kind].update(
        `${from} ${size} ${root}\n${hashes.map((each) => `${each}\n`).join("")}`,
      );
      shown[kind].push({ from, size, root, hashes });
    };
    for (let round = 0; round < vectors.rounds; round++) {
      const size = 1 + below(vectors.leaves);
      const index = below(size);
      note("inclusion", index, size, inclusionPath(index, size));
    }
    for (let round = 0; round < vectors.rounds; round++) {
      const size = 1 + below(vectors.leaves);
      const from = 1 + below(size);
      note("consistency", from, size, consistencyPath(from, size));
    }
    expect(shown.inclusion.slice(0, vectors.inclusions.length)).toEqual(vectors.inclusions);
    expect(shown.consistency.slice(0, vectors.consistencies.length)).toEqual(vectors.consistencies);
    expect(digests.inclusion.digest("hex")).toBe(vectors.inclusionsSha256);
    expect(digests.consistency.digest("hex")).toBe(vectors.consistenciesSha256);

    const notes = createHash("sha256");
    for (let round = 0; round < 100; round++) {
      const origin = `example.com/log/${round}`;
      const size = 1 + below(vectors.leaves);
      const signer = createLogNoteSigner(origin, privateKeyOf(origin));
      const text = checkpointText({ origin, size, root: tree.root(size) });
      notes.update(`${verifierText(signer)}\n${signNote(text, [signer])}`);
    }
    expect(notes.digest("hex")).toBe(vectors.checkpointsSha256);
  });

  it("accepts its own inclusion proofs, but not for another index, root or leaf, and not with altered hashes", () => {
    const below = lehmer(7);
    for (let round = 0; round < 500; round++) {
      const size = 1 + below(3_000);
      const index = below(size);
      const leaf = leafHash(Buffer.from(`leaf ${index}`));
      const proof = inclusionPath(index, size).map(tree.hashAt);
      const claim = { index, size, leaf, root: tree.root(size), proof };
      expect(verifyInclusion(claim)).toBe(true);
      const another = (index + 1 + below(size)) % size;
      if (another !== index) expect(verifyInclusion({ ...claim, index: another })).toBe(false);
      expect(verifyInclusion({ ...claim, root: tree.root(size + 1) })).toBe(false);
      expect(verifyInclusion({ ...claim, leaf: leafHash(Buffer.from("x")) })).toBe(false);
      expect(verifyInclusion({ ...claim, proof: [...proof, leaf] })).toBe(false);
      if (proof.length > 0)
        expect(verifyInclusion({ ...claim, proof: proof.slice(1) })).toBe(false);
    }
  });

  it("accepts every consistency proof for trees of up to 70 leaves, but not for another tree", () => {
    for (let to = 0; to <= 70; to++) {
      for (let from = 0; from <= to; from++) {
        const proof = consistencyPath(from, to).map(tree.hashAt);
        const rootOf = (size: number) => (size === 0 ? EMPTY_ROOT : tree.root(size));
        const claim = { from, fromRoot: rootOf(from), to, toRoot: rootOf(to), proof };
        expect(verifyConsistency(claim)).toBe(true);
        const other = leafHash(Buffer.from("another tree"));
        expect(verifyConsistency({ ...claim, fromRoot: other })).toBe(false);
        // Every tree extends the empty tree, so a proof from the empty tree does not depend on the
        // new root.
        if (from > 0) expect(verifyConsistency({ ...claim, toRoot: other })).toBe(false);
        expect(verifyConsistency({ ...claim, proof: [...proof, other] })).toBe(false);
      }
    }
  });

  it("rejects leaf indexes and sizes beyond the size of the tree", () => {
    expect(() => inclusionPath(3, 3)).toThrow("leaf 3 is not in a tree of 3");
    expect(() => inclusionPath(-1, 3)).toThrow(RangeError);
    expect(() => consistencyPath(4, 3)).toThrow("a tree of 4 does not precede one of 3");
    expect(() => consistencyPath(0.5, 3)).toThrow(RangeError);
  });
});

describe("the tiles of a Merkle tree", () => {
  it("are as in the example of C2SP tlog-tiles for 70,000 leaves", () => {
    const count = (level: number, isFull: boolean) =>
      [...allTiles(70_000)].filter(
        (tile) => tile.level === level && (tile.width === 256) === isFull,
      );
    expect(count(0, true)).toHaveLength(273);
    expect(count(0, false).map(({ width }) => width)).toEqual([112]);
    expect(count(1, true)).toHaveLength(1);
    expect(count(1, false).map(({ width }) => width)).toEqual([17]);
    expect(count(2, false).map(({ width }) => width)).toEqual([1]);
  });

  it("consist of one full tile at level 0 and one partial tile at level 1 for 256 leaves", () => {
    expect([...allTiles(256)]).toEqual([
      { level: 0, index: 0, width: 256 },
      { level: 1, index: 0, width: 1 },
    ]);
  });

  it("determine the root of every earlier size", async () => {
    const read = async ({ level, index, width }: { level: number; index: number; width: number }) =>
      new TileNodes(tree.tileAt(level, index).bytes.subarray(0, 32 * width));
    for (const size of [1, 2, 255, 256, 257, 511, 65_535, 65_536, 65_537, 70_000]) {
      expect(base64(await treeRoot(size, read))).toBe(base64(tree.root(size)));
      const edge = new TreeEdge();
      if (size <= 511) {
        for (let at = 0; at < size; at++) edge.append(leafHash(Buffer.from(`leaf ${at}`)));
        expect(base64(edge.root())).toBe(base64(tree.root(size)));
      }
    }
    expect(base64(tree.edge.root())).toBe(base64(tree.root(70_000)));
    expect(await treeRoot(0, read)).toEqual(EMPTY_ROOT);
  });

  it("include at most four that an inclusion proof in a tree of 70,000 leaves needs", () => {
    expect(tilesOf(inclusionPath(33, 70_000), 70_000).length).toBeLessThanOrEqual(4);
  });

  it("have root hashes that are the entries of the tile above", () => {
    const full: FilledTile[] = [];
    const edge = new TreeEdge();
    for (let at = 0; at < 65_536; at++) full.push(...edge.append(leafHash(Buffer.of(at & 255))));
    const above = full.find(({ level }) => level === 1);
    expect(above?.index).toBe(0);
    expect(above?.hashes.map(base64)).toEqual(
      full.filter(({ level }) => level === 0).map(({ hashes }) => base64(treeHash(hashes))),
    );
  });

  it("each have a unique path", () => {
    expect(vectors.paths).toEqual([
      tilePath({ level: 0, index: 0, width: 256 }),
      tilePath({ level: 1, index: 7, width: 3 }),
      tilePath({ level: 2, index: 1_234_067, width: 256 }),
      tilePath({ level: 63, index: 1_000, width: 255 }),
    ]);
    for (const path of vectors.paths) {
      const tile = parseTilePath(path);
      expect(tile && tilePath(tile as FilledTile)).toBe(path);
    }
    expect(parseTilePath("entries/x001/000.p/9")).toEqual({
      level: "entries",
      index: 1_000,
      width: 9,
    });
    for (const path of [
      ...[
        "64/000",
        "00/000",
        "0/0",
        "0/000.p/0",
        "0/000.p/256",
        "0/000.p/01",
        "0/x000/001",
        "-1/000",
      ],
      ...["0/001/000", "0/x001", "entries/", "data/000", "0/000/", "0/000.p/1/", "0/000.p/1 "],
      "0/x999/x999/x999/x999/x999/x999/999",
    ]) {
      expect(parseTilePath(path), path).toBeUndefined();
    }
  });
});

function privateKeyOf(name: string) {
  // PKCS #8 prefix of an Ed25519 seed (RFC 8410 section 7).
  const prefix = Buffer.from("302e020100300506032b657004220420", "hex");
  const der = Buffer.concat([prefix, hash("sha256", name, "buffer")]);
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
}

describe("checkpoints signed by Go's sumdb", () => {
  it("are verified successfully", () => {
    for (const { verifier, note } of vectors.checkpoints) {
      const { note: signed, size, root } = parseCheckpoint(note);
      expect(verifyNote(signed, [parseLogVerifier(verifier)])).toHaveLength(1);
      expect(base64(root)).toBe(base64(tree.root(size)));
    }
  });
});
