// Decision bundles: what happened in a run, as bytes that can be signed. Its events are a chain, each with the digest
// of the one before. Pure.
import { canonicalJson } from './canonical-json.ts';

export const bundleSchema = 'service.decision-bundle/v1' as const;
/** The type that is signed with the payload. */
export const bundleType = 'application/vnd.service.decision-bundle+json' as const;

/** Events, and bytes of payload, that one bundle holds at most. */
export const maxBundleEvents = 20_000;
export const maxBundleBytes = 7 * 1024 * 1024;

type Fields = { readonly [name: string]: unknown };

/** An event as canonical JSON, cut where `digest` and `prev` go. Takes a quarter of the memory of the event itself. */
export interface EventPieces {
  readonly before: string;
  readonly between: string;
  readonly after: string;
  readonly bytes: number;
}

const joined = (...parts: readonly string[]): string => `{${parts.filter((part) => part !== '').join(',')}}`;

/** @param event fields named `digest` and `prev` are the bundle's own and left out */
export function piecesOf(event: Fields): EventPieces {
  const part = (test: (name: string) => boolean): string =>
    canonicalJson(Object.fromEntries(Object.entries(event).filter(([name]) => test(name)))).slice(1, -1);
  const before = part((name) => name < 'digest');
  const between = part((name) => name > 'digest' && name < 'prev');
  const after = part((name) => name > 'prev');
  const digests = 160;
  return { before, between, after, bytes: Buffer.byteLength(before + between + after) + digests };
}

/** Characters of a digest. */
const digestLength = 64;

/** Each event as JSON with its digest, in order; returns the last digest, the head of the chain. */
function* chained(
  events: readonly EventPieces[],
  sha256: Sha256,
  prevHead: string,
): Generator<string, string> {
  let prev = prevHead;
  for (const { before, between, after } of events) {
    const link = `"prev":"${prev}"`;
    const digest = sha256(joined(before, between, link, after));
    prev = digest;
    yield joined(before, `"digest":"${digest}"`, between, link, after);
  }
  return prev;
}

type Sha256 = (text: string) => string;

/** What stands in front of the events, and what behind them. */
function framed(fields: Fields, head: string): readonly [before: string, after: string] {
  const mark = 'events';
  const all = { ...fields, schema: bundleSchema, chain_head: head };
  const part = (test: (name: string) => boolean): string =>
    canonicalJson(Object.fromEntries(Object.entries(all).filter(([name]) => test(name)))).slice(1, -1);
  const after = part((name) => name > mark);
  return [`{${part((name) => name < mark)},"${mark}":[`, after === '' ? ']}' : `],${after}}`];
}

/**
 * The payload: canonical JSON, so that equal content gives equal bytes. Written event by event, because a bundle is
 * large and a text of it would be there several times.
 * @param fields all but the events and the head of their chain; `prev_head`, if any, is what the first event follows
 * @param events in their order; the digest of each is over its canonical JSON with `prev`
 * @param sha256 hex
 */
export function bundleBytes(fields: Fields, events: readonly EventPieces[], sha256: Sha256): Uint8Array {
  const prevHead = typeof fields.prev_head === 'string' ? fields.prev_head : '';
  // The head stands in front of the events, and its length is known before it is.
  const [place, after] = framed(fields, events.length === 0 ? prevHead : '0'.repeat(digestLength));
  const start = Buffer.byteLength(place);
  const maxBytes = events.reduce((sum, { bytes }) => sum + bytes + 1, start + Buffer.byteLength(after));
  const payload = Buffer.allocUnsafeSlow(maxBytes);
  let end = start;
  const chain = chained(events, sha256, prevHead);
  let link = chain.next();
  for (; !link.done; link = chain.next()) {
    if (end > start) end += payload.write(',', end);
    end += payload.write(link.value, end);
  }
  payload.write(framed(fields, link.value)[0]);
  end += payload.write(after, end);
  return payload.subarray(0, end);
}
