// The OpenAPI 3.1 document, made from the declarations of all APIs alone. Deterministic: the same tables give the same
// text.

import {
  type ApiFamily,
  type AuthScheme,
  type ErrorFormat,
  isPersonRole,
  type RouteDeclaration,
} from '../../http/contract/route.ts';
import type { WireNames } from '../../http/credentials.ts';
import { subprotocols } from '../../http/live/session.ts';
import { errorMedia, statusOf, wireCodes } from '../../http/problem.ts';
import { statusTexts } from '../../http/raw.ts';
import { type ErrorCode, reasonCodes } from '../../shared/error.ts';
import { type Json, type Schemas, schemasOf } from './openapi-schemas.ts';

export interface OpenApiOptions {
  readonly title: string;
  readonly version: string;
  readonly baseUrl: string;
  readonly wire: WireNames;
}

const errorSchema = {
  type: 'object',
  required: ['detail', 'code'],
  properties: {
    detail: {
      description: 'A sentence; for validation_failed, a list of the invalid fields',
      oneOf: [
        { type: 'string' },
        { type: 'array', maxItems: 50, items: { $ref: '#/components/schemas/Problem' } },
      ],
    },
    code: { type: 'string', enum: Object.keys(statusOf).sort() },
    problems: {
      description: 'All findings in a document that was not deployed',
      type: 'array',
      items: { $ref: '#/components/schemas/Finding' },
    },
  },
};

const documentSchema = {
  type: 'object',
  description: 'A problem document (RFC 9457)',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string', const: 'about:blank' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string', enum: [...wireCodes, ...reasonCodes.keys()].sort() },
    errors: { type: 'array', maxItems: 50, items: { $ref: '#/components/schemas/Problem' } },
    request_id: { type: 'string' },
  },
};

/** The schema of errors of each form, by its name in the document. */
const errorSchemaOf: { readonly [F in ErrorFormat]: string } = {
  detail: 'Error',
  problem: 'ProblemDocument',
};

const problemSchema = {
  type: 'object',
  required: ['loc', 'msg'],
  properties: {
    loc: {
      type: 'array',
      description: 'body, query or path, then the field path',
      items: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
    },
    msg: { type: 'string' },
  },
};

const security: { readonly [S in AuthScheme]: Json } = {
  cookie: { cookie: [] },
  key: { apiKey: [] },
  operatorToken: { operator: [] },
  hostedKey: { apiKey: [] },
  operatorJwt: { operatorToken: [] },
};

const schemeWords: { readonly [S in AuthScheme]: string } = {
  cookie: 'a signed-in user',
  key: 'an API key',
  operatorToken: 'the operator token; 404 when none is configured',
  hostedKey: 'an API key',
  operatorJwt: 'an operator with a token',
};

function authWords({ auth, role }: RouteDeclaration): string {
  if (auth.length === 0) return 'No authentication.';
  if (role === 'admin' && auth.includes('cookie')) return 'A signed-in admin.';
  const roleWords = (scheme: AuthScheme) =>
    scheme === 'operatorJwt' && role !== undefined ? ` of the role ${role}` : '';
  const words = auth.map((scheme) => `${schemeWords[scheme]}${roleWords(scheme)}`).join(' or ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** The document as JSON text. @throws Error when two routes share a name, or a schema without one */
export function openApiText(families: readonly ApiFamily[], options: OpenApiOptions): string {
  const paths: { [path: string]: Json } = {};
  const tags = new Set<string>();
  const all = families.flatMap(({ routes, errors }) =>
    Object.entries(routes).map(([name, route]) => [name, route, errors] as const),
  );
  all.sort(([, a], [, b]) => compare(a.path, b.path) || compare(a.method, b.method));
  const schemas = schemasOf(all.map(([name, route]) => [name, route]));
  const names = new Set<string>();
  for (const [name, route, errors] of all) {
    if (names.has(name)) throw new Error(`two routes are named ${name}`);
    names.add(name);
    tags.add(route.tag);
    const path = route.path.replaceAll('+}', '}');
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: operation(name, route, errors, schemas, options.wire),
    };
  }
  const [agentHeader = 'agent-id'] = options.wire.agentIdHeaders;
  const document = {
    openapi: '3.1.0',
    info: { title: options.title, version: options.version },
    servers: [{ url: options.baseUrl }],
    tags: [...tags].sort().map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: `An API key (${options.wire.keyPrefix}…), with the agent's id in the header ${agentHeader}.`,
        },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: options.wire.sessionCookie,
          description: 'Set by the login. POST, PUT, PATCH and DELETE also need an X-Requested-With header.',
        },
        operator: { type: 'http', scheme: 'bearer', description: 'The OPERATOR_TOKEN from the settings.' },
        operatorToken: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'A token from the identity provider, or from the hub for a signed-in person.',
        },
      },
      headers: { Link: linkHeader, ...limitHeaders, 'Idempotency-Replayed': replayedHeader },
      schemas: {
        Error: errorSchema,
        Problem: problemSchema,
        ProblemDocument: documentSchema,
        ...schemas.reachedBy(paths),
      },
    },
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function operation(
  name: string,
  route: RouteDeclaration,
  errors: ErrorFormat,
  schemas: Schemas,
  wire: WireNames,
): Json {
  const stream = route.media === 'text/event-stream' && route.method === 'GET';
  return {
    operationId: name,
    summary: route.summary,
    description: [authWords(route), ...(stream ? streamWords(route) : [])].join(' '),
    tags: [route.tag],
    security: route.auth.map((scheme) => security[scheme]),
    parameters: parameters(route, schemas, wire),
    ...(route.body || route.parse === 'bytes' ? { requestBody: requestBody(route, schemas) } : {}),
    responses: responses(route, errors, schemas),
  };
}

function streamWords(route: RouteDeclaration): string[] {
  return [
    `Events: ${Object.keys(route.frames ?? {}).join(', ')}.`,
    'Every frame has an id; send the last one as Last-Event-ID to receive missed frames.',
    `Also a WebSocket, subprotocols ${subprotocols.join(' and ')}: each message is the event's data with its id.`,
  ];
}

function parameters(route: RouteDeclaration, schemas: Schemas, wire: WireNames): Json[] {
  const list: Json[] = [];
  for (const [, parameter = ''] of route.path.matchAll(/\{([a-z_]+)\+?\}/g)) {
    const schema = schemas.parameter(route.params, parameter);
    list.push({ name: parameter, in: 'path', required: true, schema });
  }
  const needed = schemas.required(route.query);
  for (const parameter of Object.keys(route.query?.shape ?? {})) {
    const schema = schemas.parameter(route.query, parameter);
    list.push({ name: parameter, in: 'query', required: needed.includes(parameter), schema });
  }
  const [agentHeader] = wire.agentIdHeaders;
  if ((route.auth.includes('key') || route.auth.includes('hostedKey')) && agentHeader !== undefined) {
    list.push({
      name: agentHeader,
      in: 'header',
      required: false,
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    });
  }
  if (route.idempotent !== undefined) {
    list.push({
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description: 'Stored for 24 hours; a repeat creates nothing new',
      schema: { type: 'string', minLength: 1, maxLength: 128 },
    });
  }
  if (route.ifMatch !== undefined) {
    list.push({
      name: 'If-Match',
      in: 'header',
      required: false,
      description: `${route.ifMatch} In quotes; several are separated by commas, and * is any state`,
      schema: { type: 'string', maxLength: 1024 },
    });
  }
  if (route.media === 'text/event-stream' && route.method === 'GET') {
    list.push({ name: 'last-event-id', in: 'header', required: false, schema: { type: 'string' } });
  }
  return list;
}

function requestBody(route: RouteDeclaration, schemas: Schemas): Json {
  const schema = schemas.of(route.body);
  if (route.bodyMedia !== undefined) {
    return { required: true, content: { [route.bodyMedia]: { schema: { type: 'string' } } } };
  }
  const yaml = route.yamlField ? { 'application/x-yaml': { schema: { type: 'string' } } } : {};
  return { required: route.optionalBody !== true, content: { 'application/json': { schema }, ...yaml } };
}

/** Schemas of a stream's events, as an extension: OpenAPI 3.1 has none for them. */
const eventsOf = ({ frames }: RouteDeclaration, schemas: Schemas): Json =>
  frames
    ? {
        'x-events': Object.fromEntries(
          Object.entries(frames).map(([type, { summary, data }]) => [
            type,
            { description: summary, data: schemas.of(data) },
          ]),
        ),
      }
    : {};

/** True for a list that may be longer than its page. */
const isPaged = ({ query }: RouteDeclaration): boolean =>
  query !== undefined && ('offset' in query.shape || 'cursor' in query.shape);

const linkHeader = {
  description:
    'Address of the next page (rel="next"); absent on the last page. A page may be shorter than its limit',
  schema: { type: 'string' },
};

const limitHeaders = {
  'RateLimit-Limit': { description: 'Call limit per minute', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'Remaining calls', schema: { type: 'integer' } },
  'RateLimit-Reset': {
    description: 'Seconds until all calls are available again',
    schema: { type: 'integer' },
  },
};
const replayedHeader = {
  description: 'true if the answer repeats that of an earlier request with the same Idempotency-Key',
  schema: { type: 'string', const: 'true' },
};
const headerRefs = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** The headers of a success that clients act on. */
function headersOf(route: RouteDeclaration, errors: ErrorFormat): Json {
  const names = [
    ...(isPaged(route) && errors === 'detail' ? ['Link'] : []),
    ...(errors === 'problem' && route.limit !== 'none' ? Object.keys(limitHeaders) : []),
    ...(route.idempotent === 'answer' ? ['Idempotency-Replayed'] : []),
  ];
  return names.length > 0 ? { headers: headerRefs(names) } : {};
}

/** The codes that a route declares, and those that its authentication, its role and If-Match imply. */
export function errorsOf({ auth, role, envs, errors, ifMatch }: RouteDeclaration): ErrorCode[] {
  const implied: ErrorCode[] = auth.length === 0 ? [] : ['unauthenticated'];
  if (isPersonRole(role) && (role !== 'viewer' || envs === 'query' || envs === 'body'))
    implied.push(role === 'admin' ? 'forbidden' : 'role_required');
  if (ifMatch !== undefined) implied.push('changed');
  return [...new Set([...implied, ...errors])];
}

function responses(route: RouteDeclaration, errors: ErrorFormat, schemas: Schemas): Json {
  const media = route.media ?? 'application/json';
  const schema = route.reply ? schemas.of(route.reply) : { type: 'string' };
  const hasBody = route.reply !== undefined || route.media !== undefined;
  const statuses: { [status: string]: Json } = {
    [route.status]: {
      description: statusTexts[route.status] ?? 'Success',
      ...headersOf(route, errors),
      ...(hasBody ? { content: { [media]: { schema, ...eventsOf(route, schemas) } } } : {}),
    },
  };
  const codes = new Map<number, string[]>();
  for (const code of errorsOf(route)) {
    codes.set(statusOf[code], [...(codes.get(statusOf[code]) ?? []), code]);
  }
  for (const [status, list] of [...codes].sort(([a], [b]) => a - b)) {
    statuses[status] = {
      description: `${statusTexts[status] ?? 'Error'}: ${list.join(', ')}`,
      content: {
        [errorMedia[errors]]: { schema: { $ref: `#/components/schemas/${errorSchemaOf[errors]}` } },
      },
    };
  }
  return statuses;
}
