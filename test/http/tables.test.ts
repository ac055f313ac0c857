// The tables of routes as a whole.
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { handlers } from '../../src/hub/api/console-handlers.ts';
import { api } from '../../src/hub/api/console-routes.ts';

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
