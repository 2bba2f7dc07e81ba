import type { Socket } from "node:net";

/**
 * Creates the function that pauses a socket for a time, so that incoming data waits in the kernel;
 * called again, it begins the time anew. Node.js resumes a socket as soon as the pending responses
 * are sent, so each resume is reversed during this time.
 *
 * @param ms Time, in milliseconds.
 */
export function createSocketPause(ms: number): (socket: Socket) => void {
  const timers = new WeakMap<Socket, NodeJS.Timeout>();
  return (socket) => {
    const timer = timers.get(socket);
    if (timer !== undefined) {
      timer.refresh();
      return;
    }
    const pause = () => void socket.pause();
    const resume = () => {
      timers.delete(socket);
      socket.off("resume", pause).resume();
    };
    socket.on("resume", pause).pause();
    timers.set(socket, setTimeout(resume, ms).unref());
  };
}
