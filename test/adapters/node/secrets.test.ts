import fc from 'fast-check';
import nacl from 'tweetnacl';
import { describe, expect, it } from 'vitest';
import { createPasswords } from '../../../adapters/node/passwords.ts';
import { createSecrets } from '../../../adapters/node/secrets.ts';

const master = 'a master secret that is long enough';
const secrets = createSecrets(master, { cost: 1024 });
const bytes = fc.uint8Array({ minLength: 0, maxLength: 500 });

describe('signing', () => {
  it("makes the signatures that tweetnacl's Ed25519 makes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), bytes, (seed, message) => {
        const pair = nacl.sign.keyPair.fromSeed(seed);
        const expected = Buffer.from(nacl.sign.detached(message, pair.secretKey)).toString('hex');
        expect(secrets.sign(seed, message)).toBe(expected);
        expect(secrets.verify(Buffer.from(pair.publicKey).toString('hex'), message, expected)).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it('verifies with the public key of a new pair, and not changed bytes', () => {
    const { publicKey, seed } = secrets.newSigningKey();
    const signature = secrets.sign(seed, Buffer.from('kind: Bundle'));
    expect(publicKey).toMatch(/^[0-9a-f]{64}$/);
    expect(secrets.verify(publicKey, Buffer.from('kind: Bundle'), signature)).toBe(true);
    expect(secrets.verify(publicKey, Buffer.from('kind: bundle'), signature)).toBe(false);
  });

  it('answers false to keys and signatures that are none', () => {
    expect(secrets.verify('zz', Buffer.from(''), '00'.repeat(64))).toBe(false);
    expect(secrets.verify('ff'.repeat(32), Buffer.from(''), '00'.repeat(64))).toBe(false);
    expect(secrets.verify('00'.repeat(32), Buffer.from(''), 'short')).toBe(false);
  });
});

describe('sealing', () => {
  it('opens what it sealed', () => {
    fc.assert(
      fc.property(bytes, (plain) => {
        expect(Buffer.from(secrets.unseal('ai-key', secrets.seal('ai-key', plain)))).toEqual(
          Buffer.from(plain),
        );
      }),
    );
  });

  it('does not open for another purpose, another master secret, or changed text', () => {
    const sealed = secrets.seal('ai-key', Buffer.from('sk-1'));
    const refused = expect.objectContaining({ code: 'internal' });
    expect(() => secrets.unseal('signing-key', sealed)).toThrow(refused);
    expect(() => createSecrets('another master secret, long enough').unseal('ai-key', sealed)).toThrow(
      refused,
    );
    expect(() => secrets.unseal('ai-key', `AAAA${sealed.slice(4)}`)).toThrow(refused);
    expect(() => secrets.unseal('ai-key', 'AAAA')).toThrow(refused);
  });

  it('refuses a short master secret', () => {
    expect(() => createSecrets('short')).toThrow('at least 32 bytes');
  });
});

describe('passwords', () => {
  it('accepts the password and no other', async () => {
    const hash = await secrets.hashPassword('correct horse battery');
    expect(hash).toMatch(/^scrypt\$1024\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
    expect(await secrets.checkPassword('correct horse battery', hash)).toBe(true);
    expect(await secrets.checkPassword('correct horse batterY', hash)).toBe(false);
  });

  it('hashes with N of at least 2^15 by default otherwise', async () => {
    expect(await createPasswords().hashPassword('correct horse battery')).toMatch(/^scrypt\$32768\$8\$1\$/);
  });

  it('answers false without a hash or with one of another form', async () => {
    expect(await secrets.checkPassword('x', null)).toBe(false);
    expect(await secrets.checkPassword('x', 'plain text')).toBe(false);
  });

  it('lets a few wait and refuses the rest', async () => {
    const few = createPasswords({ cost: 1024, atOnce: 1, waiting: 2 });
    const results = await Promise.allSettled([1, 2, 3, 4].map(() => few.checkPassword('x', null)));
    expect(results.map((r) => r.status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled', 'rejected']);
    expect(results[3]).toMatchObject({ reason: { code: 'overloaded', detail: { retryAfter: 1 } } });
    expect(await few.checkPassword('x', null)).toBe(false);
  });

  it('never has people whom the hub knows wait behind strangers', async () => {
    const few = createPasswords({ cost: 1024, atOnce: 1, waiting: 1 });
    const hash = await few.hashPassword('correct horse battery');
    const strangers = Promise.allSettled([1, 2, 3].map(() => few.checkPassword('x', hash)));
    const known = [
      few.checkPassword('correct horse battery', hash, true),
      few.hashPassword('correct horse battery'),
    ];
    expect(await Promise.all(known)).toEqual([true, expect.stringMatching(/^scrypt\$/)]);
    expect((await strangers).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
  });
});

describe('tokens and comparison', () => {
  it('makes unpadded base64url tokens of the wanted length', () => {
    expect(secrets.token(32)).toMatch(/^[\w-]{43}$/);
    expect(secrets.token(32)).not.toBe(secrets.token(32));
  });

  it('compares texts of any length', () => {
    expect(secrets.equal('abc', 'abc')).toBe(true);
    expect(secrets.equal('abc', 'abd')).toBe(false);
    expect(secrets.equal('abc', 'abcd')).toBe(false);
  });

  it('hashes as SHA-256 in hex', () => {
    // RFC 9562, A.4.
    expect(secrets.namedUuid('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'www.example.com')).toBe(
      '2ed6657d-e927-568b-95e1-2665a8aea6a2',
    );
    expect(secrets.sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  });
});
