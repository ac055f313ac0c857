// From the route tables to the route of a request. Knows paths and methods only.

import { HubError } from '../shared/error.ts';
import type { ApiFamily, Method, RouteDeclaration, RouteTable } from './contract/route.ts';

export interface Route {
  /** The operation's name. */
  readonly name: string;
  readonly declaration: RouteDeclaration;
  /** Names of its parameters, in path order. */
  readonly parameters: readonly string[];
}

export interface Match {
  readonly route: Route;
  /** Decoded exactly once. */
  readonly params: { readonly [name: string]: string };
}

/** A tail `{key+}`, with the fixed segments that may follow it. */
interface Tail {
  readonly suffix: readonly string[];
  readonly methods: Map<string, Route>;
}

interface Place {
  readonly fixed: Map<string, Place>;
  parameter: Place | null;
  /** Longest suffix first. */
  readonly tails: Tail[];
  readonly methods: Map<string, Route>;
}

const place = (): Place => ({ fixed: new Map(), parameter: null, tails: [], methods: new Map() });
const parameterPattern = /^\{([a-z_]+)(\+?)\}$/;

export interface Router {
  readonly routes: readonly Route[];
  /**
   * The route of a path and method. If the path has routes but not this method, the list of allowed methods. If the
   * path has no route, null. A fixed segment wins over a parameter, a parameter over a tail. Nothing is normalised:
   * `..` is a name like any other.
   * @throws HubError bad_request for a bad escape or `%00` in a parameter
   */
  match(method: string, path: string): Match | readonly Method[] | null;
}

/** Tells of each path which API it belongs to, whether or not it has a route: the one with the longest prefix. */
export function families(all: readonly ApiFamily[]): (path: string) => ApiFamily {
  const byLength = all
    .map((family) => ({ family, prefix: family.prefix, below: `${family.prefix}/` }))
    .sort((a, b) => b.prefix.length - a.prefix.length);
  const last = byLength.at(-1);
  if (!last) throw new Error('there is no API to serve');
  return (path) => {
    for (const { family, prefix, below } of byLength)
      if (path === prefix || path.startsWith(below)) return family;
    return last.family;
  };
}

/** @throws Error when two routes share a name or a path and method, or a path is malformed */
export function createRouter(tables: readonly RouteTable[]): Router {
  const root = place();
  const routes: Route[] = [];
  const names = new Set<string>();
  /** Routes without a parameter by path and method, which every request of them would have to be walked to. */
  const fixed = new Map<string, Map<string, Match>>();
  for (const table of tables) {
    for (const [name, declaration] of Object.entries(table)) {
      if (names.has(name)) throw new Error(`two routes are named ${name}`);
      names.add(name);
      const route = add(root, name, declaration);
      routes.push(route);
      if (declaration.path.includes('{')) continue;
      const methods = fixed.get(declaration.path) ?? new Map<string, Match>();
      fixed.set(declaration.path, methods.set(declaration.method, { route, params: {} }));
    }
  }
  return {
    routes,
    match(method, path) {
      // A fixed segment wins over a parameter, so nothing else can be the route of this path.
      const methodRoute = fixed.get(path)?.get(method);
      if (methodRoute) return methodRoute;
      const segments = path.split('/');
      if (segments[0] !== '' || segments.length > 64) return null;
      const allowed = new Set<string>();
      const values: string[] = [];
      const route = find(root, segments, 1, method, values, allowed);
      if (!route) return allowed.size === 0 ? null : ([...allowed].sort() as Method[]);
      return { route, params: decodeAll(route.parameters, values) };
    },
  };
}

function add(root: Place, name: string, declaration: RouteDeclaration): Route {
  const segments = declaration.path.split('/').slice(1);
  const parameters: string[] = [];
  let at = root;
  let methods: Map<string, Route> | null = null;
  for (const [i, segment] of segments.entries()) {
    const parameter = parameterPattern.exec(segment);
    if (!parameter) {
      if (/[{}]/.test(segment)) throw new Error(`${name}: malformed path ${declaration.path}`);
      const next = at.fixed.get(segment) ?? place();
      at.fixed.set(segment, next);
      at = next;
      continue;
    }
    parameters.push(parameter[1] ?? '');
    if (parameter[2] === '') {
      at.parameter ??= place();
      at = at.parameter;
      continue;
    }
    const suffix = segments.slice(i + 1);
    if (suffix.some((s) => s.includes('{')))
      throw new Error(`${name}: only fixed segments may follow a tail`);
    let tail = at.tails.find((t) => t.suffix.join('/') === suffix.join('/'));
    if (!tail) {
      tail = { suffix, methods: new Map() };
      at.tails.push(tail);
      at.tails.sort((a, b) => b.suffix.length - a.suffix.length);
    }
    methods = tail.methods;
    break;
  }
  methods ??= at.methods;
  if (methods.has(declaration.method)) {
    throw new Error(`${name}: ${declaration.method} ${declaration.path} is declared twice`);
  }
  const route: Route = { name, declaration, parameters };
  methods.set(declaration.method, route);
  return route;
}

/**
 * Looks for the method along fixed segments first; on the way gathers the methods of every place that fits the path.
 */
function find(
  at: Place,
  segments: readonly string[],
  i: number,
  method: string,
  values: string[],
  allowed: Set<string>,
): Route | null {
  const pick = (methods: Map<string, Route>): Route | null => {
    for (const knownMethod of methods.keys()) allowed.add(knownMethod);
    return methods.get(method) ?? null;
  };
  const segment = segments[i];
  if (segment === undefined) return pick(at.methods);
  const fixed = at.fixed.get(segment);
  const fixedMatch = fixed ? find(fixed, segments, i + 1, method, values, allowed) : null;
  if (fixedMatch) return fixedMatch;
  if (at.parameter && segment !== '') {
    values.push(segment);
    const deeper = find(at.parameter, segments, i + 1, method, values, allowed);
    if (deeper) return deeper;
    values.pop();
  }
  for (const tail of at.tails) {
    const end = segments.length - tail.suffix.length;
    if (end <= i || !tail.suffix.every((s, n) => segments[end + n] === s)) continue;
    const rest = segments.slice(i, end).join('/');
    const route = rest === '' ? null : pick(tail.methods);
    if (!route) continue;
    values.push(rest);
    return route;
  }
  return null;
}

function decodeAll(names: readonly string[], values: readonly string[]): { [name: string]: string } {
  const params: { [name: string]: string } = {};
  for (const [i, name] of names.entries()) {
    const raw = values[i] ?? '';
    let value: string;
    try {
      value = raw.includes('%') ? decodeURIComponent(raw) : raw;
    } catch {
      throw new HubError(
        'bad_request',
        'The path contains a percent escape that is not valid UTF-8. Encode it again.',
      );
    }
    if (value.includes('\u0000'))
      throw new HubError('bad_request', 'The path contains a NUL character. Remove it.');
    params[name] = value;
  }
  return params;
}
