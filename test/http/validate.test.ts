// The answer to a request that does not fit: where, and a sentence for whoever typed it.
import { expect, it } from 'vitest';
import { z } from 'zod';
import { pathId } from '../../src/http/contract/fields.ts';
import { RequestError } from '../../src/http/contract/request-error.ts';
import type { RouteDeclaration } from '../../src/http/contract/route.ts';
import { validate } from '../../src/http/validate.ts';

const declaration = {
  query: z.object({
    session_id: z.string(),
    limit: z.coerce.number().int().min(1).max(10),
    env: z.enum(['production', 'staging']).optional(),
  }),
  body: z.object({
    name: z.string().min(1).max(3),
    list: z.array(z.string()).max(1).optional(),
    map: z.record(z.string(), z.string()).optional(),
    isOn: z.boolean().optional(),
    count: z.number().int().optional(),
    own: z
      .string()
      .refine((text) => text !== 'x', 'must not be x')
      .optional(),
  }),
} as unknown as RouteDeclaration;

const problems = (query: object, body: object): Record<string, string> => {
  try {
    validate(declaration, { params: {}, query: { session_id: 's', limit: '1', ...query }, body });
    return {};
  } catch (error) {
    const { detail } = error as RequestError;
    return Object.fromEntries((detail.problems ?? []).map(({ loc, msg }) => [loc.join('.'), msg]));
  }
};

it.each([
  [{}, { name: 'a' }, {}],
  [{ session_id: undefined }, {}, { 'query.session_id': 'is required', 'body.name': 'is required' }],
  [
    { limit: '11' },
    { name: 'long' },
    { 'query.limit': 'must be at most 10', 'body.name': 'must have at most 3 character(s)' },
  ],
  [
    { limit: 'x' },
    { name: '' },
    { 'query.limit': 'must be a number', 'body.name': 'must have at least 1 character(s)' },
  ],
  [
    { env: 'test' },
    { name: 5 },
    { 'query.env': 'must be production or staging', 'body.name': 'must be text' },
  ],
  [
    {},
    { name: 'a', list: ['a', 'b'], map: [] },
    { 'body.list': 'must contain at most 1 item(s)', 'body.map': 'must be an object' },
  ],
  [
    {},
    { name: 'a', list: {}, isOn: 1 },
    { 'body.list': 'must be a list', 'body.isOn': 'must be true or false' },
  ],
  [
    {},
    { name: 'a', count: 1.5, own: 'x' },
    { 'body.count': 'must be a whole number', 'body.own': 'must not be x' },
  ],
])('of the query %o and the body %o says %o', (query, body, expected) => {
  expect(problems(query, body)).toEqual(expected);
});

it('takes any UUID in a path, in either case', () => {
  const byId = { params: z.object({ id: pathId }) } as unknown as RouteDeclaration;
  const read = (id: string) => validate(byId, { params: { id }, query: {}, body: {} }).params;
  expect(read('ABCDEF00-1111-1111-1111-111111111111')).toEqual({
    id: 'abcdef00-1111-1111-1111-111111111111',
  });
  for (const id of ['abcdef00-1111-1111-1111-11111111111', 'abcdef00111111111111111111111111'])
    expect(() => read(id)).toThrow(
      expect.objectContaining({ detail: { problems: [{ loc: ['path', 'id'], msg: 'must be a UUID' }] } }),
    );
});

it('says that a request does not fit', () => {
  const refused = () => validate(declaration, { params: {}, query: {}, body: {} });
  expect(refused).toThrow(RequestError);
  expect(refused).toThrow('The request does not match its schema. Correct each listed field.');
});
