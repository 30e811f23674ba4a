import { readSshKey } from '../ssh-key.js';
import { firstFault, lineFault, textFault } from './faults.js';
import type { ShapeRules } from './shape.js';

export const ssh: ShapeRules<'ssh'> = {
  fault: async (value) => {
    const { private_key, passphrase, known_hosts } = value;
    const fault = firstFault(
      textFault('ssh.private_key', private_key),
      passphrase === undefined ? null : lineFault('ssh.passphrase', passphrase),
      known_hosts === undefined ? null : textFault('ssh.known_hosts', known_hosts),
    );
    if (fault !== null) return fault;
    const key = await readSshKey(value);
    return typeof key === 'string' ? key : null;
  },
  hidden: ({ private_key, passphrase }) => [private_key, passphrase].filter((text) => text !== undefined),
};
