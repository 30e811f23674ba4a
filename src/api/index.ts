export { type App, createApp } from './app.js';
export { createLog } from './log.js';
export { type ApiServer, serveApi } from './serve.js';
