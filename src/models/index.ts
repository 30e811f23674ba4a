export { createModels } from './create-models.js';
export { exampleOf } from './scripted/example-of.js';
export { parseScript } from './scripted/script-file.js';
