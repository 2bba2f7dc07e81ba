import { EventEmitter, once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

/**
 * Reaction of the server to a step: a reply such as `451 later`, no reply at all, or a closed
 * connection.
 */
type Reaction = string | "hang" | "drop";

/** Steps of an SMTP dialog at which a test can change the server's reaction. */
type Step = "greeting" | "MAIL" | "RCPT" | "DATA" | "end";

/** A message as the server received it. */
interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and body without dot-stuffing (RFC 5321 section 4.5.2); lines end with LF. */
  readonly text: string;
}

/** An SMTP server on the loopback address that accepts everything by default. */
export interface SmtpServer {
  readonly url: string;
  readonly port: number;
  readonly messages: readonly ReceivedMail[];
  /** All lines that clients have sent. */
  readonly said: readonly string[];
  reactions: Partial<Record<Step, Reaction>>;
  /** Resolves once at least this many messages have arrived. */
  received(count: number): Promise<readonly ReceivedMail[]>;
  /** Resolves the next time that a client reaches a step. */
  reached(step: Step): Promise<unknown>;
}

const GOOD: Readonly<Record<Step, string>> = {
  greeting: "220 test ESMTP",
  MAIL: "250 ok",
  RCPT: "250 ok",
  DATA: "354 go on",
  end: "250 taken",
};

/** Starts an SMTP server; it stops after the test. */
export async function startSmtp(host = "127.0.0.1"): Promise<SmtpServer> {
  const events = new EventEmitter().setMaxListeners(0);
  const sockets = new Set<Socket>();
  const messages: ReceivedMail[] = [];
  const said: string[] = [];
  const smtp = {
    reactions: {} as SmtpServer["reactions"],
    messages,
    said,
    async received(count: number) {
      while (messages.length < count) await once(events, "message");
      return messages;
    },
    reached: (step: Step) => once(events, step),
  };
  const react = (socket: Socket, step: Step): boolean => {
    const reaction = smtp.reactions[step] ?? GOOD[step];
    if (reaction === "drop") socket.destroy();
    else if (reaction !== "hang") socket.write(`${reaction}\r\n`);
    events.emit(step);
    return reaction === GOOD[step];
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    react(socket, "greeting");
    talk(socket, {
      react: (step) => react(socket, step),
      said,
      taken(mail) {
        messages.push(mail);
        events.emit("message");
      },
    });
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return Object.assign(smtp, { url: `smtp://${host}:${port}`, port });
}

interface Talk {
  /** Sends the reaction of a step. @returns Whether the client may go on. */
  react(step: Step): boolean;
  readonly said: string[];
  taken(mail: ReceivedMail): void;
}

function talk(socket: Socket, { react, said, taken }: Talk): void {
  let from = "";
  let to: string[] = [];
  let body: string[] | undefined;
  const commands: Readonly<Record<string, (address: string) => void>> = {
    EHLO: () => socket.write("250 test\r\n"),
    RSET: () => socket.write("250 ok\r\n"),
    QUIT: () => socket.end("221 bye\r\n"),
    MAIL(address) {
      if (react("MAIL")) [from, to] = [address, []];
    },
    RCPT(address) {
      if (react("RCPT")) to.push(address);
    },
    DATA() {
      if (react("DATA")) body = [];
    },
  };
  const command = (line: string): void => {
    const unknown = () => socket.write("502 what?\r\n");
    const [verb = ""] = line.split(/[ :]/);
    (commands[verb] ?? unknown)(/<(.*)>/.exec(line)?.[1] ?? "");
  };
  createInterface({ input: socket, crlfDelay: Number.POSITIVE_INFINITY })
    .on("error", () => {})
    .on("line", (line) => {
      said.push(line);
      if (body === undefined) return command(line);
      if (line !== ".") return void body.push(line.replace(/^\./, ""));
      const text = body.join("\n");
      body = undefined;
      if (react("end")) taken({ from, to, text });
    });
}
