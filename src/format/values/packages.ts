/** The client that installs a package: the word before the colon in `pip:requests`. */
export type PackageManager = 'pip' | 'npm';

export interface PackageWish {
  /** Null when the name does not show it: then the runtime's only interpreter decides. */
  readonly manager: PackageManager | null;
  /** The argument for the client; never an option, a path or a URL. */
  readonly spec: string;
}

/** A distribution, extras, and versions: `requests`, `uvicorn[standard]==0.30.*`, `pandas>=2,<3`. */
const PIP =
  /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?(?:\[[A-Za-z0-9._-]+(?:,[A-Za-z0-9._-]+)*\])?(?:(?:===?|~=|!=|[<>]=?)[A-Za-z0-9.*+!_-]+(?:,(?:===?|~=|!=|[<>]=?)[A-Za-z0-9.*+!_-]+)*)?$/;
/** A package and one version, range or tag: `left-pad`, `@scope/name@^1.2.0`, `name@next`. */
const NPM = /^(?:@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*(?:@(?:[~^]|[<>]=?)?[A-Za-z0-9][A-Za-z0-9.+-]*)?$/;
const MAX_LENGTH = 200;

/** A package as `runtime: { packages: […] }` names it; null for an invalid package name. */
export function parsePackage(text: string): PackageWish | null {
  const [, prefix, rest = ''] = /^(?:(pip|npm):)?(.*)$/s.exec(text) ?? [];
  if (rest === '' || rest.length > MAX_LENGTH || rest.startsWith('-')) return null;
  const fits = { pip: PIP.test(rest), npm: NPM.test(rest) };
  if (prefix === 'pip' || prefix === 'npm') return fits[prefix] ? { manager: prefix, spec: rest } : null;
  if (fits.pip && fits.npm) return { manager: null, spec: rest };
  if (fits.pip) return { manager: 'pip', spec: rest };
  return fits.npm ? { manager: 'npm', spec: rest } : null;
}

/** An interpreter's version, complete or a prefix: `3`, `3.12`, `22.11.0`. */
export function isInterpreterVersion(text: string): boolean {
  return /^\d{1,3}(\.\d{1,3}){0,2}$/.test(text);
}
