export type { Config, InstallKey, InstallKeys } from './config.js';
export { ConfigError, parseInstallKeys } from './config.js';
export { parseConfig } from './parse-config.js';
export { readEnvironment } from './read-environment.js';
