/** Loaded before a program of the service (`node --import`), in words that an old Node reads too. */

/** Oldest Node of each line that runs TypeScript as it is; every line from 24 on does. */
const OLDEST_MINOR = { 22: 18, 23: 6 };

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < 24 && minor < (OLDEST_MINOR[major] ?? Number.POSITIVE_INFINITY)) {
  process.stderr.write(
    `This service needs Node 22.18 or newer; this is Node ${process.versions.node}.\n` +
      "npm ci installs a fitting one on Linux, Windows and Intel Macs, and npm start uses it.\n" +
      "Elsewhere install Node 24 from https://nodejs.org first.\n",
  );
  process.exit(1);
}
