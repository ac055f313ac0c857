// Requests of every declared route, valid and nearly valid, made from the declarations. Knows no route by name but a
// few whose use must stay rare.
import { z } from 'zod';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { api } from '../../src/hub/api/console-routes.ts';
import { hostedApi } from '../../src/hub/api/hosted-routes.ts';
import { hostile } from '../http/hostile.ts';
import type { OutgoingRequest } from './http.ts';
import { agentId, oddAgentId, text } from './material.ts';
import { bent, brokenJson, fitting, type JsonSchema, type Writer } from './schema.ts';
import { hasShapes, press, shaped, twinned } from './shapes.ts';
import type { Credential } from './world.ts';

export interface Operation {
  readonly name: string;
  readonly route: RouteDeclaration;
  readonly params: JsonSchema;
  readonly query: JsonSchema;
  readonly body: JsonSchema | null;
}

const schemaOf = (schema: z.ZodType | undefined): JsonSchema =>
  schema ? (z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema) : {};

export const operations: readonly Operation[] = Object.entries({
  ...api,
  ...hostedApi,
}).map(([name, route]: [string, RouteDeclaration]) => ({
  name,
  route,
  params: schemaOf(route.params),
  query: schemaOf(route.query),
  body: route.body ? schemaOf(route.body) : null,
}));

export const isStream = ({ route }: Operation): boolean => route.media === 'text/event-stream';

/**
 * How often an operation is chosen, against 1 for most: these cost a password hash, end credentials or touch
 * everything.
 */
const weights: { readonly [operation: string]: number } = {
  createTenant: 0.02,
  createUser: 0.05,
  login: 0.1,
  logout: 0.05,
  addUser: 0.05,
  changePassword: 0.02,
  endOwnSession: 0.05,
  endUserSessions: 0.05,
  mintOperatorToken: 0.2,
  setup: 0.1,
  rotateSigningKey: 0.05,
  revokeKey: 0.2,
  ingestEvents: 3,
  createApproval: 3,
  setSession: 2,
};

/** True if an operation costs much, ends credentials or touches everything. */
export const isCostly = ({ name }: Operation): boolean => (weights[name] ?? 1) < 1;

const plainOperations = operations.filter((operation) => !isStream(operation));

/** The share of steps that go to operations which have not succeeded yet. */
const newShare = 0.35;

/**
 * An operation by weight. @param tag of this resource alone; null: of all
 * @param isReached whether the operation has succeeded before in this run
 */
export function chooseOperation(
  { random }: Writer,
  tag: string | null,
  isReached: (operation: string) => boolean,
): Operation {
  const ofTag = tag === null ? plainOperations : plainOperations.filter(({ route }) => route.tag === tag);
  const isForNew = random.next() < newShare;
  const unreached = isForNew ? ofTag.filter(({ name }) => !isReached(name)) : [];
  const open = unreached.length > 0 ? unreached : ofTag;
  let left = random.next() * open.reduce((sum, { name }) => sum + (weights[name] ?? 1), 0);
  for (const operation of open) {
    left -= weights[operation.name] ?? 1;
    if (left <= 0) return operation;
  }
  return open[0] as Operation;
}

/** Tags of routes that requests of all kinds may be heaped on: those that need no password hash. */
export const heaped: readonly string[] = [...new Set(plainOperations.map(({ route }) => route.tag))].filter(
  (tag) => !['setup', 'auth', 'operator', 'health', 'stats'].includes(tag),
);

/** How wrong a request is. */
export type Wrongness = 'valid' | 'bent' | 'broken' | 'hostile';

/** Methods that suspend, resume or remove the tenant of a path. */
const endsTenants: ReadonlySet<string> = new Set(['PATCH', 'DELETE']);

/** A declared route's request. */
export function requestOf(
  { route, params, query, body }: Operation,
  writer: Writer,
  credential: Credential,
  wrongness: Wrongness,
): OutgoingRequest {
  const { random } = writer;
  const values = { ...(fitting(writer, params) as object), ...writer.thing(route.tag) } as {
    [name: string]: unknown;
  };
  // The people who play stay who they are, and their tenants stay.
  const isPlaying = (id: unknown): boolean => credential.players?.has(String(id)) === true;
  if (isPlaying(values.user_id)) values.user_id = 'nobody';
  if (endsTenants.has(route.method) && route.path.endsWith('/{tenant_id}') && isPlaying(values.tenant_id))
    values.tenant_id = 'nobody';
  const path = route.path.replace(/\{(\w+)(\+?)\}/g, (_, param: string, rest: string) => {
    const value = wrongness === 'bent' && random.next() < 0.2 ? String(bent(writer, 'x')) : values[param];
    const text = escaped(String(value ?? 'x'));
    return rest ? text.replaceAll('%2F', '/') : text;
  });
  const asked = route.query ? queryText(writer, query, credential, wrongness) : '';
  const headers: (readonly [string, string])[] = [...credential.headers];
  if (credential.role === 'key') headers.push(['X-Service-Agent-Id', agentHeader(writer)]);
  headers.push(['X-Forwarded-For', `10.9.${random.int(256)}.${random.int(256)}`]);
  const content = contentOf(writer, route, body, wrongness);
  if (content?.headers) headers.push(...content.headers);
  if (content) headers.push(['Content-Type', content.type]);
  if (random.next() < 0.05) headers.push(...oddHeaders(writer));
  return {
    method: route.method,
    path: (path + asked).slice(0, 8000),
    headers,
    body: content?.bytes ?? (route.method !== 'GET' && random.next() < 0.5 ? Buffer.alloc(0) : null),
    chunkBytes: content && random.next() < 0.1 ? 1 + random.int(Math.max(100, content.bytes.length)) : null,
  };
}

function queryText(writer: Writer, schema: JsonSchema, { env }: Credential, wrongness: Wrongness): string {
  const { random } = writer;
  const values = fitting(writer, schema) as { [name: string]: unknown };
  // A key may ask for its own environment only.
  if ('env' in values && env !== null && random.next() < 0.9) values.env = env;
  const said = (wrongness === 'bent' && random.next() < 0.5 ? bent(writer, values) : values) as object;
  const pairs = Object.entries(said ?? {}).map(
    ([name, value]) => `${escaped(name)}=${escaped(String(value))}`,
  );
  if (wrongness === 'broken') {
    const odd = [
      '%',
      'a=%ff',
      '%00=1',
      'limit=1&limit=2',
      `${'a&'.repeat(80)}`,
      '__proto__=1',
      '=',
      'limit=1e3',
    ];
    pairs.push(random.pick(odd));
  }
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

interface Content {
  readonly bytes: Buffer;
  readonly type: string;
  readonly headers?: readonly (readonly [string, string])[];
}

function contentOf(
  writer: Writer,
  route: RouteDeclaration,
  body: JsonSchema | null,
  wrongness: Wrongness,
): Content | null {
  const { random, large } = writer;
  if (body === null)
    return route.tag === 'callbacks' && route.parse === 'bytes' ? press(writer, route.path) : null;
  // Over every route's limit.
  if (large && random.next() < 0.02)
    return { bytes: Buffer.alloc(17_000_000 + random.int(4_000_000), 0x20), type: 'application/json' };
  // Other routes draw nothing for it.
  const isShaped = hasShapes(route.path, route.method) && random.next() < 0.06;
  const shape = isShaped ? shaped(writer, route.path, route.method) : undefined;
  if (shape !== undefined) return { bytes: Buffer.from(JSON.stringify(shape)), type: 'application/json' };
  const content = bodyOf(writer, route, body, wrongness);
  const isTwinned = wrongness === 'bent' && content.type === 'application/json' && random.next() < 0.2;
  return isTwinned ? { ...content, bytes: Buffer.from(twinned(writer, content.bytes.toString())) } : content;
}

function bodyOf(
  writer: Writer,
  route: RouteDeclaration,
  schema: JsonSchema,
  wrongness: Wrongness,
): { bytes: Buffer; type: string } {
  const { random } = writer;
  const json = { type: 'application/json' };
  if (route.yamlField && random.next() < 0.3) {
    const given = fitting(writer, { type: 'string', maxLength: 1_000_000 }, route.yamlField) as string;
    const yaml = wrongness === 'hostile' ? random.pick(Object.values(hostile)) : given;
    const bytes = Buffer.from(wrongness === 'bent' ? spoilt(writer, yaml) : yaml);
    return { bytes, type: 'application/x-yaml' };
  }
  const value = fitting(writer, schema);
  if (wrongness === 'hostile' && typeof value === 'object' && value !== null && 'yaml_content' in value) {
    const yaml = random.pick(Object.values(hostile));
    return { ...json, bytes: Buffer.from(JSON.stringify({ ...value, yaml_content: yaml })) };
  }
  if (wrongness === 'broken') return { ...json, bytes: brokenJson(writer, JSON.stringify(value) ?? '') };
  const said = wrongness === 'bent' ? bent(writer, value) : value;
  const type =
    random.next() < 0.02 ? random.pick(['text/plain', 'application/jsonx', '', 'a/b;c']) : json.type;
  return { type, bytes: Buffer.from(JSON.stringify(said) ?? 'null') };
}

/** A text with some of its characters changed. */
function spoilt({ random }: Writer, said: string): string {
  let spoiled = said;
  for (let i = 1 + random.int(4); i > 0; i--) {
    const at = random.int(spoiled.length + 1);
    const put = random.pick([
      '{',
      '}',
      ': ',
      '\n',
      '- ',
      '&a ',
      '*a',
      '!!x ',
      '"',
      '\t',
      '|\n',
      '\u0000',
      '',
    ]);
    spoiled = spoiled.slice(0, at) + put + spoiled.slice(at + random.int(3));
  }
  return spoiled;
}

function oddHeaders(writer: Writer): (readonly [string, string])[] {
  const { random } = writer;
  const value = headerText(text(writer, 100));
  return random.pick([
    [['Accept', '*/*;q=0.1, text/html']],
    [['Expect', '100-continue']],
    [['Idempotency-Key', value]],
    [['If-None-Match', '"a"']],
    [['Origin', 'https://evil.example']],
    [['Origin', 'null']],
    [['X-A', 'a'.repeat(random.int(15_000))]],
    Array.from({ length: 90 }, (_, i) => [`X-${i}`, value] as const),
    [['Range', 'bytes=0-1']],
    [['X-HTTP-Method-Override', 'DELETE']],
    [['Last-Event-ID', value]],
    [['Accept-Encoding', 'gzip, br']],
  ] as const);
}

/** Mostly an identifier; now and then none, and then perhaps bytes that are no UTF-8. */
export function agentHeader(writer: Writer): string {
  const { random } = writer;
  if (random.next() < 0.95) return headerText(agentId(writer));
  return random.pick([headerText(oddAgentId(writer)), 'a b', 'a\xff\xfe', 'a\xc3', 'a\tb', '\xe2\x80\xae']);
}

/** As one header line may hold it. */
export const headerText = (value: string): string => value.replace(/[^ -~]/g, '?').trim();

const escaped = (value: string): string => encodeURIComponent(value.replace(/\p{Surrogate}/gu, '?'));

/** Requests that no route declares: other methods, HEAD, OPTIONS, paths that are none. */
export function requestWithoutRoute(
  operation: Operation,
  writer: Writer,
  credential: Credential,
): OutgoingRequest {
  const { random } = writer;
  const request = requestOf(operation, writer, credential, 'valid');
  const bare = { ...request, body: null, chunkBytes: null };
  const preflight = [
    ['Origin', random.pick(['https://evil.example', 'http://localhost:8000'])],
    ['Access-Control-Request-Method', 'POST'],
  ] as const;
  const downloads = [
    '../x',
    '%2e%2e/x',
    '..%2f..%2fetc%2fpasswd',
    '.',
    '%00',
    '',
    'x/../../api',
    '%5c..%5cx',
  ];
  const paths = [
    ...downloads.map((rest) => `/downloads/${rest}`),
    '/',
    '//',
    '/api',
    '/api/v1',
    '/api/v1/',
    '/../..',
    '/%',
    '/%00',
    `/${'a/'.repeat(500)}`,
  ];
  switch (random.int(6)) {
    case 0:
      return { ...bare, method: 'HEAD' };
    case 1:
      return { ...bare, method: 'OPTIONS', headers: [] };
    case 2:
      return { ...bare, method: 'OPTIONS', headers: preflight };
    case 3:
      return { ...request, method: random.pick(['PATCH', 'PUT', 'DELETE', 'POST', 'TRACE', 'FOO']) };
    case 4:
      return { ...bare, method: 'GET', path: random.pick([...paths, '/api/openapi.json', '/metrics']) };
    default:
      return { ...bare, method: 'GET', path: request.path.replace(/[^/]+$/, () => random.pick(paths)) };
  }
}
