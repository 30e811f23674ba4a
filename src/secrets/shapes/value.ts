import { firstFault, lineFault, shortFault } from './faults.js';
import type { ShapeRules } from './shape.js';

export const value: ShapeRules<'value'> = {
  fault: (text) => firstFault(lineFault('value', text), shortFault('value', text)),
  hidden: (text) => [text],
};
