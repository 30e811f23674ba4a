export type { Config, InstallKey, InstallKeys } from './config.js';
export { ConfigError } from './config-error.js';
export { parseInstallKeys } from './install-keys.js';
export { parseConfig } from './parse-config.js';
export { readEnvironment } from './read-environment.js';
