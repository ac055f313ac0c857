// A slow interpreter of the rule language that works straight on a parsed bundle, to compare the compiled engine with.
// It follows the language's tables line by line, uses the native pattern engine, and shares no code with the product.
import { met } from './tally.ts';

export type Value = unknown;
export type Mapping = Record<string, Value>;
export interface ReferenceCall {
  tool: string;
  args: Mapping;
  environment?: string | null;
  principal?: Mapping | null;
  metadata?: Mapping | null;
}
export class TypeProblem extends Error {}

export const isMapping = (value: Value): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function lookUp(from: Value, path: string[]): Value {
  if (path.length === 0) return from;
  const [key, ...rest] = path as [string, ...string[]];
  if (!isMapping(from) || !Object.keys(from).includes(key)) return undefined;
  return lookUp(from[key], rest);
}

export function select(selector: string, call: ReferenceCall, output: Value): Value {
  if (selector === 'environment') return call.environment ?? 'production';
  if (selector === 'tool.name') return call.tool;
  if (selector === 'output.text') {
    if (output === undefined || output === null) return undefined;
    return typeof output === 'string' ? output : JSON.stringify(output);
  }
  const [head, ...path] = selector.split('.') as [string, ...string[]];
  if (path.length === 0) return undefined;
  if (head === 'args') return lookUp(call.args, path);
  if (head === 'metadata') return lookUp(call.metadata, path);
  if (head === 'result') return lookUp(output, path);
  if (head === 'principal') {
    if (
      path.length === 1 &&
      ['user_id', 'service_id', 'org_id', 'role', 'ticket_ref'].includes(path[0] ?? '')
    ) {
      return lookUp(call.principal, path);
    }
    if (path.length > 1 && path[0] === 'claims') return lookUp(call.principal, path);
  }
  return undefined;
}

function equal(a: Value, b: Value): boolean {
  const plain = (value: Value) => (typeof value === 'boolean' ? Number(value) : value);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, i) => equal(item, b[i]));
  if (isMapping(a) && isMapping(b)) {
    return (
      JSON.stringify(Object.keys(a).sort()) === JSON.stringify(Object.keys(b).sort()) &&
      Object.keys(a).every((key) => equal(a[key], b[key]))
    );
  }
  return plain(a) === plain(b);
}

function text(field: Value): string {
  if (typeof field !== 'string') throw new TypeProblem();
  return field;
}

function number(field: Value): number {
  if (typeof field === 'boolean') return field ? 1 : 0;
  if (typeof field !== 'number') throw new TypeProblem();
  return field;
}

function found(pattern: string, field: Value): boolean {
  const flags = pattern.startsWith('(?i)') ? 'i' : '';
  return new RegExp(pattern.replace(/^\(\?i\)/, ''), flags).test(text(field));
}

export function operate(operator: string, field: Value, operand: Value): boolean {
  const missing = field === undefined || field === null;
  if (operator === 'exists') return !missing === operand;
  if (missing) return false;
  const list = operand as Value[];
  if (operator === 'equals') return equal(field, operand);
  if (operator === 'not_equals') return !equal(field, operand);
  if (operator === 'in') return list.some((item) => equal(field, item));
  if (operator === 'not_in') return !list.some((item) => equal(field, item));
  if (operator === 'contains') return text(field).indexOf(operand as string) >= 0;
  if (operator === 'contains_any') return list.some((item) => text(field).indexOf(item as string) >= 0);
  if (operator === 'starts_with') return text(field).slice(0, (operand as string).length) === operand;
  if (operator === 'ends_with') return text(field).endsWith(operand as string);
  if (operator === 'matches') return found(operand as string, field);
  if (operator === 'matches_any') return list.some((item) => found(item as string, field));
  if (operator === 'gt') return number(field) > (operand as number);
  if (operator === 'gte') return number(field) >= (operand as number);
  if (operator === 'lt') return number(field) < (operand as number);
  if (operator === 'lte') return number(field) <= (operand as number);
  throw new Error(`unknown operator ${operator}`);
}

const typeOf = (value: Value): string =>
  value === undefined || value === null
    ? 'missing'
    : Array.isArray(value)
      ? 'list'
      : typeof value === 'number' && !Number.isInteger(value)
        ? 'float'
        : typeof value;

/** Tallies one result under a name, a type problem as `fault`. */
function noted(name: string, result: () => boolean): boolean {
  try {
    const answer = result();
    met(`${name}=${answer ? 'yes' : 'no'}`);
    return answer;
  } catch (error) {
    met(`${name}=fault`);
    throw error;
  }
}

export function holds(when: Value, call: ReferenceCall, output: Value): boolean {
  const node = when as Mapping;
  if ('all' in node) {
    return noted('node all', () => {
      for (const item of node.all as Value[]) if (!holds(item, call, output)) return false;
      return true;
    });
  }
  if ('any' in node) {
    return noted('node any', () => {
      for (const item of node.any as Value[]) if (holds(item, call, output)) return true;
      return false;
    });
  }
  if ('not' in node) return noted('node not', () => !holds(node.not, call, output));
  for (const [selector, tests] of Object.entries(node)) {
    for (const [operator, operand] of Object.entries(tests as Mapping)) {
      const field = select(selector, call, output);
      met(`selector ${selector}=${typeOf(field) === 'missing' ? 'missing' : 'found'}`);
      met(`field ${operator}:${typeOf(field)}`);
      if (!noted(`operator ${operator}`, () => operate(operator, field, operand))) return false;
    }
  }
  return true;
}

/** fnmatch by trying everything. */
export function fnmatch(pattern: string, name: string): boolean {
  if (pattern === '') return name === '';
  const set = /^\[(!?)(\]?[^\]]*)\]/.exec(pattern);
  if (pattern[0] === '*')
    return fnmatch(pattern.slice(1), name) || (name !== '' && fnmatch(pattern, name.slice(1)));
  if (name === '') return false;
  if (pattern[0] === '?') return fnmatch(pattern.slice(1), name.slice(1));
  if (set && set[2] !== '') {
    const members = set[2] as string;
    let inside = false;
    for (let i = 0; i < members.length; i++) {
      if (members[i + 1] === '-' && i + 2 < members.length) {
        if (
          (name[0] as string) >= (members[i] as string) &&
          (name[0] as string) <= (members[i + 2] as string)
        )
          inside = true;
        i += 2;
      } else if (members[i] === name[0]) inside = true;
    }
    return inside !== (set[1] === '!') && fnmatch(pattern.slice(set[0].length), name.slice(1));
  }
  return pattern[0] === name[0] && fnmatch(pattern.slice(1), name.slice(1));
}
