export { fillWith, renderPath } from './fill.js';
export { type Mark, readText } from './read-text.js';
