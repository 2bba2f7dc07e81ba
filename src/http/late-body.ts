import type { IncomingMessage } from "node:http";
import type { LoopTurns } from "./loop-turns.ts";

/**
 * Lets the end of a body that has not arrived yet wait for its turn. Else whoever completes a
 * thousand bodies at the same moment would have a thousand requests computed before any other socket
 * is read: each of them had its turn when its header arrived.
 */
export function takeTurnAtEnd(req: IncomingMessage, turns: LoopTurns, network: string): void {
  if (req.complete) return;
  const push = req.push.bind(req);
  req.push = (chunk, encoding) => {
    if (chunk !== null) return push(chunk, encoding);
    void turns.next(network).then(() => push(null));
    return false;
  };
}
