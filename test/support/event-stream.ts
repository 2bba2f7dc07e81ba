import { atFileEnd } from "./file-end.ts";

/** An event of an event stream (WHATWG HTML, section 9.2.5). */
interface Block {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
  readonly comment: string | undefined;
}

/** An open event stream. */
export interface OpenStream {
  readonly response: Response;
  /** Events received so far. */
  readonly blocks: readonly Block[];
  /** All text received so far. */
  text(): string;
  /** Ids of the events received so far. */
  ids(): readonly string[];
  /** Resolves once this many events have arrived; rejects when the stream ends earlier. */
  until(events: number): Promise<void>;
  /** Resolves with the first event that fulfills the condition. */
  untilBlock(isIt: (block: Block) => boolean): Promise<Block>;
  /** Resolves when the stream ends: normally (`ended`), or by a broken connection (`cut`). */
  readonly ended: Promise<"ended" | "cut">;
  /** Closes the connection. */
  leave(): void;
}

/** Opens an event stream; it is closed after the last test of the file. */
export async function openStream(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<OpenStream> {
  const left = new AbortController();
  const leave = () => left.abort();
  atFileEnd(leave);
  const response = await fetch(url, { headers, signal: left.signal });
  const blocks: Block[] = [];
  let text = "";
  let rest = "";
  const waiting = new Set<() => void>();
  const tell = () => {
    for (const look of waiting) look();
  };
  let end: "ended" | "cut" | undefined;
  const onText = (more: string) => {
    text += more;
    const parts = (rest + more).split("\n\n");
    rest = parts.pop() ?? "";
    blocks.push(...parts.map(blockOf));
    tell();
  };
  const ended = read(response, onText).then((how) => {
    end = how;
    tell();
    return how;
  });
  const ids = () => blocks.filter(({ data }) => data !== undefined).map(({ id = "" }) => id);
  const until = <T>(find: () => T | undefined) =>
    new Promise<T>((resolve, reject) => {
      const look = () => {
        const found = find();
        if (found === undefined && end === undefined) return;
        waiting.delete(look);
        if (found === undefined) reject(new Error(`the stream ended: ${response.status} ${text}`));
        else resolve(found);
      };
      waiting.add(look);
      look();
    });
  return {
    ...{ response, blocks, ids, ended, leave },
    text: () => text,
    until: async (events) => void (await until(() => (ids().length >= events ? true : undefined))),
    untilBlock: (isIt) => until(() => blocks.find(isIt)),
  };
}

async function read(response: Response, onText: (text: string) => void): Promise<"ended" | "cut"> {
  try {
    for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
      onText(text);
    return "ended";
  } catch {
    return "cut";
  }
}

function blockOf(text: string): Block {
  const fields = new Map(
    text.split("\n").map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 2)] as const;
    }),
  );
  return {
    id: fields.get("id"),
    event: fields.get("event"),
    data: fields.get("data"),
    comment: fields.get(""),
  };
}
