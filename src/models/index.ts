export { createModels, type ModelsDeps } from './create-models.js';
export { inputTokens } from './pricing/believe-usage.js';
export { exampleOf } from './scripted/example-of.js';
export { parseScript, type ScriptTurn } from './scripted/script-file.js';
