import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Load, LoadResult } from "../load.ts";
import { CALLER_CORE, nodeOn } from "./machine.ts";

const SCRIPT = fileURLToPath(new URL("../load.ts", import.meta.url));

/** A child process that sends requests to servers. */
export interface Caller {
  /** Sends the load and measures the answers. @throws {Error} When a server closes a connection. */
  call(load: Load): Promise<LoadResult>;
  stop(): void;
}

/** Starts a caller on the core that is not used by servers. */
export function startCaller(): Caller {
  const child: ChildProcess = spawn(...nodeOn(CALLER_CORE, [SCRIPT]), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  return {
    async call(load) {
      child.send(load);
      const [answer] = (await once(child, "message")) as [LoadResult | { readonly failed: string }];
      if ("failed" in answer) throw new Error(answer.failed);
      return answer;
    },
    stop: () => void child.disconnect(),
  };
}
