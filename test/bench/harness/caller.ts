import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Load, Loaded } from "../load.ts";
import { CALLER_CORE, nodeOn } from "./machine.ts";

const SCRIPT = fileURLToPath(new URL("../load.ts", import.meta.url));

/** A process that calls servers. */
export interface Caller {
  /** @throws {Error} When a server closed a connection. */
  call(load: Load): Promise<Loaded>;
  stop(): void;
}

/** Starts a caller on the core that servers do not have. */
export function startCaller(): Caller {
  const child: ChildProcess = spawn(...nodeOn(CALLER_CORE, [SCRIPT]), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  return {
    async call(load) {
      child.send(load);
      const [answer] = (await once(child, "message")) as [Loaded | { readonly failed: string }];
      if ("failed" in answer) throw new Error(answer.failed);
      return answer;
    },
    stop: () => void child.disconnect(),
  };
}
