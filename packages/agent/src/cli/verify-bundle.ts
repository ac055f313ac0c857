// Decision bundles, checked offline: the signature over the exact bytes by a key that is trusted, then the chain of the events inside.
import { open } from 'node:fs/promises';
import { canonicalJson, envelopeBytes, isSignedBy, sha256 } from './signed.ts';

const schema = 'service.decision-bundle/v1';
const bundleType = 'application/vnd.service.decision-bundle+json';
/** Bytes: more than a bundle ever has. */
const maxFile = 32 * 1024 * 1024;

interface Envelope {
  readonly payload: string;
  readonly signatures: readonly { readonly sig: string; readonly key_id: string }[];
}

interface Payload {
  readonly schema: string;
  readonly agent_id: string;
  readonly session_id: string;
  readonly event_count: number;
  readonly chain_head: string;
  readonly events: readonly { readonly [name: string]: unknown }[];
}

const isMapping = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The bundle that a file holds; null for a file of something else. @throws what reading throws */
export async function readBundle(file: string): Promise<unknown> {
  const handle = await open(file).catch(() => null);
  if (handle === null) return null;
  try {
    const { size } = await handle.stat();
    if (size > maxFile) return null;
    const value: unknown = JSON.parse((await handle.readFile()).toString('utf8'));
    return isMapping(value) && 'payload' in value ? value : null;
  } catch {
    return null;
  } finally {
    await handle.close();
  }
}

export interface BundleVerdict {
  /** What is wrong, and where; null when nothing is. */
  readonly wrong: string | null;
  /** What was checked, as a sentence. */
  readonly summary: string;
}

const bad = (wrong: string): BundleVerdict => ({ wrong, summary: '' });

/** @param keys public keys that are trusted, as 64 hex characters each; none: the signature is not checked */
export function checkBundle(value: unknown, keys: readonly string[]): BundleVerdict {
  if (!isEnvelope(value)) return bad('is no decision bundle: it has no payload and signatures');
  const bytes = Buffer.from(value.payload, 'base64');
  if (bytes.toString('base64') !== value.payload) return bad('the payload is not base64');
  const signed = envelopeBytes(bundleType, bytes);
  // The key in the file proves nothing: whoever changed the file could have put it there.
  if (keys.length > 0 && !value.signatures.some(({ sig }) => isSignedBy(keys, signed, sig))) {
    const names = keys.map((key) => sha256(Buffer.from(key, 'hex')).slice(0, 16));
    const known = value.signatures.some(({ key_id: id }) => names.includes(id));
    return bad(
      known ? 'the payload was changed: the signature is not of it' : 'is not signed by a key that you trust',
    );
  }
  let payload: unknown;
  try {
    payload = JSON.parse(bytes.toString('utf8'));
  } catch {
    return bad('the payload is no JSON');
  }
  if (!isPayload(payload)) return bad(`the payload is not of the form ${schema}`);
  const wrong = checkChain(payload);
  if (wrong !== null) return bad(wrong);
  const whose =
    keys.length > 0 ? 'signed by a key that you trust' : 'signature not checked: name the key with --key';
  return {
    wrong: null,
    summary: `${payload.event_count} events of agent ${payload.agent_id}, session ${payload.session_id} are whole; ${whose}`,
  };
}

function checkChain({ events, event_count: count, chain_head: head }: Payload): string | null {
  let last = '';
  for (const [i, event] of events.entries()) {
    const { digest, ...content } = event;
    if (content.prev !== last) return `event ${i + 1} does not follow the event before it`;
    if (sha256(canonicalJson(content)) !== digest) return `event ${i + 1} was changed`;
    last = String(digest);
  }
  if (events.length !== count) return `holds ${events.length} events, and says that there are ${count}`;
  return last === head ? null : 'the last event is not the head of the chain';
}

const isEnvelope = (value: unknown): value is Envelope =>
  isMapping(value) &&
  typeof value.payload === 'string' &&
  Array.isArray(value.signatures) &&
  value.signatures.every((one) => isMapping(one) && typeof one.sig === 'string');

const isPayload = (value: unknown): value is Payload =>
  isMapping(value) && value.schema === schema && Array.isArray(value.events) && value.events.every(isMapping);
