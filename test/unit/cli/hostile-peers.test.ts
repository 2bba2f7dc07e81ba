import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import type { RequestListener, ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { serveForTest } from "../../support/local-server.ts";
import { filesOf, honestEntries, ORIGIN, randomBelow, VERIFIER } from "../../support/log-forger.ts";
import { temporaryFolder } from "../../support/process.ts";
import { runCommand } from "../../support/run-command.ts";

const run = (folder: string, ...argv: readonly string[]) =>
  runCommand(argv, { env: { TOKEN: "the-token" }, folder });

const CHUNK = Buffer.alloc(256 * 1024, "a");

/** Sends bytes until the client goes away. */
function sendEndlessly(res: ServerResponse): void {
  while (!res.destroyed) {
    if (!res.write(CHUNK)) return void res.once("drain", () => sendEndlessly(res));
  }
}

const entries = honestEntries(randomBelow(1), 6);
const files = filesOf(entries);
const width = entries.length;

/** Serves an honest log, except for the paths that `answers` has an answer for. */
const serveLog = (answers: Readonly<Record<string, (res: ServerResponse) => void>>) =>
  serveForTest(({ url = "" }, res) => {
    const path = url.slice("/log/".length);
    const bytes = path === "keys" ? `${VERIFIER}\n` : files.get(path);
    const answer = answers[path];
    if (answer !== undefined) answer(res);
    else res.writeHead(bytes === undefined ? 404 : 200).end(bytes);
  });

const TILE = `tile/0/000.p/${width}`;
const BUNDLE = `tile/entries/000.p/${width}`;
const tile = files.get(TILE) ?? Buffer.of();
const bundle = files.get(BUNDLE) ?? Buffer.of();

describe("a log that sends more than is due", () => {
  it.each(["checkpoint", "keys", TILE, BUNDLE])("is not read on at %s", async (path) => {
    const folder = temporaryFolder();
    const base = await serveLog({ [path]: sendEndlessly });
    const { code, err } = await run(folder, "log", "download", base, "copy");
    const bounds = {
      checkpoint: 65_536,
      keys: 65_536,
      [TILE]: 32 * width,
      [BUNDLE]: 65_537 * width,
    };
    expect({ code, err }).toEqual({
      code: 1,
      err: `${path} breaks off, or is longer than ${bounds[path]} bytes\n`,
    });
    expect(existsSync(join(folder, "copy", path))).toBe(false);
    const verified = await run(folder, "verify", base);
    expect(verified.code).toBe(1);
    expect(verified.out + verified.err).toContain("is longer than");
  });

  it.each<[string, Uint8Array]>([
    [TILE, tile.subarray(32)],
    [BUNDLE, bundle.subarray(0, -1)],
    [BUNDLE, Buffer.concat([bundle, Buffer.of(0, 0)])],
  ])("or less is not stored: %s", async (path, bytes) => {
    const folder = temporaryFolder();
    const base = await serveLog({ [path]: (res) => res.end(bytes) });
    const { code, err } = await run(folder, "log", "download", base, "copy");
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining(`answers ${path} with`),
    });
    expect(existsSync(join(folder, "copy", path))).toBe(false);
  });

  it("fills no disk beyond --max-gb, and the download goes on where it ended", async () => {
    const folder = temporaryFolder();
    const base = await serveLog({});
    const short = await run(folder, "log", "download", base, "copy", "--max-gb", "0.000001");
    expect(short).toMatchObject({ code: 1, err: expect.stringContaining("more than 0.000001 GB") });
    const whole = await run(folder, "log", "download", base, "copy");
    expect(whole).toMatchObject({ code: 0, out: expect.stringContaining(`Copied "${ORIGIN}"`) });
    expect(readFileSync(join(folder, "copy", BUNDLE))).toEqual(Buffer.from(bundle));
  });
});

describe("a service that is asked for its log", () => {
  it("is read no further than --max-gb", async () => {
    const base = await serveLog({});
    const { code, err } = await run(temporaryFolder(), "verify", base, "--max-gb", "0.000001");
    expect({ code, err }).toEqual({
      code: 1,
      err: "That is more than 0.000001 GB: --max-gb allows more.\n",
    });
  });

  it("is not waited for beyond ten minutes", async () => {
    const limited = (res: ServerResponse) => res.writeHead(429, { "retry-after": "601" }).end();
    const base = await serveLog({ checkpoint: limited });
    const { code, err } = await run(temporaryFolder(), "log", "download", base, "copy");
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining("answers 429") });
  });

  it.each(["verify", "log download", "export a.csv --url"])(
    "gets no password of its address: %s",
    async (command) => {
      const base = (await serveLog({})).replace("http://", "HTTP://user:S3CRET@");
      const last = command === "log download" ? ["copy"] : [];
      const { code, out, err } = await run(
        temporaryFolder(),
        ...command.split(" "),
        ...[base, ...last],
      );
      expect({ code, err }).toMatchObject({
        code: 1,
        err: expect.stringContaining("Leave the user name and password out"),
      });
      expect(out + err).not.toContain("S3CRET");
    },
  );

  it("begins no line with its name", async () => {
    const checkpoint = (name: string) => `${name}\n0\n${"A".repeat(43)}=\n\n— ${name} AAAAAAA=\n`;
    const named = async (name: string) => {
      const base = await serveLog({ checkpoint: (res) => res.end(checkpoint(name)) });
      return (await run(temporaryFolder(), "verify", base)).out;
    };
    expect(await named("a".repeat(255))).toContain(`Log "${"a".repeat(60)}…", 0 entries`);
    const wide = await named("\uff41".repeat(60));
    expect(wide).toContain(`Log "${"\\u{ff41}".repeat(8).slice(0, 60)}…", 0 entries`);
    for (const blank of ["\u2800", "\u3164", "\u115f", "\u1160", "\uffa0"]) {
      expect(await named(`a${blank}proved`)).toContain("FAILED      checkpoint");
    }
  });
});

const HEADER = "date,symbol,asOf\r\n";
const rowOf = (day: string) => `${day},AAA,${day}T21:00:00.000Z\r\n`;
const ROW = rowOf("2026-01-02");

describe("a folder with a log, from somebody else", () => {
  /** What stands in place of a file: a link to a device without end, or a pipe that nobody writes. */
  const PLANTED: readonly [string, (path: string) => void][] = [
    ["device", (path) => symlinkSync("/dev/zero", path)],
    ["pipe", (path) => void execFileSync("mkfifo", [path])],
  ];

  it.each(PLANTED)("is not read where a file is a %s", async (_name, plant) => {
    const folder = temporaryFolder();
    plant(join(folder, "checkpoint"));
    const { code, out } = await run(folder, "verify", ".");
    expect({ code, out }).toEqual({
      code: 1,
      out: "FAILED      checkpoint  checkpoint is no plain file\n",
    });
    const base = await serveLog({});
    const copied = await run(folder, "log", "download", base, ".");
    expect(copied).toMatchObject({ code: 1, err: "checkpoint is no plain file\n" });
  });

  it.each(["verify", "verify . --policy", "verify . --state"])(
    "is read only from plain files of a due size: %s",
    async (command) => {
      const folder = temporaryFolder();
      writeFileSync(join(folder, "large"), Buffer.alloc(1024 * 1024 + 1));
      execFileSync("mkfifo", [join(folder, "pipe")]);
      for (const [path, reason] of [
        ["/dev/zero", "no (folder and no )?plain file"],
        ["pipe", "no (folder and no )?plain file"],
        ["large", "more than 1048576 bytes"],
      ] as const) {
        const { code, err } = await run(folder, ...command.split(" "), path);
        expect({ code, err }, path).toEqual({ code: 1, err: expect.stringMatching(reason) });
      }
    },
  );

  it("is not read on at a file larger than any", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "checkpoint"), CHUNK);
    const { code, out } = await run(folder, "verify", ".");
    expect({ code, out }).toEqual({
      code: 1,
      out: "FAILED      checkpoint  checkpoint is longer than 65536 bytes\n",
    });
  });

  it.each(["keys", "keys.new", "checkpoint.new", "tile", "tile/0", TILE, `${TILE}.new`])(
    "is not written through a link at %s",
    async (path) => {
      const folder = temporaryFolder();
      const elsewhere = join(folder, "elsewhere");
      const place = join(folder, "copy", path);
      mkdirSync(dirname(place), { recursive: true });
      // A link to a folder where a folder is due, to a file where a file is.
      if (path.startsWith("tile") && !path.includes(TILE)) mkdirSync(elsewhere);
      else writeFileSync(elsewhere, "mine");
      symlinkSync(elsewhere, place);
      const { code, err } = await run(folder, "log", "download", await serveLog({}), "copy");
      if (path.endsWith(".new")) expect({ code, err }).toMatchObject({ code: 0 });
      else
        expect({ code, err }).toMatchObject({
          code: 1,
          err: `${path} is no plain ${kind(path)}\n`,
        });
      const held = lstatSync(elsewhere).isDirectory()
        ? readdirSync(elsewhere)
        : readFileSync(elsewhere, "utf8");
      expect(held).toEqual(typeof held === "string" ? "mine" : []);
    },
  );

  const kind = (path: string) => (path === "tile" || path === "tile/0" ? "folder" : "file");

  it("gets no keys that are none", async () => {
    const folder = temporaryFolder();
    const base = await serveLog({ keys: (res) => res.end("touch /tmp/a\n") });
    const { code, err } = await run(folder, "log", "download", base, "copy");
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining("not a key") });
    expect(existsSync(join(folder, "copy", "keys"))).toBe(false);
  });
});

describe("a folder with a market, from somebody else", () => {
  it.each(["instruments.csv", "bars/AAA.csv"])("is not read where %s is no file", async (path) => {
    for (const plant of [
      (place: string) => symlinkSync("/dev/zero", place),
      (place: string) => void execFileSync("mkfifo", [place]),
      (place: string) => {
        writeFileSync(place, "");
        truncateSync(place, 300_000_000);
      },
    ]) {
      const folder = temporaryFolder();
      mkdirSync(join(folder, "bars"));
      const instruments =
        "symbol,name,assetClass,exchange,currency,sector\nAAA,A,stock,NYSE,USD,Energy\n";
      writeFileSync(join(folder, "instruments.csv"), instruments);
      rmSync(join(folder, path), { force: true });
      plant(join(folder, path));
      const { code, out } = await run(folder, "check", ".");
      expect({ code, out }).toEqual({
        code: 1,
        out: expect.stringMatching(
          `${path}: cannot be read \\(it (is no plain file|has more than)`,
        ),
      });
    }
  });
});

/** Answers with the content type of a panel. */
const asCsv =
  (answer: RequestListener): RequestListener =>
  (req, res) => {
    res.setHeader("content-type", "text/csv; charset=utf-8");
    answer(req, res);
  };

describe("a service that exports without end", () => {
  const exported = async (answer: RequestListener) => {
    const folder = temporaryFolder();
    const base = await serveForTest(asCsv(answer));
    const argv = ["export", "a.csv", "--url", base, "--token", "env:TOKEN"];
    const { code, err } = await run(folder, ...argv);
    return { code, err, base };
  };
  const link = (target: string) => ({ link: `<${target}>; rel="next"` });

  it("is left at a page larger than any", async () => {
    const { code, err } = await exported((_req, res) => sendEndlessly(res));
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringContaining("more than 67108864 bytes"),
    });
  });

  it("is left at an answer that is no CSV", async () => {
    const { code, err, base } = await exported((_req, res) =>
      res.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome</h1>\r\n"),
    );
    expect({ code, err }).toEqual({
      code: 1,
      err: `${base} does not answer CSV: give the address of the service itself.\n`,
    });
  });

  it("is left at a header of more columns than any", async () => {
    const { code, err } = await exported((_req, res) => void res.end(`${"a,".repeat(9_000)}\r\n`));
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining("more columns than") });
  });

  it("is left at a next page that does not advance, or follows one without rows", async () => {
    const stuck = "/api/export?cursor=2026-01-02T21:00:00Z";
    let pages = 0;
    const { code, err, base } = await exported((_req, res) => {
      pages += 1;
      res.writeHead(200, link(stuck)).end(HEADER + ROW);
    });
    expect({ code, err, pages }).toEqual({
      code: 1,
      err: `${base} names a next page that is not later than this one.\n`,
      pages: 2,
    });
    for (const [target, body, reason] of [
      [stuck, HEADER, "after one without rows"],
      ["/api/export", HEADER + ROW, "not later"],
      ["/api/export?cursor=%1b[2J", HEADER + ROW, "not later"],
      ["/elsewhere?cursor=2026-01-02T21:00:00Z", HEADER + ROW, "at another address"],
      ["/api/export?cursor=9999-01-01", HEADER + ROW, "after the end"],
      ["/api/export?cursor=2026-01-02T20:59:59Z", HEADER + ROW, "not of the sessions"],
    ] as const) {
      const found = await exported((_req, res) => res.writeHead(200, link(target)).end(body));
      expect(found.err, target).toContain(reason);
    }
  });

  it.each([
    ["date,asOf,\u001b[2J\r\n", "other columns"],
    ["date,asOf,=1+1\r\n", "other columns"],
    ["date,symbol\r\n", "other columns"],
    [`${HEADER}2026-01-02,\u009b2J,2026-01-02T21:00:00.000Z\r\n`, "a row that"],
    [`${HEADER}2026-01-02,"A\r\nB",2026-01-02T21:00:00.000Z\r\n`, "a row that"],
    ["date,asOf,score\r\n2026-01-02,2026-01-02T21:00:00.000Z,=1+1\r\n", "a row that"],
    [`${HEADER}2026-01-02,AAA\r\n`, "a row that"],
    [`${HEADER}2026-01-02,AAA,never\r\n`, "not of the sessions"],
    [`${HEADER}${ROW}2026`, "not whole"],
  ])("is left at a page that is none: %j", async (page, reason) => {
    const { code, err } = await exported((_req, res) => void res.end(page));
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(reason) });
  });

  it("puts no formula of a service into the file, and writes through no link", async () => {
    const folder = temporaryFolder();
    const page = `${HEADER.trim()},newer\r\n${ROW.trim()},"=cmd|'/c calc'!A1"\r\n`;
    const base = await serveForTest(asCsv((_req, res) => void res.end(page)));
    writeFileSync(join(folder, "mine"), "mine");
    for (const ending of ["pages", "pages.state.new"]) {
      symlinkSync("mine", join(folder, `a.csv.${ending}`));
    }
    const file = join(folder, "a.csv");
    const { code } = await run(folder, "export", file, "--url", base, "--token", "env:TOKEN");
    expect(code).toBe(0);
    expect(readFileSync(file, "utf8")).toBe(
      `${HEADER.trim()},newer\r\n${ROW.trim()},'=cmd|'/c calc'!A1\r\n`,
    );
    expect(readFileSync(join(folder, "mine"), "utf8")).toBe("mine");
  });

  it("continues no download that it did not begin", async () => {
    const folder = temporaryFolder();
    const asked: string[] = [];
    const base = await serveForTest(
      asCsv(({ url = "" }, res) => {
        asked.push(url);
        res.end(HEADER + ROW);
      }),
    );
    const file = join(folder, "a.csv");
    const state = `${file}.pages.state`;
    const exportAgain = () => run(folder, "export", file, "--url", base, "--token", "env:TOKEN");
    const first = `${base}/api/export?assetClass=stock`;
    const good = { first, next: `${first}&cursor=2026-01-01`, header: HEADER, bytes: 9, rows: 1 };
    writeFileSync(`${file}.pages`, HEADER);
    for (const [planted, reason] of [
      ["no JSON", "is no state of an export"],
      [{ ...good, next: null }, "is no state of an export"],
      [{ ...good, bytes: -1 }, "is no state of an export"],
      [{ ...good, rows: "1" }, "is no state of an export"],
      [{ ...good, more: 1 }, "is no state of an export"],
      [{ ...good, header: "a".repeat(1024 * 1024) }, "more than 1048576 bytes"],
      [{ ...good, next: `${first}&to=2026-01-01` }, "is of another export"],
      [{ ...good, next: "https://b.example/api/export" }, "is of another export"],
      [{ ...good, next: "nowhere" }, "is of another export"],
      [{ ...good, bytes: HEADER.length + 1 }, "is not what"],
    ] as const) {
      writeFileSync(state, typeof planted === "string" ? planted : JSON.stringify(planted));
      const { code, err } = await exportAgain();
      expect({ code, err }, reason).toEqual({ code: 1, err: expect.stringContaining(reason) });
      rmSync(state);
    }
    for (const plant of [
      () => execFileSync("mkfifo", [state]),
      () => symlinkSync("/dev/zero", state),
    ]) {
      plant();
      expect(await exportAgain()).toMatchObject({ err: expect.stringContaining("no plain file") });
      rmSync(state);
    }
    expect(asked).toEqual([]);
    expect(readFileSync(`${file}.pages`, "utf8")).toBe(HEADER);
  });

  it("gets the token for no other origin", async () => {
    const asked: unknown[] = [];
    const other = await serveForTest(({ headers }, res) => {
      asked.push(headers);
      res.end(HEADER);
    });
    for (const headers of [link(`${other}/api/export?cursor=2027-01-01T00:00:00Z`)]) {
      const { err } = await exported((_req, res) => res.writeHead(200, headers).end(HEADER + ROW));
      expect(err).toContain("at another address, which is not asked");
    }
    const { err } = await exported((_req, res) => res.writeHead(302, { location: other }).end());
    expect(err).toContain("redirects, which is not followed");
    expect(asked).toEqual([]);
  });

  it("is left at --max-gb", async () => {
    const folder = temporaryFolder();
    let day = 0;
    const base = await serveForTest(
      asCsv((_req, res) => {
        day += 1;
        const date = `2026-01-0${day}`;
        const headers = link(`/api/export?cursor=${date}T22:00:00Z`);
        res.writeHead(200, headers).end(HEADER + rowOf(date).repeat(100));
      }),
    );
    const { code, err } = await run(
      folder,
      "export",
      "a.csv",
      "--url",
      base,
      "--max-gb",
      "0.00001",
    );
    expect({ code, err, day }).toEqual({
      code: 1,
      err: expect.stringContaining("0.00001 GB"),
      day: 3,
    });
  });
});

describe("a peer that redirects", () => {
  it("leads no command to another address", async () => {
    const folder = temporaryFolder();
    let reached = 0;
    const inside = await serveForTest((_req, res) => {
      reached += 1;
      res.end("{}");
    });
    const base = await serveForTest(({ url }, res) =>
      res.writeHead(307, { location: inside + url }).end(),
    );
    const redirects = expect.stringContaining("redirects, which is not followed");
    expect(await run(folder, "verify", base)).toMatchObject({ code: 1, err: redirects });
    const copy = await run(folder, "log", "download", base, "copy");
    expect(copy).toMatchObject({ code: 1, err: redirects });
    const keys = await run(folder, "listen", "--port", "0", "--keys", base);
    expect(keys).toMatchObject({ code: 1, err: expect.stringContaining("no keys at") });
    // The address of a witness, which a verifier asks on its own.
    const log = await serveLog({});
    const witness = "x1+e472bc4e+BGKzmqQVnH9ky74wRdjBeDtAF9XFNuXzXTciotUzPA2Z";
    writeFileSync(join(folder, "policy"), `witness w ${witness} ${base}\nquorum w\n`);
    const verified = await run(folder, "verify", log, "--policy", "policy");
    expect(verified.out).toMatch(/^not proved {2}witnesses/m);
    expect(reached).toBe(0);
  });
});
