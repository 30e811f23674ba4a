import type { Shape, ShapeValues } from '../model.js';

/** The rules of one shape. Each shape has its own file. */
export interface ShapeRules<S extends Shape> {
  /** What is wrong with a value, as a sentence that never quotes it; null for a valid one. */
  fault(value: ShapeValues[S]): string | null | Promise<string | null>;
  /** The texts in it that must be redacted everywhere. */
  hidden(value: ShapeValues[S]): readonly string[];
}
