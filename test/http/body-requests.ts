// Requests of every route that takes a body, generated from the declarations: a fitting body with room for material in
// each of its places that take some, and in the body itself.
import { z } from 'zod';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { type Shape, shapes } from '../body-material.ts';
import { bundleYaml } from '../contract/library.ts';

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly minItems?: number;
  readonly format?: string;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** A place of a body. */
export interface Hole {
  readonly path: string;
  /** Shapes of material that are looked into there; others are refused as soon as they are parsed. */
  readonly shapes: readonly Shape[];
  /** The body's JSON with this material in its place. */
  fill(material: string): string;
}

const placeholder = '\u0001';

/** Values of fields that a pattern or a meaning binds. */
const samples: { readonly [field: string]: unknown } = {
  yaml_content: bundleYaml('sample'),
  definition_yaml: 'tool: read_file',
  email: 'someone@example.com',
  password: 'correct horse battery',
  new_password: 'correct horse battery',
  env: 'production',
  type: 'pre',
  definition: { tool: 'x', when: { 'args.a': { exists: true } }, then: { effect: 'deny', message: 'no' } },
  config: { url: 'http://127.0.0.1:9/hook' },
  channel_type: 'webhook',
  provider: 'local',
  timestamp: '2026-01-02T03:04:05Z',
  bundle_name: 'sample',
  composition: undefined,
};

function sampleOf(schema: Schema, field: string): unknown {
  if (Object.hasOwn(samples, field)) return samples[field];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [alternative] = schema.anyOf ?? [];
  if (alternative) return sampleOf(alternative, field);
  const type = typeof schema.type === 'object' ? schema.type[0] : schema.type;
  if (type === 'object') return objectOf(schema);
  if (type === 'array') {
    return Array.from({ length: schema.minItems ?? 0 }, () => sampleOf(schema.items ?? {}, field));
  }
  if (type === 'integer' || type === 'number') return Math.max(1, schema.minimum ?? 1);
  if (type === 'boolean') return true;
  if (schema.format === 'uuid') return '00000000-0000-4000-8000-000000000000';
  return 'sample'.padEnd(schema.minLength ?? 0, 'x');
}

const objectOf = ({ properties = {}, required = [] }: Schema): object =>
  Object.fromEntries(required.map((name) => [name, sampleOf(properties[name] ?? {}, name)]));

/** The parts of a schema that a value may be of. */
const alternatives = (schema: Schema): readonly Schema[] =>
  schema.anyOf ? schema.anyOf.flatMap(alternatives) : [schema];

/** A longer text is refused by its length alone. */
const shortText = 64 * 1024;

const shapesFor = (schema: Schema): readonly Shape[] => {
  const fitting = new Set<Shape>();
  const add = (list: readonly Shape[]): void => {
    for (const shape of list) fitting.add(shape);
  };
  for (const { type, pattern, maxLength = Number.POSITIVE_INFINITY } of alternatives(schema)) {
    if (type === undefined) add(shapes);
    if (type === 'object') add(['wide', 'texts', 'mixed']);
    if (type === 'array') add(['deep', 'words', 'records']);
    if (type === 'string' && (pattern !== undefined || maxLength > shortText)) add(['long']);
  }
  return [...fitting];
};

/** The JSON around a place, for each place below a value of this schema. */
function* placesIn(schema: Schema, path: string, wrap: (inner: string) => string): Generator<Hole> {
  yield { path, shapes: path === root ? shapes : shapesFor(schema), fill: wrap };
  for (const part of alternatives(schema)) {
    if (part.items) yield* placesIn(part.items, `${path}[]`, (inner) => wrap(`[${inner}]`));
    for (const [name, field] of Object.entries(part.properties ?? {})) {
      const around = JSON.stringify({ ...objectOf(part), [name]: placeholder });
      const [before = '', after = ''] = around.split(JSON.stringify(placeholder));
      yield* placesIn(field, `${path}.${name}`, (inner) => wrap(`${before}${inner}${after}`));
    }
  }
}

const root = 'body';

/** The places of a body; a body of bytes without a schema is one place. */
export function holesOf(schema: z.ZodType | undefined): readonly Hole[] {
  const json = schema ? z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) : {};
  const kinds = new Set<string>();
  return [...placesIn(json as Schema, root, (inner) => inner)].filter(({ path, shapes: fitting }) => {
    // Fields of one object that take the same are treated alike: of each kind there is one.
    const kind = `${path.slice(0, path.lastIndexOf('.'))} ${fitting.join()}`;
    if (fitting.length === 0 || kinds.has(kind)) return false;
    kinds.add(kind);
    return true;
  });
}

export const takesBody = ({ body, parse }: RouteDeclaration): boolean =>
  body !== undefined || parse === 'bytes';

/** The path with a value for each parameter; `{key+}` and `{key}` alike. */
export const pathOf = ({ path }: RouteDeclaration, ids: { readonly [param: string]: string }): string =>
  path.replace(/\{(\w+)\+?\}/g, (_, name: string) => encodeURIComponent(ids[name] ?? 'sample'));
