/**
 * Loaded before any program of the service (`node --import`). Its syntax must be readable by old
 * versions of Node.js, too.
 */

import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";

/**
 * Minimum version of Node.js with everything that the service needs: TypeScript without
 * compilation, `node:sqlite`, and ML-DSA in `node:crypto`.
 */
const OLDEST = { major: 24, minor: 18 };

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < OLDEST.major || (major === OLDEST.major && minor < OLDEST.minor)) {
  const isInstalled = /[\\/]node_modules[\\/]/.test(fileURLToPath(import.meta.url));
  process.stderr.write(
    `This service needs Node ${OLDEST.major}.${OLDEST.minor} or newer; this is Node ${process.versions.node}.\n` +
      (isInstalled
        ? "Install the newest Node 24 from https://nodejs.org first.\n"
        : "npm ci installs a fitting one on Linux, Windows and Intel Macs, and npm start uses it.\n" +
          "Elsewhere install the newest Node 24 from https://nodejs.org first.\n"),
  );
  process.exit(1);
}

// Caches compiled code in node_modules, where only the user who installed the packages can write;
// if the folder is not writable, every start compiles the code again. With the cache, the service
// loads in half the time, and without the type stripper, which takes 18 MB (measured).
nodeModule.enableCompileCache(
  fileURLToPath(new URL("../../node_modules/.cache/compiled", import.meta.url)),
);

// Deletes aliases of globals that no code here uses. Node.js reads every export of a built-in
// module when an ES module imports it, and reading these exports loads undici: 13 MB and 40 ms
// (measured, Node 24).
const http = process.getBuiltinModule("node:http");
for (const name of ["CloseEvent", "MessageEvent", "WebSocket"]) delete http[name];
