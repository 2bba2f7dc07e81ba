import { type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from "node:http";

/** An HTTP answer; redirects are not followed. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A raw request, which can have its own Host header, unlike a request with `fetch`. */
export interface RawRequest {
  readonly method?: string;
  /** A list is sent as several headers of the same name. */
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: string;
}

/** Sends a request with exactly the given headers, including `Host`. */
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
