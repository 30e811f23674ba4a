import type { Config } from './config.js';
import type { Parse } from './reader.js';

/** `host` or `host:port`, with commas between; the host as a URL spells it, so that the two compare. */
export const parseAllowHosts: Parse<Config['allowHosts']> = (text) => {
  const hosts: Config['allowHosts'][number][] = [];
  for (const entry of text.split(',').map((part) => part.trim())) {
    if (entry === '') continue;
    const [, name = '', digits] = /^(\[[0-9a-f:.]+\]|[^\s/:@?#*%[\]]+)(?::(\d{1,5}))?$/i.exec(entry) ?? [];
    const port = digits === undefined ? null : Number(digits);
    if (!URL.canParse(`http://${name}`) || port === 0 || (port ?? 1) > 65_535)
      return {
        fault: `holds "${entry}" and must hold host or host:port, with commas between, such as crm.internal:8080`,
      };
    hosts.push({ host: new URL(`http://${name}`).hostname, port });
  }
  return { value: hosts };
};
