/** Oldest Node that runs TypeScript as it is and has the built-in SQLite. */
const REQUIRED = [22, 18];

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const isNewEnough = major > REQUIRED[0] || (major === REQUIRED[0] && minor >= REQUIRED[1]);

if (isNewEnough) {
  await import("./main.ts");
} else {
  process.stderr.write(
    `This service needs Node ${REQUIRED.join(".")} or newer; this is Node ${process.versions.node}.\n` +
      "npm ci installs a fitting one on Linux, Windows and Intel Macs, and npm start uses it.\n" +
      "Elsewhere install Node 24 from https://nodejs.org first.\n",
  );
  process.exitCode = 1;
}
