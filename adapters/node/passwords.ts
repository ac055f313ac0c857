// Password hashes: scrypt on libuv's threads, a few at a time, the rest in two bounded queues. Strangers never stand
// before people whom the hub knows. Stores nothing.
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { refusalOf } from '../../src/admission/admission.ts';
import { admissionTable } from '../../src/admission/table.ts';
import { createSemaphore } from '../../src/shared/concurrency/semaphore.ts';
import type { Secrets } from '../../src/shared/ports/secrets.ts';

export interface PasswordOptions {
  /** scrypt's N, a power of two; 2^15 (32 MiB a hash) by default. Tests take less. */
  readonly cost?: number;
  /**
   * How many of strangers run at once, beside one of people whom the hub knows; 2 by default: libuv has four threads
   * and the store's files need one.
   */
  readonly atOnce?: number;
  /** How many may wait, of either; 64 by default. */
  readonly waiting?: number;
}

const blockSize = 8;
const hashBytes = 32;
const hashForm = /^scrypt\$(\d{1,8})\$(\d{1,2})\$(\d{1,2})\$([\w-]{16,128})\$([\w-]{16,128})$/;

const derive = (password: string, salt: Uint8Array, length: number, cost: ScryptOptions): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const maxmem = 256 * (cost.N ?? 1) * (cost.r ?? 1);
    scrypt(password.normalize('NFKC'), salt, length, { ...cost, maxmem }, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });

/**
 * Hash form: `scrypt$N$r$p$salt$hash`, the last two base64url; a hash keeps its own cost, so the cost can be raised
 * later.
 */
export function createPasswords(
  options: PasswordOptions = {},
): Pick<Secrets, 'hashPassword' | 'checkPassword'> {
  const N = options.cost ?? 2 ** 15;
  const queue = (name: 'passwordsOfStrangers' | 'passwordsOfKnownPeople', max?: number) => {
    const [{ atOnce, waiting }] = admissionTable[name].bounds;
    const maxWaiting = options.waiting ?? waiting;
    return createSemaphore({ max: max ?? atOnce, maxWaiting, refusal: () => refusalOf(name) });
  };
  const ofStrangers = queue('passwordsOfStrangers', options.atOnce);
  const ofKnown = queue('passwordsOfKnownPeople');
  const dummy = randomBytes(16);

  return {
    hashPassword: (password) =>
      ofKnown(async () => {
        const salt = randomBytes(16);
        const key = await derive(password, salt, hashBytes, { N, r: blockSize, p: 1 });
        return `scrypt$${N}$${blockSize}$1$${salt.toString('base64url')}$${key.toString('base64url')}`;
      }),

    checkPassword: (password, hash, isKnown = false) =>
      (isKnown ? ofKnown : ofStrangers)(async () => {
        const [, n = '', r = '', p = '', salt = '', stored = ''] = (hash && hashForm.exec(hash)) || [];
        if (stored === '') {
          // The same work as for a user that exists, so that the time reveals nothing.
          await derive(password, dummy, hashBytes, { N, r: blockSize, p: 1 });
          return false;
        }
        const expected = Buffer.from(stored, 'base64url');
        const cost = { N: Number(n), r: Number(r), p: Number(p) };
        const key = await derive(password, Buffer.from(salt, 'base64url'), expected.length, cost);
        return timingSafeEqual(key, expected);
      }),
  };
}
