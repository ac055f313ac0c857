// The schemas of the OpenAPI document: each is written once, under its name in src/hub/api/components.ts or after the
// one route that has it, and referred to everywhere else.
import { z } from 'zod';
import type { RouteDeclaration } from '../../http/contract/route.ts';
import { components } from './components.ts';

export type Json = { [key: string]: unknown };

export interface Schemas {
  /** A reference to what has a name; empty for what is not declared. */
  of(schema: z.ZodType | undefined): Json;
  /** The schema of one parameter of `params` or `query`; any text where none is declared. */
  parameter(schema: z.ZodObject | undefined, name: string): unknown;
  /** The names that an object requires. */
  required(schema: z.ZodObject | undefined): readonly string[];
  /** All schemas that `value` refers to, directly or not, by name. */
  reachedBy(value: unknown): { [name: string]: Json };
}

const prefix = '#/components/schemas/';
const upper = (operation: string): string => operation.charAt(0).toUpperCase() + operation.slice(1);

/** @throws Error when two routes share a schema that has no name of its own */
export function schemasOf(routes: readonly (readonly [operation: string, RouteDeclaration])[]): Schemas {
  const names = new Map<z.ZodType, string>(
    Object.entries(components).map(([name, schema]) => [schema, name]),
  );
  const add = (schema: z.ZodType | undefined, name: string): void => {
    if (!schema || Object.values(components).includes(schema)) return;
    const other = names.get(schema);
    if (other !== undefined)
      throw new Error(`${name} and ${other} are one schema: name it in src/hub/api/components.ts`);
    names.set(schema, name);
  };
  for (const [operation, { body, reply }] of routes) {
    add(body, `${upper(operation)}Request`);
    add(reply, `${upper(operation)}Reply`);
  }
  // Parameters are written where they are: these names stand in no document.
  for (const [, { params, query }] of routes) {
    for (const schema of [params, query]) if (schema) names.set(schema, `parameters ${names.size}`);
  }
  const registry = z.registry<{ id: string }>();
  for (const [schema, id] of names) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    // Types that zod cannot express become free values.
    unrepresentable: 'any',
    uri: (id) => `${prefix}${id}`,
  });
  const written = (name: string): Json => {
    const { $schema: _, $id: __, ...schema } = (schemas[name] ?? {}) as Json;
    return schema;
  };
  const nameOf = (schema: z.ZodType): string => names.get(schema) ?? '';

  return {
    of: (schema) => (schema ? { $ref: `${prefix}${nameOf(schema)}` } : {}),
    parameter(schema, name) {
      const properties = schema ? written(nameOf(schema)).properties : null;
      return (properties as Json | null | undefined)?.[name] ?? { type: 'string' };
    },
    required(schema) {
      const names = schema ? written(nameOf(schema)).required : null;
      return Array.isArray(names) ? names : [];
    },
    reachedBy(value) {
      const namedSchemas: { [name: string]: Json } = {};
      const walk = (part: unknown): void => {
        for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
          if (name in namedSchemas || !(name in schemas)) continue;
          namedSchemas[name] = written(name);
          walk(namedSchemas[name]);
        }
      };
      walk(value);
      return Object.fromEntries(Object.entries(namedSchemas).sort(([a], [b]) => (a < b ? -1 : 1)));
    },
  };
}
