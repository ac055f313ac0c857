// Store port of identities: which person an account at the identity provider is. Never by e-mail alone: an address may
// pass to somebody else.
import type { LinkedAccount } from '../record.ts';

export interface IdentityStore {
  get(issuer: string, subject: string): Promise<LinkedAccount | null>;
  getOfUser(userId: string): Promise<LinkedAccount | null>;
  /** `taken`: the account is another person's, or the person has another account. Safe to repeat. */
  create(identity: LinkedAccount): Promise<'created' | 'taken'>;
  /** Of a person who is removed. */
  removeOfUser(userId: string): Promise<void>;
}
