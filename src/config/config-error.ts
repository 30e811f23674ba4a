export interface ConfigFault {
  readonly variable: string;
  /** What is wrong, and what would be right. Never the value of a secret. */
  readonly message: string;
}

/** Every bad variable at once, so that nobody has to start the service once for each. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly faults: readonly ConfigFault[]) {
    const lines = faults.map(({ variable, message }) => `  ${variable}: ${message}`);
    super(`the environment is not right:\n${lines.join('\n')}`);
  }
}
