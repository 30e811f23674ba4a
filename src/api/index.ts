export { createApp } from './app.js';
export { createLog } from './log.js';
export { serveApi } from './serve.js';
