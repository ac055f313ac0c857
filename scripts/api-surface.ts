// The text of docs/api-surface.txt: a line per route of both APIs, from the declarations of routes. A change of a
// route shows there as one changed line. Keeps promise P46.

import { type Limit, type LimitSettings, limits, maxOf, windowOf } from '../src/admission/limit.ts';
import { defaultBody, type RouteDeclaration } from '../src/http/contract/route.ts';
import { statusOf } from '../src/http/problem.ts';
import { apiFamilies } from '../src/hub/api/families.ts';
import { errorsOf } from '../src/hub/api/openapi.ts';
import { readConfig } from '../src/hub/config.ts';
import { minuteMs } from '../src/shared/duration.ts';

const heading = `# Routes of the hub: method and path | auth | limits | status | errors
# Written by \`npm run api-surface\`; do not edit.
# Auth: accepted credentials, then the role that a person needs. Limits: requests in a window, with default settings
# ("some" if the handler counts only some of them, "each node" if nodes count apart), then bytes of the body.
# Errors: codes that the route declares; docs/errors.md explains each.
`;

const isStream = ({ media, method }: RouteDeclaration): boolean =>
  media === 'text/event-stream' && method === 'GET';

const numberText = (value: number): string => value.toLocaleString('en-US');

function limitText(limit: Limit, settings: LimitSettings): string {
  const minutes = windowOf(limit, settings) / minuteMs;
  const window = minutes === 1 ? 'min' : `${numberText(minutes)} min`;
  const extent = `${limit.byHandler ? ', some' : ''}${limit.perNode ? ', each node' : ''}`;
  return `${limit.name} ${numberText(maxOf(limit, settings))}/${window} per ${limit.per}${extent}`;
}

/** The limits of a route's class; src/admission/route-limits.ts applies them. */
function classLimits(route: RouteDeclaration): readonly Limit[] {
  switch (route.limit ?? (isStream(route) ? 'stream' : undefined)) {
    case 'none':
    case 'own':
      return [];
    case 'operator':
      return [limits.operatorTokens];
    case 'stream':
      return [limits.streams];
    case 'standard':
      return [route.auth.length > 0 ? limits.requests : limits.requestsOfNetwork];
    default:
      return route.auth.length > 0 ? [limits.requests] : [];
  }
}

function bodyText({ method, body, parse, bodyLimit = defaultBody }: RouteDeclaration): readonly string[] {
  if (method === 'GET' || (body === undefined && parse !== 'bytes')) return [];
  const kib = bodyLimit / 1024;
  return [`body ${kib % 1024 === 0 ? `${kib / 1024} MiB` : `${kib} KiB`}`];
}

function routeLine(route: RouteDeclaration, settings: LimitSettings): string {
  const auth = route.auth.length === 0 ? 'none' : route.auth.join(' ');
  const allLimits = [
    ...[...classLimits(route), ...(route.limits ?? [])].map((limit) => limitText(limit, settings)),
    ...(route.search ? ['search'] : []),
    ...bodyText(route),
  ];
  const errors = errorsOf(route).map((code) => `${statusOf[code]} ${code}`);
  return [
    `${route.method} ${route.path}`,
    route.role === undefined ? auth : `${auth}, ${route.role}`,
    allLimits.join('; ') || 'none',
    route.status,
    errors.sort().join(', ') || 'none',
  ].join(' | ');
}

/** The file's text: routes in the order of their paths. */
export function apiSurface(): string {
  const settings = readConfig({});
  const routes = apiFamilies.flatMap((family) => Object.values(family.routes) as readonly RouteDeclaration[]);
  const sorted = routes.toSorted((a, b) => compare(a.path, b.path) || compare(a.method, b.method));
  return `${heading}\n${sorted.map((route) => `${routeLine(route, settings)}\n`).join('')}`;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
