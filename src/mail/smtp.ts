import { lazyResource } from "../lib/lazy.ts";
import { isLoopbackHost } from "../outbound/loopback.ts";
import type { Email } from "./email-schema.ts";

/** The mail server and the sender. */
export interface MailSettings {
  /** `smtp://` or `smtps://` URL, with the credentials of the account. */
  readonly smtpUrl: string;
  /** Sender address of the emails. */
  readonly from: string;
}

/** Timeout of each step of a connection (DNS, connect, greeting, command), in milliseconds. */
const STEP_TIMEOUT_MS = 10_000;

/** Maximum number of open connections to the mail server. */
const MAX_CONNECTIONS = 5;

/** An email to send, with its message id and date. */
interface SendOptions {
  readonly email: Email;
  /** Message id, the same in every attempt, so that recipients can detect duplicates. */
  readonly id: string;
  readonly date: Date;
  /** Cancels the attempt. */
  readonly signal: AbortSignal;
}

/** A client of the mail server. */
interface SmtpClient {
  /** Sends an email. @throws {Error} Unless the mail server has accepted the email. */
  send(outgoing: SendOptions): Promise<void>;
  close(): void;
}

/**
 * Creates a client that connects when the first email is sent and keeps its connections open for a
 * while. Query parameters of SMTP_URL override the options below, for example `?requireTLS=false`.
 */
export function createSmtpClient({ smtpUrl, from }: MailSettings): SmtpClient {
  const host = from.slice(from.lastIndexOf("@") + 1);
  const transport = lazyResource(() => openTransport(smtpUrl));
  return {
    async send({ email: { to, subject, text, unsubscribeUrl }, id, date, signal }) {
      const opened = await transport.get();
      await opened.sendMail({
        from,
        // Passed as an object, because nodemailer would parse a string as a list of addresses with
        // display names.
        to: { name: "", address: to },
        envelope: { from, to },
        subject,
        text,
        date,
        signal,
        messageId: `<${id}@${host}>`,
        headers: {
          // RFC 3834 section 5: asks for no automatic replies.
          "Auto-Submitted": "auto-generated",
          ...(unsubscribeUrl !== undefined && oneClick(unsubscribeUrl)),
        },
      });
    },
    close: () => void transport.ifOpen((opened) => opened.close({ force: true })),
  };
}

/**
 * Header fields with which mail clients offer one-click unsubscribing (RFC 2369 section 3.2, RFC
 * 8058 section 3.1). They are marked as prepared, because nodemailer would otherwise fold the URL.
 */
const oneClick = (url: string) => ({
  "List-Unsubscribe": { prepared: true, value: `<${url}>` },
  "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
});

/** Loads nodemailer when the first email is sent, because many deployments never send one. */
async function openTransport(url: string) {
  const { createTransport } = await import("nodemailer");
  const { username, hostname } = new URL(url);
  return createTransport({
    url,
    pool: true,
    maxConnections: MAX_CONNECTIONS,
    maxRequeues: 0,
    dnsTimeout: STEP_TIMEOUT_MS,
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: STEP_TIMEOUT_MS,
    // A password is never sent over an unencrypted connection to another machine.
    requireTLS: username !== "" && !isLoopbackHost(hostname),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Whether the server permanently rejects the recipient (RFC 5321 section 4.2.1). */
export function isPermanentRejection(error: unknown): boolean {
  const { command, responseCode = 0 } = error as { command?: string; responseCode?: number };
  return command === "RCPT TO" && responseCode >= 500;
}
