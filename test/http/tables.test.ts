// The tables of routes as a whole.
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { handlers } from '../../src/hub/api/console-handlers.ts';
import { api } from '../../src/hub/api/console-routes.ts';
import { hostedApi } from '../../src/hub/api/hosted-routes.ts';

const routes: readonly [string, RouteDeclaration][] = Object.entries(api);

it.each(routes)('%s can be written as JSON Schema and has a handler unless it is a stream', (name, route) => {
  for (const schema of [route.params, route.query, route.body]) {
    if (schema) expect(() => z.toJSONSchema(schema, { io: 'input' })).not.toThrow();
  }
  if (route.reply) {
    const schema = z.toJSONSchema(route.reply, { io: 'output' });
    expect('type' in schema || 'anyOf' in schema || 'oneOf' in schema).toBe(true);
  }
  expect(name in handlers).toBe(route.media !== 'text/event-stream' || route.method !== 'GET');
});

it('hold every method and path once', () => {
  const places = routes.map(([, { method, path }]) => `${method} ${path.replaceAll(/\{[^}]+\}/g, '{}')}`);
  expect(new Set(places).size).toBe(places.length);
});

it('declare query or body as the place of environments only where it has a field for them', () => {
  const fieldsOf = (schema: z.ZodType | undefined): readonly string[] => {
    const { properties = {} } = schema ? z.toJSONSchema(schema, { io: 'input' }) : {};
    return Object.keys(properties);
  };
  const tables: { readonly [name: string]: RouteDeclaration } = { ...api, ...hostedApi };
  const wrongNames = Object.entries(tables).flatMap(([name, route]) => {
    if (route.envs !== 'query' && route.envs !== 'body') return [];
    const fields = fieldsOf(route[route.envs]);
    return fields.includes('env') || fields.includes('environment') ? [] : [name];
  });
  expect(wrongNames).toEqual([]);
});
