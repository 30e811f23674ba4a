import type { Shape, ShapeValues } from '../model.js';

/** What one shape is: one file an entry. */
export interface ShapeRules<S extends Shape> {
  /** A sentence on what is wrong with a value, which it never repeats; null when it is sound. */
  fault(value: ShapeValues[S]): string | null | Promise<string | null>;
  /** The texts in it that must appear nowhere. */
  hidden(value: ShapeValues[S]): readonly string[];
}
