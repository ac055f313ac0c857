// Lists as they go out: bounded in bytes, large fields shortened, the next page linked.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { List } from '../../src/http/contract/call.ts';
import { maxListedField, shortenedMap } from '../../src/http/contract/listed.ts';
import { encodeList, maxAnswer } from '../../src/http/list.ts';
import { asKey, asUser, edge, headerOf, jsonOf, raw } from './fixtures.ts';

const target = { path: '/api/v1/things', query: 'status=a+b&offset=3&limit=9' };
const byOffset = (items: readonly object[], more: boolean) =>
  new List(items, (sent) => (sent < items.length || more ? { offset: 3 + sent } : null));
const linkIn = (headers: readonly (readonly [string, string])[]): URL | null => {
  const link = headers.find(([name]) => name === 'Link')?.[1];
  const url = link && /^<([^>]+)>; rel="next"$/.exec(link)?.[1];
  return url ? new URL(url, 'http://hub') : null;
};

it('a list that fits is sent whole, and links to what the store has left', () => {
  const last = encodeList(byOffset([{ a: 1 }, { b: [] }], false), target);
  expect(JSON.parse(last.json)).toEqual([{ a: 1 }, { b: [] }]);
  expect(last.headers).toEqual([]);
  const url = linkIn(encodeList(byOffset([{ a: 1 }, { b: [] }], true), target).headers);
  expect(url?.pathname).toBe('/api/v1/things');
  expect(Object.fromEntries(url?.searchParams ?? [])).toEqual({ status: 'a b', offset: '5', limit: '9' });
});

it('a list may stand in a field of an object, beside headers of its own', () => {
  const list = new List(
    [{ a: 1 }, { b: 2 }],
    { cursor: 'c' },
    { field: 'agents', headers: { 'X-Left': '3' } },
  );
  const { json, headers } = encodeList(list, target);
  expect(JSON.parse(json)).toEqual({ agents: [{ a: 1 }, { b: 2 }] });
  expect(headers).toContainEqual(['X-Left', '3']);
  expect(linkIn(headers)?.searchParams.get('cursor')).toBe('c');
  expect(JSON.parse(encodeList(new List([], null, { field: 'agents' }), target).json)).toEqual({
    agents: [],
  });
});

it('a list that does not fit is cut, and its link begins where it was cut', () => {
  const fields = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`f${i}`, 'é'.repeat(1000)]));
  const items = Array.from({ length: 20 }, (_, id) => ({ id, ...fields }));
  const { json, headers } = encodeList(byOffset(items, false), target);
  const sent = (JSON.parse(json) as { id: number }[]).length;
  expect(Buffer.byteLength(json)).toBeLessThanOrEqual(maxAnswer);
  expect(sent).toBeGreaterThan(1);
  expect(sent).toBeLessThan(20);
  expect(linkIn(headers)?.searchParams.get('offset')).toBe(String(3 + sent));
});

it('a field over 4 KiB is replaced by its size, whatever it is made of', () => {
  const over = maxListedField - 1;
  const item = {
    fits: 'x'.repeat(maxListedField - 2),
    long: 'x'.repeat(over),
    wide: 'é'.repeat(maxListedField / 2),
    deep: { list: ['x'.repeat(over)] },
    none: null,
  };
  const [shown] = JSON.parse(encodeList(byOffset([item], false), target).json) as object[];
  expect(shown).toEqual({
    fits: item.fits,
    long: { _truncated: true, bytes: over + 2 },
    wide: { _truncated: true, bytes: Buffer.byteLength(JSON.stringify(item.wide)) },
    deep: { _truncated: true, bytes: JSON.stringify(item.deep).length },
    none: null,
  });
});

it('of a map the largest values give way, no more than need to, until it fits', () => {
  const value = fc.oneof(
    fc.string({ maxLength: 20 }),
    fc.integer(),
    fc.string({ minLength: 500, maxLength: 3000 }),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string({ maxLength: 10 }), value, { maxKeys: 12 }), (map) => {
      const shown = shortenedMap(map);
      const sizeOf = (one: unknown) => Buffer.byteLength(JSON.stringify(one));
      expect(sizeOf(shown)).toBeLessThanOrEqual(maxListedField);
      const gone = Object.keys(map).filter((name) => shown[name] !== map[name]);
      for (const name of gone) expect(shown[name]).toEqual({ _truncated: true, bytes: sizeOf(map[name]) });
      const last = gone.sort((a, b) => sizeOf(map[a]) - sizeOf(map[b]))[0];
      if (last !== undefined) expect(sizeOf({ ...shown, [last]: map[last] })).toBeGreaterThan(maxListedField);
    }),
  );
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]));
  expect(shortenedMap(many)).toEqual(many);
});

it('an odd path makes no odd link', () => {
  const list = new List([{}], { cursor: 'abc' });
  const { headers } = encodeList(list, { path: '/api/v1/x>é"', query: '' });
  expect(headers).toEqual([
    ['X-Next-Cursor', 'abc'],
    ['Link', '</api/v1/x%3E%C3%A9"?cursor=abc>; rel="next"'],
  ]);
});

it('the edge sends a list as an array', async () => {
  const { pipeline } = edge({ serve: { listKeys: async () => byOffset([{ a: 1 }], true) } });
  const response = await pipeline.handle(raw('GET', '/api/v1/keys?limit=1', asUser));
  expect(jsonOf(response)).toEqual([{ a: 1 }]);
  expect(headerOf(response, 'Link')).toBe('</api/v1/keys?limit=1&offset=4>; rel="next"');
});

it('any other answer over 4 MiB is refused with what to do, none of it is sent', async () => {
  const answer = (length: number) => edge({ serve: { batch: async () => ({ text: 'é'.repeat(length) }) } });
  const ask = (length: number) =>
    answer(length).pipeline.handle(raw('POST', '/api/v1/sessions/batch', asKey, '{"keys":[]}'));
  const max = (maxAnswer - '{"text":""}'.length - 1) / 2;
  expect((await ask(max)).status).toBe(200);
  const refused = await ask(max + 1);
  expect([refused.status, jsonOf(refused).code]).toEqual([413, 'response_too_large']);
  expect(jsonOf(refused).detail).toContain('4 MiB');
});
