// Decision bundles, checked without the hub: the signature over the exact bytes by a key that is trusted, then the
// chain of the events inside. Runs in Node and in browsers: hashes and signatures are the caller's.
import { canonicalJson } from '../rules/canonical-json.ts';
import { readStrictJson, StrictJsonError, WrittenNumber } from '../rules/strict-json.ts';
import {
  base64Bytes,
  type EvidenceCrypto,
  envelopeBytes,
  hasOnly,
  hexBytes,
  hexOf,
  textBytes,
} from './signed.ts';

const schema = 'service.decision-bundle/v1';
const bundleType = 'application/vnd.service.decision-bundle+json';

interface Envelope {
  readonly payload: string;
  readonly signatures: readonly { readonly sig: string; readonly key_id?: unknown }[];
}

export interface DecisionBundle {
  readonly schema: string;
  readonly agent_id: string;
  readonly session_id: string;
  readonly event_count: number;
  readonly chain_head: string;
  /** The head of the part before; empty or absent where there is none. */
  readonly prev_head?: string;
  readonly events: readonly { readonly [name: string]: unknown }[];
}

const envelopeMembers = [
  ...['schema', 'payload_type', 'payload', 'signatures', 'public_key', 'payload_sha256', 'issued_at'],
];

const isMapping = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof WrittenNumber);

export interface BundleVerdict {
  /** The problem and its place; null when there is none. */
  readonly wrong: string | null;
  /** A sentence that lists the checks. */
  readonly summary: string;
  /** The trusted key that signed it, as it was given; null when none was given, or none signed. */
  readonly signedBy: string | null;
  /** Content of the bundle; null when there is a problem. */
  readonly payload: DecisionBundle | null;
}

const bad = (wrong: string): BundleVerdict => ({ wrong, summary: '', signedBy: null, payload: null });

/** The name that the hub gives a key: the beginning of its SHA-256, in hex. @param key 64 hex characters */
export const keyIdOf = async (key: string, crypto: EvidenceCrypto): Promise<string> =>
  hexOf(await crypto.sha256(hexBytes(key))).slice(0, 16);

/**
 * Never throws.
 * @param keys public keys that are trusted, as 64 hex characters each; none: the signature is not checked
 */
export async function checkBundle(
  value: unknown,
  keys: readonly string[],
  crypto: EvidenceCrypto,
): Promise<BundleVerdict> {
  if (!isEnvelope(value)) return bad('is not a decision bundle: it has no payload and signatures');
  // The signature covers the payload alone.
  if (!hasOnly(value, envelopeMembers)) return bad('has members that a decision bundle does not have');
  const bytes = base64Bytes(value.payload);
  if (bytes === null) return bad('the payload is not base64');
  const signedBy = await signerOf(value, envelopeBytes(bundleType, bytes), keys, crypto);
  // The key in the file proves nothing: whoever changed the file could have put it there.
  if (keys.length > 0 && signedBy === null) {
    const names = await Promise.all(keys.map((key) => keyIdOf(key, crypto)));
    const isTrusted = value.signatures.some(({ key_id: id }) => typeof id === 'string' && names.includes(id));
    return bad(
      isTrusted ? 'the payload was changed: the signature does not match' : 'is not signed by a trusted key',
    );
  }
  let payload: unknown;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    payload = readStrictJson(text, { numbers: 'written' });
  } catch (failure) {
    const detail = failure instanceof StrictJsonError ? failure.message : 'it is not UTF-8';
    return bad(`the payload is ambiguous: ${detail}`);
  }
  if (!isPayload(payload)) return bad(`the payload does not match the schema ${schema}`);
  const wrong = await checkChain(payload, crypto);
  if (wrong !== null) return bad(wrong);
  const whose = signedBy === null ? 'signature not checked' : 'signed by a trusted key';
  return {
    wrong: null,
    summary: `${payload.event_count} events from agent ${payload.agent_id}, session ${payload.session_id}, are unchanged and complete; ${whose}`,
    signedBy,
    payload,
  };
}

async function signerOf(
  { signatures }: Envelope,
  signed: Uint8Array<ArrayBuffer>,
  keys: readonly string[],
  crypto: EvidenceCrypto,
): Promise<string | null> {
  for (const key of keys) {
    for (const { sig } of signatures) {
      const signature = base64Bytes(sig);
      if (signature !== null && (await crypto.verify(hexBytes(key), signed, signature))) return key;
    }
  }
  return null;
}

async function checkChain(
  { events, event_count: count, chain_head: head, prev_head: prevHead = '' }: DecisionBundle,
  crypto: EvidenceCrypto,
): Promise<string | null> {
  let last = prevHead;
  for (const [i, event] of events.entries()) {
    const { digest, ...content } = event;
    if (content.prev !== last) return `event ${i + 1} does not follow the event before it`;
    if (hexOf(await crypto.sha256(textBytes(canonicalJson(content)))) !== digest) {
      return `event ${i + 1} was changed`;
    }
    last = String(digest);
  }
  if (events.length !== count) return `contains ${events.length} events, but event_count is ${count}`;
  return last === head ? null : 'the last event does not match the head of the chain';
}

const isEnvelope = (value: unknown): value is Envelope =>
  isMapping(value) &&
  typeof value.payload === 'string' &&
  Array.isArray(value.signatures) &&
  value.signatures.every((one) => isMapping(one) && typeof one.sig === 'string');

const isPayload = (value: unknown): value is DecisionBundle =>
  isMapping(value) &&
  value.schema === schema &&
  typeof value.agent_id === 'string' &&
  typeof value.session_id === 'string' &&
  ['string', 'undefined'].includes(typeof value.prev_head) &&
  Array.isArray(value.events) &&
  value.events.every(isMapping);
