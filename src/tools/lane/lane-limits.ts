const MIB = 1_048_576;

/** A file of outputs/ or files/ that is longer is left where it is. */
export const MAX_KEPT_FILE = 64 * MIB;
/** What one step may leave, and what a rebuilt lane gets back. */
export const MAX_KEPT_TOTAL = 512 * MIB;
