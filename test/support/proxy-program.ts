import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { request as requestPlain } from "node:http";
import { type RequestOptions, request } from "node:https";
import { join } from "node:path";
import { type Certificate, createCertificate } from "./certificate.ts";
import { atFileEnd } from "./file-end.ts";
import { freePort } from "./free-port.ts";
import { temporaryFolder } from "./process.ts";

const DEPLOY = new URL("../../deploy/", import.meta.url);

/** Debian installs nginx where only root has a search path. */
const PATH = `${process.env.PATH}:/usr/sbin`;

/** Whether a program is installed. */
export const isInstalled = (program: string): boolean =>
  spawnSync(program, ["-v"], { env: { PATH } }).error === undefined;

/** A proxy program in front of one process of the service. */
interface ProxyPlan {
  /** Port of the service; a second process of the configuration is absent. */
  readonly inner: string;
  /** Port of the proxy for https. */
  readonly port: string;
  /** Changes the text of the configuration further. */
  readonly change?: (text: string) => string;
}

/** The response of a request through a proxy. */
interface ProxiedAnswer {
  readonly status: number;
  /** Values of a header field, one for each line. */
  readonly all: (name: string) => readonly string[];
  readonly body: string;
}

/** A running proxy program. */
export class ProxyProgram {
  readonly #ports: { readonly plain: string; readonly tls: string };
  readonly certificate: Certificate;

  constructor(ports: { readonly plain: string; readonly tls: string }, certificate: Certificate) {
    this.#ports = ports;
    this.certificate = certificate;
  }

  /** Sends a request by https. */
  async ask(path: string, { body, ...options }: RequestOptions & { readonly body?: string } = {}) {
    const { cert: ca } = this.certificate;
    const place = { host: "127.0.0.1", servername: "localhost", port: this.#ports.tls, path, ca };
    const headers = { host: `localhost:${this.#ports.tls}`, ...(options.headers as object) };
    const sent = request({ ...place, agent: false, ...options, headers });
    return answerOf(sent.end(body));
  }

  /** Sends a request by http. */
  askPlain(path: string) {
    const headers = { host: "localhost" };
    const place = { host: "127.0.0.1", port: this.#ports.plain, path, agent: false, headers };
    return answerOf(requestPlain(place).end());
  }

  /** Opens a response that does not end, and returns its beginning. */
  async beginningOf(path: string, headers: Readonly<Record<string, string>>): Promise<string> {
    const { beginning, close } = await this.open(path, { headers });
    close();
    return beginning;
  }

  /** Opens a response that does not end. */
  async open(path: string, options: RequestOptions) {
    const { cert: ca } = this.certificate;
    const place = { host: "127.0.0.1", servername: "localhost", port: this.#ports.tls, path, ca };
    const headers = { host: "localhost", ...(options.headers as object) };
    const sent = request({ ...place, agent: false, ...options, headers });
    const [response] = await once(sent.end(), "response");
    const [first] = await once(response, "data");
    return { beginning: String(first), close: () => void sent.destroy() };
  }
}

async function answerOf(sent: ReturnType<typeof request>): Promise<ProxiedAnswer> {
  const [response] = await once(sent, "response");
  let body = "";
  for await (const chunk of response) body += chunk;
  const lines: readonly string[] = response.rawHeaders;
  const all = (name: string) =>
    lines.filter((_, at) => at % 2 === 1 && lines[at - 1]?.toLowerCase() === name);
  return { status: response.statusCode, all, body };
}

/** Starts nginx with deploy/nginx.conf; it stops after the last test of the file. */
export async function startNginx(plan: ProxyPlan): Promise<ProxyProgram> {
  const { folder, plain, certificate } = await prepare();
  const text = readFileSync(new URL("nginx.conf", DEPLOY), "utf8")
    .replaceAll(/^ *listen \[::\].*\n/gm, "")
    .replace("listen 80;", `listen 127.0.0.1:${plain};`)
    .replace("listen 443", `listen 127.0.0.1:${plan.port}`)
    .replaceAll("/etc/nginx/tls", folder)
    .replace("server first:3000", `server 127.0.0.1:${plan.inner}`)
    .replace("server second:3000", `server 127.0.0.1:${await freePort()}`);
  writeFileSync(join(folder, "site.conf"), plan.change?.(text) ?? text);
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  const main = `daemon off; pid ${folder}/pid; error_log stderr; events {}
    http { access_log off; ${temporary.join(" ")} include ${folder}/site.conf; }`;
  writeFileSync(join(folder, "main.conf"), main);
  const words = ["-e", "stderr", "-p", folder, "-c", join(folder, "main.conf")];
  return running(new ProxyProgram({ plain, tls: plan.port }, certificate), "nginx", words, folder);
}

/** Starts Caddy with deploy/Caddyfile; it stops after the last test of the file. */
export async function startCaddy(plan: ProxyPlan): Promise<ProxyProgram> {
  const { folder, plain, certificate } = await prepare();
  const text = readFileSync(new URL("Caddyfile", DEPLOY), "utf8")
    .replace(
      /^signals\.example \{$/m,
      `localhost {\n tls ${folder}/fullchain.pem ${folder}/privkey.pem`,
    )
    .replace("127.0.0.1:3000", `127.0.0.1:${plan.inner}`)
    .replace("127.0.0.1:3001", `127.0.0.1:${await freePort()}`);
  // Without a grace period, Caddy takes half a minute to stop.
  const main = `{\n admin off\n grace_period 1ms\n http_port ${plain}\n https_port ${plan.port}\n}\n`;
  writeFileSync(join(folder, "Caddyfile"), main + (plan.change?.(text) ?? text));
  const words = ["run", "--config", join(folder, "Caddyfile"), "--adapter", "caddyfile"];
  return running(new ProxyProgram({ plain, tls: plan.port }, certificate), "caddy", words, folder);
}

/** Creates a folder with a certificate for `localhost`, which the users of both programs can read. */
async function prepare() {
  const folder = temporaryFolder();
  chmodSync(folder, 0o755);
  const certificate = createCertificate("localhost");
  writeFileSync(join(folder, "fullchain.pem"), certificate.cert);
  writeFileSync(join(folder, "privkey.pem"), certificate.key);
  return { folder, plain: await freePort(), certificate };
}

/** @throws {Error} With what the program wrote, if it ends before it answers. */
async function running(
  proxy: ProxyProgram,
  program: string,
  words: readonly string[],
  HOME: string,
): Promise<ProxyProgram> {
  const child: ChildProcess = spawn(program, words, {
    env: { PATH, HOME },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said += chunk;
  });
  const ended = once(child, "exit");
  atFileEnd(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  const failed = ended.then(() => Promise.reject(new Error(`${program} ended: ${said}`)));
  failed.catch(() => {});
  await Promise.race([untilServed(proxy), failed]);
  return proxy;
}

async function untilServed(proxy: ProxyProgram): Promise<void> {
  for (;;) {
    const { status } = await proxy.ask("/livez").catch(() => ({ status: 0 }));
    if (status === 200) return;
  }
}
