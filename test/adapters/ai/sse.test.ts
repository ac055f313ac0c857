// Server-sent events of an AI provider, however their bytes are cut.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ServerEvent, serverEvents } from '../../../adapters/ai/sse.ts';

async function* piecesOf(texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}
async function read(texts: readonly string[]): Promise<ServerEvent[]> {
  const events: ServerEvent[] = [];
  for await (const event of serverEvents(piecesOf(texts))) events.push(event);
  return events;
}

it('are the same wherever they are cut', async () => {
  const text = 'event: a\r\ndata: 1\r\ndata:2\r\n\r\n: note\rdata: 3\r\rdata: 4\n\ndata: not ended';
  const events = [
    { event: 'a', data: '1\n2' },
    { event: '', data: '3' },
    { event: '', data: '4' },
  ];
  expect(await read([text])).toEqual(events);
  expect(await read([...text])).toEqual(events);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(text.length)), async (cuts) => {
      const places = [0, ...cuts.sort((a, b) => a - b), text.length];
      expect(await read(places.slice(1).map((end, i) => text.slice(places[i], end)))).toEqual(events);
    }),
  );
});

it('in small pieces cost as little as in large ones', async () => {
  // Each piece read all those before it: this took minutes.
  const start = performance.now();
  const [event] = await read(['data: ', ...Array<string>(120_000).fill('abcdefgh'), '\n\n']);
  expect(event?.data).toHaveLength(960_000);
  expect(performance.now() - start).toBeLessThan(10_000);
});

it('are refused when one is too large', async () => {
  await expect(read(['data: ', ...Array<string>(11).fill('a'.repeat(100_000))])).rejects.toMatchObject({
    failure: 'malformed',
  });
});
