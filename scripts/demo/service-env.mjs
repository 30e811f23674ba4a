/** What of the caller's settings reaches the demo's service: the model it may use, and where programs run. */
const KEPT = /^SERVICE_(LLM_\w+|SANDBOX|LOG_LEVEL)$/;
/** All else of a service's settings is left out: the demo must not touch a database, a store or a key of somebody's. */
const SETTINGS = /^(SERVICE_|TEMPORAL_|DATABASE_)/;

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {{ dataDir: string, port: number }} own
 * @returns {NodeJS.ProcessEnv}
 */
export function serviceEnv(env, { dataDir, port }) {
  const kept = Object.entries(env).filter(([name]) => KEPT.test(name) || !SETTINGS.test(name));
  return { ...Object.fromEntries(kept), SERVICE_DATA_DIR: dataDir, SERVICE_PORT: String(port) };
}
