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

export interface Chain {
  /** The events with their digests, as JSON, separated by commas. */
  readonly events: string;
  /** The last digest; empty without events. */
  readonly head: string;
}

/** Chains events in their order. The digest of each is over its canonical JSON with `prev`. */
export function chained(events: readonly EventPieces[], sha256: (text: string) => string): Chain {
  let prev = '';
  const texts = events.map(({ before, between, after }) => {
    const link = `"prev":"${prev}"`;
    const digest = sha256(joined(before, between, link, after));
    prev = digest;
    return joined(before, `"digest":"${digest}"`, between, link, after);
  });
  return { events: texts.join(','), head: prev };
}

/**
 * The payload: canonical JSON, so that equal content gives equal bytes.
 * @param fields all but the events and the head of their chain
 */
export function bundlePayload(fields: Fields, chain: Chain): string {
  const mark = 'events';
  const all = { ...fields, schema: bundleSchema, chain_head: chain.head };
  const part = (test: (name: string) => boolean): string =>
    canonicalJson(Object.fromEntries(Object.entries(all).filter(([name]) => test(name)))).slice(1, -1);
  return joined(
    part((name) => name < mark),
    `"${mark}":[${chain.events}]`,
    part((name) => name > mark),
  );
}
