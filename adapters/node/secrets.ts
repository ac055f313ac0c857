// Randomness, hashes, sealing and Ed25519 with node:crypto and tweetnacl's secretbox. Passwords are in passwords.ts.
import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  hash,
  hkdfSync,
  type KeyObject,
  sign as nodeSign,
  verify as nodeVerify,
  randomBytes,
  randomFillSync,
  timingSafeEqual,
} from 'node:crypto';
import nacl from 'tweetnacl';
import { HubError } from '../../src/shared/error.ts';
import type { Purpose, Secrets } from '../../src/shared/ports/secrets.ts';
import { createPasswords, type PasswordOptions } from './passwords.ts';

/** DER in front of a raw Ed25519 seed (PKCS #8) and of a raw public key (SPKI), RFC 8410. */
const seedPrefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicPrefix = Buffer.from('302a300506032b6570032100', 'hex');

const privateKey = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([seedPrefix, seed]), format: 'der', type: 'pkcs8' });

const publicKeyOf = (hex: string): KeyObject =>
  createPublicKey({
    key: Buffer.concat([publicPrefix, Buffer.from(hex, 'hex')]),
    format: 'der',
    type: 'spki',
  });

/**
 * Draws from the system's generator in pieces of 4 KiB: a call of it costs as much as a stream's whole admission. Each
 * byte is handed out once, and is forgotten here. The function fills at most 64 bytes.
 */
function randomPool(): (bytes: Buffer) => Buffer {
  const pool = Buffer.allocUnsafeSlow(4_096);
  let used = pool.length;
  return (bytes) => {
    const { length } = bytes;
    if (used + length > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    pool.copy(bytes, 0, used, used + length);
    pool.fill(0, used, used + length);
    used += length;
    return bytes;
  };
}

/**
 * Makes version 4 UUIDs (RFC 9562), each in a text of its own: every request and every agent that is seen takes one,
 * and Node's are put together of twenty texts.
 */
function uuids(random: (bytes: Buffer) => Buffer): () => string {
  const bytes = Buffer.alloc(16);
  const text = Buffer.alloc(36, '-');
  const digits = Buffer.from('0123456789abcdef');
  return () => {
    random(bytes);
    let at = 0;
    for (let i = 0; i < 16; i++) {
      if (i === 4 || i === 6 || i === 8 || i === 10) at++;
      let byte = bytes[i] ?? 0;
      if (i === 6) byte = (byte & 0x0f) | 0x40;
      if (i === 8) byte = (byte & 0x3f) | 0x80;
      text[at++] = digits[byte >> 4] ?? 0;
      text[at++] = digits[byte & 15] ?? 0;
    }
    return text.toString('latin1');
  };
}

/** A namespace that is no UUID counts with its UTF-8 bytes. */
function namedUuid(namespace: string, name: string): string {
  const hex = namespace.replaceAll('-', '');
  const isUuid = /^[0-9a-f]{32}$/i.test(hex);
  const bytes = hash(
    'sha1',
    Buffer.concat([Buffer.from(hex, isUuid ? 'hex' : 'utf8'), Buffer.from(name)]),
    'buffer',
  );
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const digest = (text: string | Uint8Array): Buffer => hash('sha256', text, 'buffer');

/** Keys of their own for each purpose, from one master secret. */
class PurposeKeys {
  readonly #root: Buffer;
  readonly #keys = new Map<Purpose, Uint8Array>();

  /** @throws HubError('internal') when the master secret is shorter than 32 bytes */
  constructor(master: string | Uint8Array) {
    this.#root = Buffer.from(master);
    if (this.#root.length < 32)
      throw new HubError('internal', 'The master secret must have at least 32 bytes.');
  }

  of(purpose: Purpose): Uint8Array {
    let key = this.#keys.get(purpose);
    if (!key) {
      key = new Uint8Array(hkdfSync('sha256', this.#root, 'reeve', purpose, nacl.secretbox.keyLength));
      this.#keys.set(purpose, key);
    }
    return key;
  }
}

function seal(key: Uint8Array, plain: Uint8Array): string {
  const nonce = randomBytes(nacl.secretbox.nonceLength);
  return Buffer.concat([nonce, nacl.secretbox(plain, nonce, key)]).toString('base64');
}

function unseal(key: Uint8Array, sealed: string): Uint8Array {
  const bytes = new Uint8Array(Buffer.from(sealed, 'base64'));
  const { nonceLength, overheadLength } = nacl.secretbox;
  const plain =
    bytes.length < nonceLength + overheadLength
      ? null
      : nacl.secretbox.open(bytes.subarray(nonceLength), bytes.subarray(0, nonceLength), key);
  if (plain) return plain;
  throw new HubError(
    'internal',
    'The configured SECRET_KEY cannot open a stored secret. Start the hub with the SECRET_KEY from its first start.',
  );
}

function newSigningKey(): ReturnType<Secrets['newSigningKey']> {
  const seed = new Uint8Array(randomBytes(32));
  const spki = createPublicKey(privateKey(seed)).export({ format: 'der', type: 'spki' });
  return { publicKey: spki.subarray(publicPrefix.length).toString('hex'), seed };
}

function verify(publicKey: string, bytes: Uint8Array, signature: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(publicKey) || !/^[0-9a-f]{128}$/i.test(signature)) return false;
  try {
    return nodeVerify(null, bytes, publicKeyOf(publicKey), Buffer.from(signature, 'hex'));
  } catch {
    // 32 bytes that are no point of the curve: no signature fits such a key.
    return false;
  }
}

/**
 * @param master the master secret, at least 32 bytes (a text counts as its UTF-8 bytes); each purpose gets its own key
 *   by HKDF-SHA256
 * @throws HubError('internal') when the master secret is shorter
 */
export function createSecrets(master: string | Uint8Array, passwords: PasswordOptions = {}): Secrets {
  const keys = new PurposeKeys(master);
  const random = randomPool();
  return {
    ...createPasswords(passwords),
    uuid: uuids(random),
    token(bytes) {
      const drawn = bytes > 64 ? randomBytes(bytes) : random(Buffer.allocUnsafe(bytes));
      return drawn.toString('base64url');
    },
    namedUuid,
    sha256: (input) => hash('sha256', input, 'hex'),
    hmac: (key, input) => createHmac('sha256', key).update(input).digest('hex'),
    proof: (purpose, input) => createHmac('sha256', keys.of(purpose)).update(input).digest('hex'),
    equal: (a, b) => timingSafeEqual(digest(a), digest(b)),
    seal: (purpose, plain) => seal(keys.of(purpose), plain),
    unseal: (purpose, sealed) => unseal(keys.of(purpose), sealed),
    newSigningKey,
    sign: (seed, bytes) => nodeSign(null, bytes, privateKey(seed)).toString('hex'),
    verify,
  };
}
