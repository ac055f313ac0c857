// Decision bundles: what happened in a run, as bytes that can be signed. Its events are a chain, each with the digest
// of the one before. Pure.
import { canonicalJson } from '../../shared/json/canonical.ts';
import { hasEscapedHalf, wellFormed } from '../../shared/json/well-formed.ts';
import { snakeKeys } from '../../shared/snake-keys.ts';
import { envelopeLead } from '../../signing/rules/envelope.ts';

export const bundleSchema = 'service.decision-bundle/v1' as const;
/** The type that is signed with the payload. */
export const bundleType = 'application/vnd.service.decision-bundle+json' as const;

/** Events, and bytes of payload, that one bundle holds at most. */
export const maxBundleEvents = 20_000;
export const maxBundleBytes = 7 * 1024 * 1024;

type Fields = { readonly [name: string]: unknown };
type Sha256 = (text: string) => string;

/** An event as canonical JSON, cut where `digest` and `prev` go. */
interface EventPieces {
  readonly before: string;
  readonly between: string;
  readonly after: string;
}

const joined = (...parts: readonly string[]): string => `{${parts.filter((part) => part !== '').join(',')}}`;

/** Some of the fields as canonical JSON, without its braces. */
function part(fields: Fields, test: (name: string) => boolean): string {
  const some = Object.fromEntries(Object.entries(fields).filter(([name]) => test(name)));
  const text = canonicalJson(some);
  return (hasEscapedHalf(text) ? canonicalJson(wellFormed(some)) : text).slice(1, -1);
}

const piecesOf = (event: Fields): EventPieces => ({
  before: part(event, (name) => name < 'digest'),
  between: part(event, (name) => name > 'digest' && name < 'prev'),
  after: part(event, (name) => name > 'prev'),
});

/** Bytes that `digest` and `prev` add to an event. */
const digestsBytes = 160;

const weigh = ({ before, between, after }: EventPieces): number =>
  Buffer.byteLength(before) + Buffer.byteLength(between) + Buffer.byteLength(after) + digestsBytes;

/** Bytes of a payload that an event takes. */
export const eventBytes = (event: Fields): number => weigh(piecesOf(event));

/** The name of the field that holds the events: the others stand in front of it or behind it. */
const eventsField = 'events';
/** Room in front of the events for the envelope's lead, and for the numbers and the digest known at the end. */
const spareBytes = 512;
const firstBytes = 64 * 1024;
/** A larger payload gets as many bytes as a bundle may have: the system provides those that are written to. */
const doubledUpTo = 1024 * 1024;
/** Room behind the events for fields that are not counted. */
const behindBytes = 256 * 1024;

/** The payload, and the bytes that a signature of it covers (signing/rules/envelope.ts): the same ones in memory. */
export interface SignableBundle {
  readonly payload: Uint8Array;
  readonly signed: Uint8Array;
}

/**
 * Writes the payload of a bundle: canonical JSON, so that equal content gives equal bytes. Each event becomes bytes in
 * their final place when it is added, because a bundle is large: no text of it and no second copy is ever in memory.
 */
export class BundleWriter {
  readonly #front: Fields;
  readonly #sha256: Sha256;
  readonly #start: number;
  #bytes: Buffer;
  #end: number;
  #head: string;

  /**
   * @param front the fields that are known before the events and may be large
   * @param prevHead what the first event follows; empty: nothing
   * @param sha256 hex
   */
  constructor(front: Fields, prevHead: string, sha256: Sha256) {
    this.#front = front;
    this.#head = prevHead;
    this.#sha256 = sha256;
    this.#start = Buffer.byteLength(part(front, () => true)) + spareBytes;
    this.#end = this.#start;
    this.#bytes = Buffer.allocUnsafeSlow(this.#start + firstBytes);
  }

  /**
   * @param event the next in order; fields named `digest` and `prev` are the bundle's own and left out. Its digest is
   *   over its canonical JSON with `prev`
   * @returns bytes that it takes
   */
  add(event: Fields): number {
    const pieces = piecesOf(event);
    const { before, between, after } = pieces;
    const link = `"prev":"${this.#head}"`;
    const digest = this.#sha256(joined(before, between, link, after));
    this.#head = digest;
    const bytes = weigh(pieces);
    const comma = this.#end > this.#start ? ',' : '';
    this.#append(`${comma}${joined(before, `"digest":"${digest}"`, between, link, after)}`, bytes + 1);
    return bytes;
  }

  /**
   * @param rest all fields that were not in front, but for the events, the head of their chain and the schema
   */
  finish(rest: Fields): SignableBundle {
    const all = { ...this.#front, ...rest, ...snakeKeys({ schema: bundleSchema, chainHead: this.#head }) };
    const front = `{${part(all, (name) => name < eventsField)},"${eventsField}":[`;
    const behind = part(all, (name) => name > eventsField);
    const text = behind === '' ? ']}' : `],${behind}}`;
    this.#append(text, Buffer.byteLength(text));
    const frontBytes = Buffer.byteLength(front);
    const length = frontBytes + this.#end - this.#start;
    const lead = envelopeLead(bundleType, length);
    const begin = this.#start - frontBytes - lead.length;
    if (begin < 0)
      throw new RangeError('the fields in front of the events grew by more than their spare room');
    this.#bytes.set(lead, begin);
    this.#bytes.write(front, begin + lead.length);
    return {
      payload: this.#bytes.subarray(begin + lead.length, this.#end),
      signed: this.#bytes.subarray(begin, this.#end),
    };
  }

  #append(text: string, bytes: number): void {
    const needed = this.#end + bytes;
    if (needed > this.#bytes.length) {
      const size =
        needed > doubledUpTo ? Math.max(needed, this.#start + maxBundleBytes + behindBytes) : 2 * needed;
      const larger = Buffer.allocUnsafeSlow(size);
      this.#bytes.copy(larger, this.#start, this.#start, this.#end);
      this.#bytes = larger;
    }
    this.#end += this.#bytes.write(text, this.#end);
  }
}
