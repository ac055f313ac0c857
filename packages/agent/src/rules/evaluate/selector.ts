// Selectors: the left side of a condition and the names in message placeholders, compiled to functions.
import { defaultEnvironment, type ToolCall, type View } from './call.ts';

/** Gives the selected value; undefined (or null) is missing. */
export type Getter = (view: View) => unknown;

/** A custom selector: `<prefix>.x.y` walks the mapping it gives for a call. */
export type CustomSelector = (call: ToolCall) => unknown;

/** Prefixes that custom selectors cannot take. */
export const builtInPrefixes: ReadonlySet<string> = new Set([
  ...['environment', 'tool', 'args', 'principal', 'output', 'result', 'env', 'metadata'],
]);

/** Fields of a principal; `claims` holds further ones. */
export const principalFields: ReadonlySet<string> = new Set([
  'user_id',
  'service_id',
  'org_id',
  'role',
  'ticket_ref',
]);
const missing: Getter = () => undefined;
/** @throws Error for a result that cannot be read, so that the contract fires */
const outputText: Getter = ({ outputText: { text, isReadable } }) => {
  if (!isReadable) throw new Error('the content of the result cannot be read');
  return text;
};

/** Compiles a selector. One that nothing answers to is always missing. */
export function compileSelector(
  selector: string,
  custom: Readonly<Record<string, CustomSelector>> = {},
): Getter {
  if (selector === 'environment') return ({ call }) => call.environment ?? defaultEnvironment;
  const dot = selector.indexOf('.');
  if (dot < 0) return missing;
  const prefix = selector.slice(0, dot);
  const rest = selector.slice(dot + 1);
  const path = rest.split('.');
  switch (prefix) {
    case 'tool':
      return rest === 'name' ? ({ call }) => call.tool : missing;
    case 'args':
      return ({ call }) => walk(call.args, path);
    case 'metadata':
      return ({ call }) => walk(call.metadata, path);
    case 'principal':
      if (principalFields.has(rest)) return ({ call }) => walk(call.principal, path);
      return path[0] === 'claims' && path.length > 1 ? ({ call }) => walk(call.principal, path) : missing;
    case 'output':
      return rest === 'text' ? outputText : missing;
    case 'result':
      return (view) => walk(view.output, path);
    case 'env':
      return (view) => coerce(view.env(rest));
    default: {
      const resolve = Object.hasOwn(custom, prefix) ? custom[prefix] : undefined;
      return resolve ? ({ call }) => walk(resolve(call), path) : missing;
    }
  }
}

/** Follows own keys through nested mappings; a list, a missing key or anything else ends the way. */
function walk(from: unknown, path: readonly string[]): unknown {
  let at = from;
  for (const key of path) {
    if (at === null || typeof at !== 'object' || Array.isArray(at)) return undefined;
    if (at instanceof Map) at = at.get(key);
    else if (Object.hasOwn(at, key)) at = (at as Record<string, unknown>)[key];
    else return undefined;
  }
  return at;
}

/** The value of a variable of the environment, as conditions compare it. */
export function coerce(text: string | undefined): boolean | number | string | undefined {
  if (text === undefined) return undefined;
  const word = text.toLowerCase();
  if (word === 'true') return true;
  if (word === 'false') return false;
  const number =
    text.length <= 100 && /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)
      ? Number(text)
      : Number.NaN;
  return Number.isFinite(number) ? number : text;
}
