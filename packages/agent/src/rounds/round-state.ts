// The sealed state of a call between two rounds: a client keeps it, and can neither read nor change it. AES-256-GCM
// (NIST SP 800-38D). Runs nothing; rounds/rounds.ts lets each state go on once.
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { type CallRounds, NotStartedError } from '../guard/call.ts';
import { canonicalJson } from '../rules/canonical-json.ts';

/** State with which a call goes on. */
export interface RoundState extends CallRounds {
  /** 128 random bits, in hex. Used once. */
  readonly nonce: string;
  readonly tool: string;
  /** See digestOf. */
  readonly digest: string;
  /** The label of the server. */
  readonly server: string;
  /** The session that counts the call. */
  readonly session: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  /** The server's own state; null if it gave none, or if it is kept. */
  readonly inner: string | null;
  /** True if the server's own state is too long to travel. */
  readonly isInnerKept?: boolean;
  /** True if the round asked for an approval of the call, before the server got it. */
  readonly isApproval: boolean;
}

/** Refusal of a state. The message is for the client. */
export class RoundStateError extends NotStartedError {
  constructor(message: string) {
    super(message);
    this.name = 'RoundStateError';
  }
}

/** A retry that brings the answer about an approval after it ended. */
export class LateApprovalError extends RoundStateError {
  readonly earlier: CallRounds;

  constructor(state: RoundState) {
    super('this request state has expired: nobody decided about the call in time');
    this.earlier = roundsOf(state);
  }
}

/** The part of a state that a guard goes on with. */
export function roundsOf(state: RoundState): CallRounds {
  const { callId, callIndex, count, attempts = 0, isApproved, isCounted, answers } = state;
  return { callId, callIndex, count, attempts, isApproved, isCounted, ...(answers ? { answers } : {}) };
}

/** The bound of a server's own state, in bytes of UTF-8. */
export const maxInnerBytes = 64 * 1024;
/** The bound of a sealed state, in characters: the server's own, what stands around it, and base64. */
const maxSealed = 128 * 1024;
/** Rounds of one call. */
export const maxRounds = 16;
/** Milliseconds in which a round is to be answered; for an approval, after its deadline. */
export const roundLife = 600_000;

const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;
const version = Buffer.from('reeve-round-1');

/** SHA-256 of the canonical JSON (RFC 8785) of a tool's name and arguments, in hex. */
export const digestOf = (name: string, args: unknown): string =>
  createHash('sha256')
    .update(canonicalJson({ name, arguments: args }))
    .digest('hex');

export const newNonce = (): string => randomBytes(16).toString('hex');

export class RoundSeal {
  readonly #key: Uint8Array;

  /**
   * @param key 32 bytes. Default: random, so that no state outlives the process
   * @throws TypeError for another length
   */
  constructor(key: Uint8Array = randomBytes(keyBytes)) {
    if (key.length !== keyBytes) throw new TypeError(`the key of round states must have ${keyBytes} bytes`);
    this.#key = key;
  }

  /** Base64url. @throws RoundStateError if the server's own state is too long */
  seal(state: RoundState): string {
    if (state.inner !== null && Buffer.byteLength(state.inner) > maxInnerBytes)
      throw new RoundStateError(`the server's request state has more than ${maxInnerBytes} bytes`);
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv).setAAD(version);
    const body = Buffer.concat([cipher.update(JSON.stringify(state), 'utf8'), cipher.final()]);
    return Buffer.concat([iv, body, cipher.getAuthTag()]).toString('base64url');
  }

  /** The state as it was sealed with this key. @throws RoundStateError for anything else */
  open(text: string): RoundState {
    const bytes = text.length > maxSealed ? Buffer.alloc(0) : Buffer.from(text, 'base64url');
    // A text with other characters, or other last bits, is no spelling of the bytes.
    if (bytes.length <= ivBytes + tagBytes || bytes.toString('base64url') !== text) throw forged();
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, ivBytes))
      .setAAD(version)
      .setAuthTag(bytes.subarray(-tagBytes));
    try {
      const body = decipher.update(bytes.subarray(ivBytes, -tagBytes));
      return JSON.parse(Buffer.concat([body, decipher.final()]).toString('utf8')) as RoundState;
    } catch {
      throw forged();
    }
  }
}

const forged = (): RoundStateError => new RoundStateError('this request state is not from this server');

/** A retry as it came, for the check of its state. */
export interface Retry {
  readonly digest: string;
  readonly server: string;
  readonly session: string;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** @throws RoundStateError if the state belongs to another call, server or session, or is too old; LateApprovalError */
export function checkRetry(state: RoundState, { digest, server, session, now }: Retry): void {
  if (state.server !== server || state.session !== session)
    throw new RoundStateError('this request state is from another session or server');
  if (state.digest !== digest)
    throw new RoundStateError(
      'the tool or the arguments differ from those of the call that this state belongs to',
    );
  if (state.expiresAt < now && state.isApproval) throw new LateApprovalError(state);
  if (state.expiresAt < now)
    throw new RoundStateError('this request state has expired: call the tool again without it');
  if (state.count >= maxRounds) throw new RoundStateError(`the call has ended after ${maxRounds} rounds`);
}
