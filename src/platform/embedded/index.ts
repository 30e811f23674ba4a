export { makeDataFolder } from './data-folder.js';
export { type FoundServers, findServers } from './find-servers.js';
export { freePort } from './free-port.js';
export { type Embedded, type EmbeddedOptions, startEmbedded } from './start-embedded.js';
export { StartError } from './start-error.js';
