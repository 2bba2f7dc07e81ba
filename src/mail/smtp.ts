import type { MailChoice } from "../config/config.ts";
import { lazy } from "../lib/lazy.ts";
import { isLoopbackHost } from "../lib/loopback.ts";
import type { Email } from "./email.ts";

/** How long one step of a conversation with the server may take, in milliseconds. */
const STEP_MS = 10_000;

/** Connections that are open at once. */
const MAX_CONNECTIONS = 5;

/** One message as it is handed to the server. */
interface Dispatch {
  readonly email: Email;
  /** The same whenever it is sent again, so that a reader can tell. */
  readonly id: string;
  readonly date: Date;
  /** Ends the attempt. */
  readonly signal: AbortSignal;
}

/** A connection to the mail server. */
export interface Smtp {
  /** @throws {Error} Unless the server has taken the message. */
  send(dispatch: Dispatch): Promise<void>;
  close(): void;
}

/** Connects to a mail server when there is something to send, and keeps the connection for a while.
 *  Parameters of the address can change what is set here, for example `?requireTLS=false`. */
export function createSmtp({ smtpUrl, from }: MailChoice): Smtp {
  const host = from.slice(from.lastIndexOf("@") + 1);
  const transport = lazy(() => openTransport(smtpUrl));
  return {
    async send({ email: { to, subject, text }, id, date, signal }) {
      const opened = await transport.get();
      await opened.sendMail({
        from,
        // Not as text, which would be read as a list of addresses with names.
        to: { name: "", address: to },
        envelope: { from, to },
        ...{ subject, text, date, signal, messageId: `<${id}@${host}>` },
        // RFC 3834 section 5: no answers by machines.
        headers: { "Auto-Submitted": "auto-generated" },
      });
    },
    close: () => void transport.ifOpen((opened) => opened.close({ force: true })),
  };
}

/** The client is loaded when it is needed: most services send no mail. */
async function openTransport(url: string) {
  const { createTransport } = await import("nodemailer");
  const { username, hostname } = new URL(url);
  return createTransport({
    ...{ url, pool: true, maxConnections: MAX_CONNECTIONS, maxRequeues: 0 },
    ...{ dnsTimeout: STEP_MS, connectionTimeout: STEP_MS, greetingTimeout: STEP_MS },
    socketTimeout: STEP_MS,
    // A password must not go where others can read it, whoever answers for the server.
    requireTLS: username !== "" && !isLoopbackHost(hostname),
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
}

/** Whether the server will never take a message for this address (RFC 5321 section 4.2.1). */
export function isRefusedForGood(error: unknown): boolean {
  const { command, responseCode = 0 } = error as { command?: string; responseCode?: number };
  return command === "RCPT TO" && responseCode >= 500;
}
