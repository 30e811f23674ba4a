import { errorMessage, Refusal } from './refusal.js';

/** The disk or the object store cannot be read or written now: the caller may retry. */
export class StorageUnavailable extends Refusal {
  constructor(cause: unknown) {
    super('unavailable', 'the storage does not answer, and nothing was changed: try again in a moment', {
      code: 'storage-unavailable',
      retryAfter: 5,
    });
    this.cause = cause;
  }
}

// 53100 is Postgres's "disk full": https://www.postgresql.org/docs/18/errcodes-appendix.html
const CODES = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'ENODEV', 'ESTALE', 'ENOTDIR', 'EACCES', 'EPERM', '53100']);
/** System calls that do not access files. */
const OTHERS = /^(connect|spawn)/;
/** The same errors in the output of a child process. */
const TEXTS = /no space left on device|disk quota exceeded|read-only file system/i;

/** Turns the error of a full, missing or read-only disk into a refusal that callers can read; returns others unchanged. */
export function toStorageError(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const { code = '', syscall = '' } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  const isOfFiles = CODES.has(code) && !OTHERS.test(syscall);
  return isOfFiles || TEXTS.test(errorMessage(error)) ? new StorageUnavailable(error) : error;
}
