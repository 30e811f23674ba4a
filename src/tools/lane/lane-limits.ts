const MIB = 1_048_576;

/** Longer files of outputs/ or files/ are not stored. */
export const MAX_KEPT_FILE = 64 * MIB;
/** The maximum that one step may store, and that a rebuilt lane gets back. */
export const MAX_KEPT_TOTAL = 512 * MIB;
