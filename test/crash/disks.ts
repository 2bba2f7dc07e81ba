import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A temporary folder that is removed when this process exits for any reason. */
export interface DiskPlace {
  readonly folder: string;
  /** Unmounts and removes the folder. */
  remove(): Promise<void>;
}

/** A file system that can be stopped as by a power failure. */
export interface CrashableDisk extends DiskPlace {
  /** Stops the file system immediately: data that was not synced to the disk is lost. */
  cut(): Promise<void>;
  /** Mounts the file system again; no process may have one of its files open. */
  restore(): Promise<void>;
}

/** The reason why this machine cannot mount a test file system. */
export interface MissingDisk {
  readonly missing: string;
}

/** Shell script that waits until its parent process exits, then unmounts and removes the folder. */
const JANITOR = `
  cat >/dev/null
  for _ in $(seq 100); do
    grep -qF " $1/disk " /proc/mounts || break
    umount "$1/disk" 2>/dev/null || sleep 0.05
  done
  grep -qF " $1/disk " /proc/mounts && umount -l "$1/disk"
  rm -rf "$1"
`;

/** Size of the ext4 image in bytes. The file is sparse, so it occupies only what is written. */
const IMAGE_BYTES = 512 * 1024 * 1024;

/** EXT4_IOC_SHUTDOWN of Linux (fs/ext4/ext4.h), _IOR('X', 125, __u32). */
const SHUTDOWN = "0x8004587D";

/** EXT4_GOING_FLAGS_NOLOGFLUSH: stops without even flushing the journal. */
const WITHOUT_FLUSH = "2";

/** Perl script for the ioctl: Node cannot call ioctl, and every Debian system has Perl. */
const CUT = `
  open(my $disk, "<", $ARGV[0]) or die "$!\\n";
  my $flags = pack("L", ${WITHOUT_FLUSH});
  ioctl($disk, ${SHUTDOWN}, $flags) or die "ioctl: $!\\n";
`;

/**
 * A small tmpfs, which is filled quickly.
 * @param kilobytes Its size, in units of 1,024 bytes.
 */
export function smallDisk(kilobytes: number): Promise<DiskPlace | MissingDisk> {
  return attempt(async (place) => {
    const options = ["-o", `size=${kilobytes}k,mode=700`];
    await run("mount", ["-t", "tmpfs", ...options, "tmpfs", place.folder]);
    return place;
  });
}

/** An ext4 file system in an image file. */
export function crashableDisk(): Promise<CrashableDisk | MissingDisk> {
  return attempt(async (place) => {
    const { folder } = place;
    const image = join(folder, "../image");
    const mount = async () => void (await run("mount", ["-o", "loop", image, folder]));
    const cut = async () => void (await run("perl", ["-e", CUT, folder]));
    const restore = async () => {
      await run("umount", [folder]);
      await mount();
    };
    await writeFile(image, "");
    await truncate(image, IMAGE_BYTES);
    await run("mkfs.ext4", ["-q", "-F", image]);
    await mount();
    await cut();
    await restore();
    return { ...place, cut, restore };
  });
}

async function attempt<D extends DiskPlace>(
  make: (place: DiskPlace) => Promise<D>,
): Promise<D | MissingDisk> {
  if (process.platform !== "linux") return { missing: "mounts of one's own need Linux" };
  if (process.getuid?.() !== 0) return { missing: "mounting needs root" };
  const place = await temporaryPlace();
  try {
    return await make(place);
  } catch (error) {
    await place.remove();
    return { missing: reasonOf(error) };
  }
}

/** Describes a failed command by its standard error. */
function reasonOf(error: unknown): string {
  const { cmd, stderr } = error as { readonly cmd?: string; readonly stderr?: string };
  return cmd === undefined ? String(error) : `${cmd.split(" ", 1)}: ${stderr?.trim()}`;
}

/** Creates an empty temporary folder. */
export async function temporaryPlace(): Promise<DiskPlace> {
  const place = await mkdtemp(join(tmpdir(), "crash-"));
  const folder = join(place, "disk");
  await mkdir(folder);
  const janitor = spawn("sh", ["-c", JANITOR, "janitor", place], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const gone = once(janitor, "exit");
  janitor.unref();
  return {
    folder,
    async remove() {
      janitor.ref();
      janitor.stdin.end();
      await gone;
    },
  };
}
