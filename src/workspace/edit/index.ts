export { insertStep, type NewStep } from './insert-step.js';
export { regroup } from './regroup.js';
export { removeStep } from './remove-step.js';
export { setAgent } from './set-agent.js';
export { setInstruction } from './set-instruction.js';
export { setKeys } from './set-keys.js';
export { setOptions } from './set-options.js';
export { setTrigger } from './set-trigger.js';
export type { Edited } from './splice.js';
