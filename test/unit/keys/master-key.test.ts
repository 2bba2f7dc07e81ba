import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readMasterKey } from "../../../src/keys/master-key.ts";

function newFolder(): string {
  const parent = mkdtempSync(join(tmpdir(), "master-key-"));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  return join(parent, "data");
}

const atFirst = { fromEnv: undefined, holdsKeys: false };

describe("the master key", () => {
  it("is read from MASTER_KEY in either base64 alphabet, without a file", () => {
    const folder = newFolder();
    const key = Buffer.alloc(32, 0xfb);
    for (const encoding of ["base64", "base64url"] as const) {
      const fromEnv = key.toString(encoding);
      expect(readMasterKey({ fromEnv, folder, holdsKeys: true })).toEqual(key);
    }
    expect(existsSync(folder)).toBe(false);
  });

  it("is rejected when MASTER_KEY is not 32 bytes in base64", () => {
    const short = randomBytes(31).toString("base64");
    const long = randomBytes(33).toString("base64");
    for (const fromEnv of ["", "secret", short, long, "*".repeat(43), "ab".repeat(32)]) {
      const read = () => readMasterKey({ fromEnv, folder: newFolder(), holdsKeys: false });
      expect(read).toThrow("MASTER_KEY: must be 32 bytes in base64");
    }
  });

  it("is created at the first start, readable only by its owner, and read at the next start", () => {
    const folder = newFolder();
    const key = readMasterKey({ ...atFirst, folder });
    expect(key).toHaveLength(32);
    expect(readdirSync(folder)).toEqual(["master.key"]);
    expect(statSync(join(folder, "master.key")).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(readMasterKey({ ...atFirst, folder, holdsKeys: true })).toEqual(key);
    expect(readMasterKey({ ...atFirst, folder: newFolder() })).not.toEqual(key);
  });

  it("is not created when the store already contains keys", () => {
    const folder = newFolder();
    const file = join(folder, "master.key");
    const read = () => readMasterKey({ ...atFirst, folder, holdsKeys: true });
    expect(read).toThrow(`${file} is missing: put it back or set MASTER_KEY`);
    expect(existsSync(file)).toBe(false);
  });

  it("is rejected when other users can read the file", () => {
    const folder = newFolder();
    readMasterKey({ ...atFirst, folder });
    const file = join(folder, "master.key");
    chmodSync(file, 0o640);
    expect(() => readMasterKey({ ...atFirst, folder })).toThrow(`run chmod 600 ${file}`);
  });

  it("is rejected when the file is damaged, and the file stays unchanged", () => {
    const folder = newFolder();
    readMasterKey({ ...atFirst, folder });
    const file = join(folder, "master.key");
    for (const text of ["", "short\n"]) {
      writeFileSync(file, text);
      expect(() => readMasterKey({ ...atFirst, folder })).toThrow(`${file} is damaged`);
      expect(statSync(file).size).toBe(text.length);
    }
  });

  it("is the same for processes that start concurrently", async () => {
    const folder = newFolder();
    const module = new URL("../../../src/keys/master-key.ts", import.meta.url);
    const source = `
      import { readMasterKey } from ${JSON.stringify(module.href)};
      import { workerData, parentPort } from "node:worker_threads";
      parentPort.postMessage(readMasterKey(workerData).toString("hex"));
    `;
    const { Worker } = await import("node:worker_threads");
    const read = () =>
      new Promise<string>((resolve, reject) => {
        const url = new URL(`data:text/javascript,${encodeURIComponent(source)}`);
        const worker = new Worker(url, { workerData: { ...atFirst, folder } });
        worker.once("message", resolve).once("error", reject);
      });
    const keys = await Promise.all(Array.from({ length: 8 }, read));
    expect(new Set(keys).size).toBe(1);
    expect(readdirSync(folder)).toEqual(["master.key"]);
  });
});
