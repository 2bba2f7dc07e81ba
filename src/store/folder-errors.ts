/** What to do when a folder cannot be written, by the error code of the system. */
const REASONS: Readonly<Record<string, string>> = {
  EROFS: "its file system is read-only",
  ENOSPC: "its disk is full",
  EDQUOT: "its disk quota is used up",
};

/** Error codes that end once there is space. */
const FULL: readonly (string | undefined)[] = ["ENOSPC", "EDQUOT"];

/**
 * The error, for the operator, when the data folder cannot be written; it names the folder and says
 * what to do.
 *
 * @param error The error of the system.
 */
export function folderNotWritableError(folder: string, error: unknown): Error {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const remedy = FULL.includes(code) ? "free space there" : "let this user write there";
  return new Error(
    `${folder} cannot be written (${REASONS[code] ?? message}); ${remedy}, or set DATA_DIR to another folder`,
  );
}
