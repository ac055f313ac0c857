// Makes the types and the table of routes of the typed client (packages/agent/src/console/generated) from the
// declarations of routes: one file per tag, one for types that several tags share, and one that joins them.

import { isPersonRole, type RouteDeclaration } from '../src/http/contract/route.ts';
import { api } from '../src/hub/api/console-routes.ts';

export const clientFolder = 'packages/agent/src/console/generated';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly description?: string;
}

interface Media {
  readonly schema: Schema;
  readonly 'x-events'?: { readonly [type: string]: { readonly data: Schema } };
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly required: boolean; readonly content: { readonly [type: string]: Media } };
  readonly responses: {
    readonly [status: string]: { readonly content?: { readonly [type: string]: Media } };
  };
}

interface OpenApi {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: { readonly schemas: { readonly [name: string]: Schema } };
}

const refOf = (schema: Schema): string | undefined => schema.$ref?.split('/').at(-1);
const fieldName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));
const upper = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);
const camel = (tag: string): string =>
  tag.replaceAll(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** A schema as a TypeScript type. */
function typeOf(schema: Schema | undefined): string {
  if (schema === undefined) return 'unknown';
  const name = refOf(schema);
  if (name !== undefined) return name;
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return [...new Set(choices.map(typeOf))].join(' | ');
  if (schema.allOf) return schema.allOf.map((part) => `(${typeOf(part)})`).join(' & ');
  if (Array.isArray(schema.type))
    return schema.type.map((type: string) => typeOf({ ...schema, type })).join(' | ');
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'number':
    case 'integer':
      return 'number';
    case 'array': {
      const item = typeOf(schema.items);
      return `readonly ${/[|&]/.test(item) ? `(${item})` : item}[]`;
    }
    case 'object':
      return objectOf(schema);
    default:
      return 'unknown';
  }
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(([name, field]) => {
    const optional = required.includes(name) ? '' : '?';
    return `readonly ${fieldName(name)}${optional}: ${typeOf(field)}${optional ? ' | undefined' : ''};`;
  });
  if (fields.length === 0) {
    const value = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
    return `{ readonly [name: string]: ${value} }`;
  }
  return `{\n${indented(fields.join('\n'))}\n}`;
}

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '  ');

/** The names of schemas that a value refers to. */
const refsIn = (value: unknown): Set<string> =>
  new Set(
    [...JSON.stringify(value ?? null).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
      ([, name = '']) => name,
    ),
  );

function inputOf({ parameters, requestBody }: Operation): string {
  const part = (place: string): string[] => {
    const fields = parameters.filter((parameter) => parameter.in === place);
    if (fields.length === 0) return [];
    const name = place === 'path' ? 'params' : 'query';
    const types = fields.map(({ name: field, required, schema }) => {
      const type = place === 'path' ? 'string | number' : typeOf(schema);
      const fieldType = type === 'unknown' ? 'string | number | boolean' : type;
      return `readonly ${fieldName(field)}${required ? '' : '?'}: ${fieldType}${required ? '' : ' | undefined'};`;
    });
    const optional = fields.some(({ required }) => required) ? '' : '?';
    return [`readonly ${name}${optional}: { ${types.join(' ')} }${optional ? ' | undefined' : ''};`];
  };
  const body = requestBody?.content['application/json'];
  const optional = requestBody?.required === false ? '?' : '';
  const bodies = body
    ? [`readonly body${optional}: ${typeOf(body.schema)}${optional ? ' | undefined' : ''};`]
    : [];
  const parts = [...part('path'), ...part('query'), ...bodies];
  return parts.length === 0 ? '{ readonly [name: string]: never }' : `{\n${indented(parts.join('\n'))}\n}`;
}

function replyOf({ responses }: Operation, route: RouteDeclaration): string {
  const [type, media] = Object.entries(responses[String(route.status)]?.content ?? {})[0] ?? [];
  if (media === undefined) return 'null';
  return type === 'application/json' ? typeOf(media.schema) : 'string';
}

/** The union of what a stream sends; null for a route that is none. */
function eventsOf({ responses }: Operation, route: RouteDeclaration): string | null {
  const media = responses[String(route.status)]?.content?.['text/event-stream'];
  const events = media?.['x-events'];
  return events
    ? Object.values(events)
        .map(({ data }) => typeOf(data))
        .join(' | ')
    : null;
}

const opening = (what: string): string =>
  `// Generated by \`npm run generate\` from the declarations of routes; do not edit. ${what}\n`;

const routes: { readonly [name: string]: RouteDeclaration } = api;

/** Every schema that routes refer to, directly or through other schemas. */
function reachedSchemas(
  names: readonly string[],
  operations: ReadonlyMap<string, Operation>,
  schemas: OpenApi['components']['schemas'],
): Set<string> {
  const reached = new Set<string>();
  const walk = (value: unknown): void => {
    for (const name of refsIn(value)) {
      if (reached.has(name)) continue;
      reached.add(name);
      walk(schemas[name]);
    }
  };
  for (const name of names) {
    const { requestBody, responses, parameters } = operations.get(name) ?? {};
    walk([requestBody, responses?.[String(routes[name]?.status)], parameters]);
  }
  return reached;
}

function declarationOf(name: string, schema: Schema | undefined): string {
  const type = typeOf(schema);
  return schema?.type === 'object' && type.startsWith('{\n')
    ? `export interface ${name} ${type}`
    : `export type ${name} = ${type};`;
}

/** Members of a tag's interface: what each of its routes takes and returns. */
const entryOf = (name: string, operation: Operation): string => {
  const route = routes[name] as RouteDeclaration;
  const events = eventsOf(operation, route);
  const ends =
    events === null ? `readonly reply: ${replyOf(operation, route)};` : `readonly event: ${events};`;
  const words = `${operation.summary}. ${operation.description}`.replaceAll('*/', '* /');
  return `/** ${words} */\nreadonly ${name}: {\n${indented(`readonly input: ${inputOf(operation)};\n${ends}`)}\n};`;
};

/** The row of a route in its tag's table. */
function rowOf(name: string): string {
  const { method, path, media, role } = routes[name] as RouteDeclaration;
  const needed = method === 'GET' || !isPersonRole(role) ? undefined : role;
  const members = Object.entries({ method, path, media, role: needed }).flatMap(([member, value]) =>
    value === undefined ? [] : [`${member}: ${JSON.stringify(value)}`],
  );
  return `${name}: { ${members.join(', ')} },`;
}

/** The file of all routes. @param tags in order */
const operationsFile = (tags: readonly string[]): string =>
  `${opening('All routes of the console API in one.')}${tags
    .map((tag) => `import { type ${upper(camel(tag))}Operations, ${camel(tag)}Routes } from './${tag}.ts';`)
    .join('\n')}

export interface ConsoleOperations\n  extends ${tags.map((tag) => `${upper(camel(tag))}Operations`).join(',\n    ')} {}

export const consoleRoutes = {\n${tags.map((tag) => `  ...${camel(tag)}Routes,`).join('\n')}\n} as const;\n`;

/** The files by name, from the text of the OpenAPI document. */
export function consoleClientFiles(openApi: string): ReadonlyMap<string, string> {
  const { paths, components }: OpenApi = JSON.parse(openApi);
  const operations = new Map(
    Object.values(paths).flatMap((methods) =>
      Object.values(methods).map((one) => [one.operationId, one] as const),
    ),
  );
  const byTag = new Map<string, string[]>();
  for (const [name, { tag }] of Object.entries(api)) byTag.set(tag, [...(byTag.get(tag) ?? []), name]);
  const reachedByTag = new Map(
    [...byTag].map(([tag, names]) => [tag, reachedSchemas(names, operations, components.schemas)] as const),
  );
  const users = new Map<string, string[]>();
  for (const [tag, schemas] of reachedByTag) {
    for (const schema of schemas) users.set(schema, [...(users.get(schema) ?? []), tag]);
  }
  const declared = (names: readonly string[]): string =>
    [...names]
      .sort()
      .map((name) => declarationOf(name, components.schemas[name]))
      .join('\n\n');
  const shared = [...users].filter(([, tags]) => tags.length > 1).map(([name]) => name);

  const files = new Map<string, string>();
  files.set('shared.ts', `${opening('Types that routes of several tags share.')}\n${declared(shared)}\n`);
  for (const [tag, names] of [...byTag].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const own = [...users].filter(([, tags]) => tags.length === 1 && tags[0] === tag).map(([name]) => name);
    const used = shared.filter((name) => reachedByTag.get(tag)?.has(name));
    const types = declared(own);
    const entries = names.map((name) => entryOf(name, operations.get(name) as Operation));
    const body = `${types === '' ? '' : `${types}\n\n`}export interface ${upper(camel(tag))}Operations {\n${indented(entries.join('\n'))}\n}

export const ${camel(tag)}Routes = {\n${indented(names.map(rowOf).join('\n'))}\n} as const;\n`;
    const imported = used.filter((name) => new RegExp(`\\b${name}\\b`).test(body)).sort();
    const imports =
      imported.length === 0 ? '' : `import type { ${imported.join(', ')} } from './shared.ts';\n`;
    files.set(`${tag}.ts`, `${opening(`Routes of ${tag}.`)}${imports}\n${body}`);
  }
  const tags = [...byTag.keys()].sort();
  files.set('operations.ts', operationsFile(tags));
  files.set(
    'index.ts',
    `${opening('Every type.')}${[...tags, 'operations', 'shared']
      .sort()
      .map((file) => `export type * from './${file}.ts';`)
      .join('\n')}\n`,
  );
  return files;
}
