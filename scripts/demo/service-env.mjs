/** What of the caller's settings reaches the demo's service: the model it may use, and where programs run. */
const KEPT = /^SERVICE_(LLM_\w+|SANDBOX|LOG_LEVEL)$/;
/** Other service settings are left out: the demo must not touch the user's database, store or keys. */
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
