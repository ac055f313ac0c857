// A frame's bytes for every kind of connection: made once, from JSON that is passed on as it is.
import { decode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { EncodedFrame, PlacedFrame } from '../../../src/http/live/encoded.ts';
import { writeFrame } from '../../frames.ts';
import { agents, bundleFrame } from './fixtures.ts';

const frameOf = (data: { [key: string]: unknown }) =>
  new EncodedFrame(writeFrame({ audience: agents, type: 'x', data }));

describe('a frame', () => {
  it('carries its JSON unread to those who want JSON', () => {
    // No JSON: whoever looked inside would fail.
    const frame = new EncodedFrame({ audience: agents, type: 'x', json: Buffer.from('{"n":1.50, oh') });
    const placed = new PlacedFrame('1-2', frame);
    expect(placed.bytes('sse').toString()).toBe('id: 1-2\nevent: x\ndata: {"n":1.50, oh\n\n');
    expect(placed.bytes('json').toString()).toBe('{"id":"1-2","n":1.50, oh');
    expect(() => placed.bytes('msgpack')).toThrow(SyntaxError);
  });

  it.each([1, 15, 16, 70_000])('of %i fields has its id before them in MessagePack', (count) => {
    const data = Object.fromEntries(Array.from({ length: count }, (_, i) => [`field ${i}`, i]));
    const read = decode(new PlacedFrame('12-34.5', frameOf(data)).bytes('msgpack')) as object;
    expect(read).toEqual({ id: '12-34.5', ...data });
    expect(Object.keys(read)[0]).toBe('id');
  });

  it('is encoded once for all connections, and packed once for all its positions', () => {
    const frame = new EncodedFrame(bundleFrame('b', 1));
    const placed = new PlacedFrame('1-0', frame);
    for (const codec of ['sse', 'json', 'msgpack'] as const) {
      expect(placed.bytes(codec)).toBe(placed.bytes(codec));
      expect(placed.size(codec)).toBe(placed.bytes(codec).length);
    }
    expect(frame.packed()).toBe(frame.packed());
    expect(decode(new PlacedFrame('1-0.1', frame).bytes('msgpack'))).toMatchObject({
      id: '1-0.1',
      version: 1,
    });
  });
});
