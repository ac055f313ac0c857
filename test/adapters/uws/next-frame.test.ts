// Clients' input from an event stream whose frames are ended at once: frames as they are, and comments.
import { expect, it } from 'vitest';
import { NextFrame } from '../../../adapters/uws/next-frame.ts';

/** The whole text, and its chunks. */
function sent(...pieces: (string | Uint8Array)[]) {
  const next = new NextFrame();
  const chunks: string[] = [];
  for (const piece of pieces) {
    chunks.push(Buffer.from(next.after(piece)).toString(), next.ahead(piece));
  }
  chunks.push(next.end());
  return { text: chunks.join(''), chunks: chunks.filter((chunk) => chunk !== '') };
}

it('sends the first byte of the next frame after each, and the frame without it', () => {
  const { text, chunks } = sent(': hello\n\n', Buffer.from('id: 1\ndata: a\n\n'), 'id: 2\ndata: b\n\n');
  expect(chunks).toEqual([': hello\n\n', 'id: 1\ndata: a\n\n', 'i', 'd: 2\ndata: b\n\n', 'i', ': \n']);
  expect(text).toBe(': hello\n\nid: 1\ndata: a\n\nid: 2\ndata: b\n\ni: \n');
});

it('makes what went ahead of a comment a field that nobody reads', () => {
  expect(sent(':\n\n', 'id: 1\ndata: a\n\n', ':k\n\n', 'id: 2\ndata: b\n\n').text).toBe(
    ':\n\nid: 1\ndata: a\n\ni: \n:k\n\nid: 2\ndata: b\n\ni: \n',
  );
});

it('leaves what is empty alone', () => {
  const { chunks } = sent('id: 1\ndata: a\n\n', '', 'id: 2\ndata: b\n\n');
  expect(chunks).toEqual(['id: 1\ndata: a\n\n', 'i', 'd: 2\ndata: b\n\n', 'i', ': \n']);
});
