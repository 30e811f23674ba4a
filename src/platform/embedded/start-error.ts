/** A start that failed. The message is one sentence that says what to do; people see nothing else. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Another program took the port between our check and the server's start: try another port. */
export class PortTaken extends StartError {}

const SENTENCES: Readonly<Record<string, (path: string) => string>> = {
  ENOSPC: (path) =>
    `The disk that holds ${path} is full: free some space, or set SERVICE_DATA_DIR to a folder on another disk.`,
  EDQUOT: (path) => `The quota for ${path} is used up: free some space, or set SERVICE_DATA_DIR to another folder.`,
  EACCES: (path) =>
    `${path} cannot be written: give this user the right to write there, or set SERVICE_DATA_DIR to another folder.`,
  EPERM: (path) =>
    `${path} cannot be written: give this user the right to write there, or set SERVICE_DATA_DIR to another folder.`,
  EROFS: (path) => `${path} is on a read-only disk: set SERVICE_DATA_DIR to a folder that can be written.`,
  ENOTDIR: (path) => `${path} is, or lies in, a file: set SERVICE_DATA_DIR to a folder.`,
  EEXIST: (path) => `${path} is a file: set SERVICE_DATA_DIR to a folder.`,
};

/** A file system error as a sentence; other errors unchanged. */
export function explainFileError(error: unknown, path: string): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const sentence = SENTENCES[code];
  return sentence ? new StartError(sentence(path), { cause: error }) : error;
}
