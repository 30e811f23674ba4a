export interface ConfigFault {
  readonly variable: string;
  /** What is wrong, and what would be right. Never the value of a secret. */
  readonly message: string;
}

/** Lists every invalid variable at once, so that one start shows them all. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly faults: readonly ConfigFault[]) {
    const lines = faults.map(({ variable, message }) => `  ${variable}: ${message}`);
    super(`the environment is not right:\n${lines.join('\n')}`);
  }
}
