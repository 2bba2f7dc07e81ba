import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";

/** An answer as it came, redirects not followed. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A request as it goes out; `fetch` would put its own Host in. */
export interface RawRequest {
  readonly method?: string;
  /** A list is sent as several headers. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: string;
}

/** Sends a request with the headers exactly as given, also `Host`. */
export function sendRaw(
  url: string,
  { method = "GET", headers = {}, body }: RawRequest = {},
): Promise<RawAnswer> {
  const { hostname, port, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    const path = pathname + search;
    const sent = request(
      { hostname, port, path, method, headers: { ...headers } as OutgoingHttpHeaders },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("end", () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    sent.on("error", reject).end(body);
  });
}
