import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Witness, type WitnessAnswer } from "../../src/log/witness/witness.ts";
import { createWitnessServer } from "../../src/log/witness/witness-server.ts";
import {
  createWitnessNoteSigner,
  parseLogVerifier,
  verifierText,
} from "../../src/tree/note-keys.ts";
import { atFileEnd } from "./file-end.ts";
import { dataFolder } from "./signal-log.ts";

/** Overrides of the witness's answers. */
interface Lies {
  addCheckpoint?: (() => WitnessAnswer) | undefined;
  checkpoint?: (() => WitnessAnswer) | undefined;
}

/** Creates an answer of a witness. */
export const witnessAnswer = (status: number, body: string): WitnessAnswer => ({
  ...{ status, body },
  type: "text/plain; charset=utf-8",
});

/** Starts a witness on a loopback port. @param keys Verifier keys of the logs that it witnesses. */
export async function openWitness(name: string, keys: readonly string[], now: () => number) {
  const signer = createWitnessNoteSigner(name, generateKeyPairSync("ed25519").privateKey);
  const mlDsa = createWitnessNoteSigner(name, generateKeyPairSync("ml-dsa-44").privateKey);
  const contradictions: string[] = [];
  const path = join(dataFolder(), "cosigned.sqlite");
  const start = () =>
    new Witness({
      path,
      logs: keys.map(parseLogVerifier),
      signers: [signer, mlDsa],
      now,
      onContradiction: (note) => contradictions.push(note),
    });
  const witness = start();
  const lies: Lies = {};
  const told = {
    addCheckpoint: (body: string) => lies.addCheckpoint?.() ?? witness.addCheckpoint(body),
    checkpoint: (hash: string) => lies.checkpoint?.() ?? witness.checkpoint(hash),
  };
  const server = createWitnessServer(told).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    server.close().closeAllConnections();
    witness.close();
  };
  atFileEnd(async () => close());
  return {
    ...{ witness, url, lies, contradictions, start, close },
    key: verifierText(signer),
    mlDsaKey: verifierText(mlDsa),
  };
}
